package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// tally counts verdicts by kind. Several workers add to it.
type tally struct {
	mutex    sync.Mutex
	kinds    map[string]*count
	failures []failure
}

// count is what came of the worlds of one kind.
type count struct {
	worlds, events, outside, unnamed, hidden, unbounded, faults, failed int
	worst                                                               int64
	exits                                                               [4]int
	widths                                                              []float64
}

// failure is a world that fails.
type failure struct {
	world   *World
	verdict *Verdict
}

func newTally() *tally { return &tally{kinds: map[string]*count{}} }

func (t *tally) add(w *World, v *Verdict) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	c := t.kinds[w.Kind]
	if c == nil {
		c = &count{}
		t.kinds[w.Kind] = c
	}
	c.worlds++
	c.events += v.Events
	c.outside += v.Outside
	c.unbounded += v.Unbounded
	c.worst = max(c.worst, v.Worst)
	if v.Exit >= 0 && v.Exit < len(c.exits) {
		c.exits[v.Exit]++
	}
	if !math.IsNaN(v.Width) {
		c.widths = append(c.widths, v.Width)
	}
	if v.Fault != "" {
		c.faults++
	}
	if v.Hidden {
		c.hidden += v.Outside
	}
	if v.fails(w) {
		c.failed++
		if v.Fault == "" {
			c.unnamed += v.Outside
		}
		t.failures = append(t.failures, failure{w, v})
	}
}

// print writes a line for each kind, and the sums.
func (t *tally) print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "kind\tworlds\tevents\toutside\tof failing\thidden\tworst\tunbounded\twidth\texit 0\t1\t2\t3\tother faults\tfailing\t")
	for _, kept := range []bool{true, false} {
		var sum count
		for i := range kinds {
			c := t.kinds[kinds[i].name]
			if c == nil || kinds[i].kept != kept {
				continue
			}
			c.line(table, kinds[i].name)
			sum.merge(c)
		}
		if sum.worlds > 0 {
			sum.line(table, map[bool]string{true: "WITHIN", false: "BEYOND"}[kept])
		}
	}
	table.Flush()
}

func (c *count) merge(d *count) {
	c.worlds, c.events, c.outside, c.unnamed = c.worlds+d.worlds, c.events+d.events, c.outside+d.outside, c.unnamed+d.unnamed
	c.unbounded, c.faults, c.failed, c.hidden = c.unbounded+d.unbounded, c.faults+d.faults, c.failed+d.failed, c.hidden+d.hidden
	c.worst = max(c.worst, d.worst)
	for i := range c.exits {
		c.exits[i] += d.exits[i]
	}
	c.widths = append(c.widths, d.widths...)
}

func (c *count) line(out io.Writer, name string) {
	width := "-"
	if len(c.widths) > 0 {
		slices.Sort(c.widths)
		width = fmt.Sprintf("%.3g", c.widths[len(c.widths)/2])
	}
	fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%.2f%%\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, c.worlds, c.events, c.outside, c.unnamed, c.hidden, span(c.worst),
		100*float64(c.unbounded)/float64(max(1, c.events)), width, c.exits[0], c.exits[1], c.exits[2], c.exits[3], c.faults, c.failed)
}

// smallest is one failing world of each kind, the one with the fewest events.
func (t *tally) smallest() []failure {
	slices.SortStableFunc(t.failures, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.world.Kind, b.world.Kind), cmp.Compare(a.verdict.Events, b.verdict.Events), cmp.Compare(a.world.Seed, b.world.Seed))
	})
	return slices.CompactFunc(slices.Clone(t.failures), func(a, b failure) bool { return a.world.Kind == b.world.Kind })
}

// report shrinks a failing world, prints it and, with -keep, keeps its files.
func (f failure) report(s *settings, c *command, temp string) error {
	var failed error
	w, v := shrink(f.world, f.verdict, s.tries, func(w *World) *Verdict {
		v, err := c.tryIn(temp, 0, w)
		if err != nil {
			failed = err
			return nil
		}
		return v
	})
	if failed != nil {
		return failed
	}
	fmt.Printf("\n%s\n  world:    %s\n  verdict:  %s\n", s.repeat(kindNamed(f.world.Kind), f.world.Seed), f.world, f.verdict)
	fmt.Printf("  smallest: %s\n  verdict:  %s\n", w, v)
	if s.keep == "" {
		return nil
	}
	dir := filepath.Join(s.keep, fmt.Sprintf("%s-%d", w.Kind, w.Seed))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	inputs, _, err := w.save(dir)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(w, "", " ")
	if err != nil {
		return err
	}
	line := fmt.Sprintf("meridian %s", strings.Join(c.arguments(w, inputs), " "))
	fmt.Printf("  files:    cd %s && %s\n", dir, line)
	return os.WriteFile(filepath.Join(dir, "world.json"), data, 0o644)
}

// String is a world in a line.
func (w *World) String() string {
	var b strings.Builder
	what := "list"
	if !w.List {
		what = "captures"
	}
	used := map[int]bool{}
	var last int64
	for _, m := range w.Messages {
		used[m.From], used[m.To] = true, true
		last = max(last, m.Sent+m.Delay)
	}
	fmt.Fprintf(&b, "%d messages of %d hosts in %s, %s", len(w.Messages), len(used), span(last), what)
	for i, h := range w.Hosts {
		if !used[i] {
			continue
		}
		fmt.Fprintf(&b, "; %s:", h.Name)
		for i, m := range h.Clock.Terms {
			if i == 6 {
				fmt.Fprintf(&b, " and %d terms more", len(h.Clock.Terms)-i)
				break
			}
			switch m.Kind {
			case "rates":
				fmt.Fprintf(&b, " %d rates from %.4g ppm", len(m.Knots), m.Knots[0].Rate/1e3)
			case "sine":
				fmt.Fprintf(&b, " sine of %.4g ns in %s", m.Size, span(int64(m.Period)))
			case "step":
				fmt.Fprintf(&b, " set by %.6g ns at %s", m.Size, span(m.At))
			}
		}
		if h.Grain.span() > 1 {
			fmt.Fprintf(&b, " steps of %d ns", h.Grain.span())
		}
		if h.Format != "" && !w.List {
			fmt.Fprintf(&b, " %s", h.Format)
		}
	}
	if len(w.Options) > 0 {
		fmt.Fprintf(&b, "; %s", strings.Join(w.Options, " "))
	}
	return b.String()
}

// String is a verdict in a line.
func (v *Verdict) String() string {
	if v.Fault != "" {
		return fmt.Sprintf("exit %d, %s", v.Exit, v.Fault)
	}
	s := fmt.Sprintf("exit %d, %d of %d events outside, %d unbounded, width %.3g least round trips", v.Exit, v.Outside, v.Events, v.Unbounded, v.Width)
	if v.Outside > 0 {
		s += "; " + v.Sample
	}
	if v.Hidden {
		s += "; hidden: the messages contradict nothing"
	}
	if v.Named != "" {
		s += "; warned: " + v.Named
	}
	return s
}
