package pipeline

import (
	"fmt"
	"math"
	"os"
	"strings"

	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/sim"
)

// readTruth reads the file of the truth and finds its hosts among the clocks, by name.
func (e *evaluator) readTruth() error {
	if e.options.Truth == "" {
		return nil
	}
	file, err := os.Open(e.options.Truth)
	if err != nil {
		return err
	}
	defer file.Close()
	t, err := sim.ReadTruth(file)
	if err != nil {
		return fmt.Errorf("%s: %w", e.options.Truth, err)
	}
	number := make(map[string]int)
	var ours, theirs []string
	for i, c := range e.matched.Clocks {
		number[c.Name] = i
		ours = append(ours, c.Name)
	}
	e.truth = &quality.Truth{Clocks: make([]clock.Curve, len(e.matched.Clocks))}
	known := 0
	for _, h := range t.Hosts {
		theirs = append(theirs, h.Name)
		if i, ok := number[h.Name]; ok {
			e.truth.Clocks[i] = h.Clock
			known++
		}
	}
	if known == 0 {
		return usage("%s is of the hosts %s, the traces of %s: name the traces as HOST=TRACE",
			e.options.Truth, strings.Join(theirs, ", "), strings.Join(ours, ", "))
	}
	for _, c := range e.matched.Clocks {
		if e.truth.Clocks[number[c.Name]] == nil {
			e.warnings.Add(e.options.Truth, "it does not say how the clock of "+c.Name+" ran", "")
		}
	}
	for _, l := range t.Links {
		from, ok := number[l.From]
		to, too := number[l.To]
		if !ok || !too {
			continue
		}
		link := quality.Link{From: from, To: to, Minimum: l.MinDelayNs}
		for _, r := range l.Routes {
			link.Changes = append(link.Changes, quality.Change{At: r.At, Minimum: r.MinDelayNs})
		}
		e.truth.Links = append(e.truth.Links, link)
	}
	return nil
}

// trueMinimum returns the least delay that messages from one clock to another ever took in truth.
func (e *evaluator) trueMinimum(from, to int) (int64, bool) {
	if e.truth == nil {
		return 0, false
	}
	least := int64(math.MaxInt64)
	for i := range e.truth.Links {
		if l := &e.truth.Links[i]; l.From == from && l.To == to {
			least = min(least, l.Least())
		}
	}
	return least, least < math.MaxInt64
}
