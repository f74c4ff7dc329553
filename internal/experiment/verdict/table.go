//go:build unix

package verdict

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table writes a row for each combination of the matrix. Of several repeats it has the median and, in brackets, the least and the
// greatest; of pairs the bound of the durations too, the worst of all repeats.
func table(out *strings.Builder, reports []*Report) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var groups [][]*Report
	for _, r := range reports {
		at := slices.IndexFunc(groups, func(g []*Report) bool { return slices.Equal(g[0].Values, r.Values) })
		if at < 0 {
			groups = append(groups, []*Report{r})
		} else {
			groups[at] = append(groups[at], r)
		}
	}
	var head []string
	for _, v := range reports[0].Values {
		head = append(head, v.Name)
	}
	head = append(head, "runs", "yes", "no", "undecided", "time")
	pairs := pairNames(reports)
	for _, p := range pairs {
		head = append(head, p+" p50", p+" p99", p+" bound")
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, g := range groups {
		var row []string
		for _, v := range g[0].Values {
			row = append(row, printable(v.Text))
		}
		count := func(a Answer) string {
			n := 0
			for _, r := range g {
				if r.Verdict == a {
					n++
				}
			}
			return fmt.Sprint(n)
		}
		row = append(row, fmt.Sprint(len(g)), count(Yes), count(No), count(Undecided))
		row = append(row, spread(g, func(r *Report) (int64, bool) { return r.Run.EndedNs - r.Run.BeganNs, true }))
		for _, p := range pairs {
			row = append(row, pairCells(g, p)...)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // into memory
	for _, r := range reports {
		for _, line := range append(r.Failures(), r.Open()...) {
			fmt.Fprintln(out, printable(line))
		}
		for _, line := range r.lossWarnings() {
			fmt.Fprintln(out, printable(r.label()+"warning: "+line))
		}
	}
}

// pairNames returns the names of all pairs that were measured.
func pairNames(reports []*Report) (names []string) {
	for _, r := range reports {
		for _, c := range r.Checks {
			if c.Pair != nil && !slices.Contains(names, c.Pair.Name) {
				names = append(names, c.Pair.Name)
			}
		}
	}
	return names
}

// pairCells are p50, p99 and bound of a pair.
func pairCells(g []*Report, name string) []string {
	of := func(value func(c *CheckResult) (int64, bool)) func(*Report) (int64, bool) {
		return func(r *Report) (int64, bool) {
			for i := range r.Checks {
				if p := r.Checks[i].Pair; p != nil && p.Name == name && p.Count > 0 {
					return value(&r.Checks[i])
				}
			}
			return 0, false
		}
	}
	worst := int64(-1)
	bounded := true
	for _, r := range g {
		of(func(c *CheckResult) (int64, bool) {
			bounded = bounded && c.Pair.Unbounded == 0
			worst = max(worst, c.Pair.BoundNs)
			return 0, true
		})(r)
	}
	bound := "-"
	switch {
	case worst >= 0 && bounded:
		bound = "±" + short(worst)
	case worst >= 0:
		bound = "unbounded"
	}
	return []string{
		spread(g, of(func(c *CheckResult) (int64, bool) { return c.Pair.MedianNs, true })),
		spread(g, of(func(c *CheckResult) (int64, bool) { return c.Pair.P99Ns, true })), bound,
	}
}

// spread is the median of a value over repeats, with the least and the greatest.
func spread(g []*Report, value func(*Report) (int64, bool)) string {
	var all []int64
	for _, r := range g {
		if v, ok := value(r); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return "-"
	}
	slices.Sort(all)
	text := short(all[len(all)/2])
	if len(all) > 1 {
		text += fmt.Sprintf(" [%s, %s]", short(all[0]), short(all[len(all)-1]))
	}
	return text
}

// short is a duration with three digits or so.
func short(ns int64) string {
	d := time.Duration(ns)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit || d <= -unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
