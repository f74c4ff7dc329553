package evaluate

import (
	"fmt"
	"math"
	"os"
	"strings"

	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/pipeline/usage"
	"meridian/internal/sim"
	"meridian/trace"
)

// readTruth reads a file of the truth and finds its hosts among the clocks, by name. It returns nil for no file.
func readTruth(path string, clocks []trace.Clock, w *trace.Warnings) (*quality.Truth, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := sim.ReadTruth(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	number := make(map[string]int)
	var ours, theirs []string
	for i, c := range clocks {
		number[c.Name] = i
		ours = append(ours, c.Name)
	}
	truth := &quality.Truth{Clocks: make([]clock.Curve, len(clocks))}
	known := 0
	for _, h := range t.Hosts {
		theirs = append(theirs, h.Name)
		if i, ok := number[h.Name]; ok {
			truth.Clocks[i] = h.Clock
			known++
		}
	}
	if known == 0 {
		return nil, usage.Errorf("%s is of the hosts %s, the traces of %s: name the traces as HOST=TRACE",
			path, strings.Join(theirs, ", "), strings.Join(ours, ", "))
	}
	for _, c := range clocks {
		if truth.Clocks[number[c.Name]] == nil {
			w.Add(path, "the truth about the clock of "+c.Name+" is missing", "")
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
		truth.Links = append(truth.Links, link)
	}
	return truth, nil
}

// minDelayOf returns the least delay that messages from one clock to another ever had in truth.
func minDelayOf(truth *quality.Truth, from, to int) (int64, bool) {
	if truth == nil {
		return 0, false
	}
	least := int64(math.MaxInt64)
	for i := range truth.Links {
		if l := &truth.Links[i]; l.From == from && l.To == to {
			least = min(least, l.Least())
		}
	}
	return least, least < math.MaxInt64
}
