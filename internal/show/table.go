package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table writes the report for a terminal: the hosts, the pairs, and what the whole amounts to.
func (r *Report) Table(w io.Writer) error {
	var out strings.Builder
	r.hostTable(&out)
	if len(r.Pairs) > 0 {
		out.WriteByte('\n')
		r.pairTable(&out)
		lineTable(&out, r.lines())
	}
	out.WriteByte('\n')
	r.summary(&out)
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

func (r *Report) hostTable(out *strings.Builder) {
	components := make(map[int]bool)
	for _, h := range r.Hosts {
		components[h.Component] = true
	}
	t := table{left: map[int]bool{0: true, 6: true}}
	t.row("host", "offset", "skew", "bound", "if all true", "events", "reference")
	if len(components) > 1 {
		t.left[7] = true
		t.rows[0] = append(t.rows[0], "component")
	}
	for _, h := range r.Hosts {
		cells := []string{printable(h.Name), optional(h.OffsetNs, offset), skew(h.SkewPPM, h.SkewLowPPM, h.SkewHighPPM),
			bound(h.BoundNs), allTrue(h.BoundNs, h.BoundAllTrueNs), count(h.Events), printable(h.Reference)}
		switch {
		case h.Unaligned != nil && h.OffsetNs == nil:
			cells[6] = "(not aligned)"
		case h.Name == h.Reference:
			cells[6] = "(is the reference)"
		}
		if len(components) > 1 {
			cells = append(cells, fmt.Sprint(h.Component))
		}
		t.row(cells...)
	}
	t.write(out)
}

func (r *Report) pairTable(out *strings.Builder) {
	t := table{left: map[int]bool{0: true, 1: true, 5: true}}
	t.row("a", "b", "a to b", "b to a", "min RTT", "fit", "offset b-a", "skew b-a", "bound", "if all true")
	for _, p := range r.Pairs {
		t.row(printable(p.A), printable(p.B), count(p.MessagesAB), count(p.MessagesBA), optional(p.MinRTTNs, duration),
			printable(p.Fit), optional(p.OffsetNs, offset), skew(p.SkewPPM, p.SkewLowPPM, p.SkewHighPPM),
			bound(p.BoundNs), allTrue(p.BoundNs, p.BoundAllTrueNs))
	}
	t.write(out)
}

// allTrue writes the bound that holds if every message is true; "-" where that is not known though there is a bound.
func allTrue(any, all *int64) string {
	if any != nil && all == nil {
		return "-"
	}
	return bound(all)
}

func (r *Report) summary(out *strings.Builder) {
	q := r.Quality
	fmt.Fprintf(out, "%s, %s (%s beyond granularity)", counted(q.Messages, "message"), counted(q.Inversions, "inversion"),
		count(q.InversionsBeyondGranularity))
	if q.TooFast > 0 && q.TooFast != q.Inversions { // they are the same where no minimum delay is known
		fmt.Fprintf(out, ", %s too fast", count(q.TooFast))
	}
	if q.Contradicting > 0 {
		fmt.Fprintf(out, ", %s that the bounds contradict", count(q.Contradicting))
	}
	if b := q.BoundNs; b.Best != nil || b.Mean != nil || b.Worst != nil {
		fmt.Fprintf(out, "; bound: best %s, mean %s, worst %s", bound(b.Best), bound(b.Mean), bound(b.Worst))
	}
	if b := q.BoundAllTrueNs; b.Worst != nil {
		fmt.Fprintf(out, "; if every message is true: best %s, mean %s, worst %s", bound(b.Best), bound(b.Mean), bound(b.Worst))
	}
	out.WriteByte('\n')
	q.outside(out)
	r.worst(out)
	r.uncovered(out)
	r.changes(out)
	r.freeClocks(out)
	if r.Assumption != "" {
		fmt.Fprintf(out, "bounds hold if: %s\n", printable(r.Assumption))
	}
	if ns, ok := r.medianError(); ok {
		errorLine(out, 2*ns)
	}
	r.Repair.line(out)
}

// freeClocks says which hosts are aligned by a counter that nobody steers, and how well it is known from their stamps.
func (r *Report) freeClocks(out *strings.Builder) {
	type group struct {
		counter    string
		names      []string
		least, top int64
	}
	var groups []*group
	for _, h := range r.Hosts {
		c := h.Clock
		if c == nil {
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.counter == c.Counter })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{counter: c.Counter, least: c.LeastErrorNs})
		}
		g := groups[i]
		g.names = append(g.names, printable(h.Name))
		g.least, g.top = min(g.least, c.LeastErrorNs), max(g.top, c.GreatestErrorNs)
	}
	for _, g := range groups {
		names := strings.Join(g.names, ", ")
		if n := len(g.names); n > mostChanges {
			names = fmt.Sprintf("%s and %d more", strings.Join(g.names[:mostChanges], ", "), n-mostChanges)
		}
		fmt.Fprintf(out, "clock of %s: %s, free, known from the stamps to %s", names, printable(g.counter), duration(g.least))
		if g.top > g.least {
			fmt.Fprintf(out, " to %s", duration(g.top))
		}
		out.WriteByte('\n')
	}
}

// outside says where the estimate lies outside of its bounds, if anywhere.
func (q *Quality) outside(out *strings.Builder) {
	if q.OutsideEvents > 0 {
		fmt.Fprintf(out, "the estimate lies outside of its bounds at %s, by up to %s\n", counted(q.OutsideEvents, "message end"), duration(q.OutsideNs))
	}
}

// errorLine says how far off an estimate believes to be, and what it cannot know of.
func errorLine(out *strings.Builder, ns float64) {
	fmt.Fprintf(out, "estimated error (2 sd): %s beside half the asymmetry of the least delays\n", rounded(ns))
}

// line says what was repaired, if anything was asked for.
func (x *Repair) line(out *strings.Builder) {
	if x != nil {
		fmt.Fprintf(out, "%s repaired by %s, moving no event by more than %s",
			counted(x.Inversions, "inversion"), printable(x.Method), duration(x.LargestNs))
		if x.Remaining > 0 {
			fmt.Fprintf(out, "; %d not, by up to %s", x.Remaining, duration(x.RemainingNs))
		}
		out.WriteByte('\n')
	}
}

// longSilence is how far from the worst bound messages must be for the table to say so, ns.
const longSilence = 1_000_000_000

// worst says of the worst bound of all hosts whether it is of a stretch without messages.
func (r *Report) worst(out *strings.Builder) {
	var of *Host
	for i := range r.Hosts {
		if h := &r.Hosts[i]; h.BoundNs != nil && h.Worst != nil && (of == nil || *h.BoundNs > *of.BoundNs) {
			of = h
		}
	}
	if of == nil {
		return
	}
	far := func(ns *int64) bool { return ns == nil || *ns >= longSilence }
	since, until := of.Worst.SinceMessageNs, of.Worst.UntilMessageNs
	if !far(since) || !far(until) || since == nil && until == nil {
		return
	}
	where := ""
	switch {
	case since == nil:
		where = duration(*until) + " before its first message"
	case until == nil:
		where = duration(*since) + " after its last message"
	default:
		where = fmt.Sprintf("%s after a message and %s before the next", duration(*since), duration(*until))
	}
	fmt.Fprintf(out, "worst bound: %s of %s at %s of its own time, %s\n", bound(of.BoundNs), printable(of.Name), instant(of.Worst.HostNs), where)
}

// uncovered says of which hosts events are not aligned or not bounded, and from when to when.
func (r *Report) uncovered(out *strings.Builder) {
	n := 0
	line := func(x *EventRange, h *Host, what string) {
		if n++; n <= mostChanges {
			fmt.Fprintf(out, "%s: %s %s, from %s to %s of its own time\n", printable(h.Name), x.Of(h.Events), what, instant(x.FirstNs), instant(x.LastNs))
		}
	}
	for i := range r.Hosts {
		switch h := &r.Hosts[i]; {
		case h.Events == 0:
		case h.Unaligned != nil:
			line(h.Unaligned, h, "not aligned with "+printable(r.Reference))
		case h.Unbounded != nil:
			line(h.Unbounded, h, "without a bound")
		}
	}
	if n > mostChanges {
		fmt.Fprintf(out, "and %s with events that are not aligned or have no bound\n", counted(int64(n-mostChanges), "more host"))
	}
}

// mostChanges is how many steps, and how many changes of routes, a terminal gets; a program gets them all.
const mostChanges = 5

// changes says which clocks were set, and of which routes the least delay changed.
func (r *Report) changes(out *strings.Builder) {
	for i, x := range r.Steps {
		if i == mostChanges {
			fmt.Fprintf(out, "and %s of clocks\n", counted(int64(len(r.Steps)-i), "more step"))
			break
		}
		what := "clock was set"
		switch {
		case x.StoodStill:
			fmt.Fprintf(out, "%s's clock stood still for %s at %s of its own time\n", printable(x.Host), duration(-x.ByNs), instant(x.AtNs))
			continue
		case IsCounterWrap(x.ByNs):
			what = "timestamps, or those of a host that it talks to, wrap"
		}
		fmt.Fprintf(out, "%s's %s by %s at %s of its own time\n", printable(x.Host), what, change(x.ByNs), instant(x.AtNs))
	}
	for i, x := range r.Routes {
		if i == mostChanges {
			fmt.Fprintf(out, "and %s of least delays\n", counted(int64(len(r.Routes)-i), "more change"))
			break
		}
		fmt.Fprintf(out, "the least delay from %s to %s changed by %s at %s of %s's clock\n",
			printable(x.From), printable(x.To), change(x.ByNs), instant(x.AtNs), printable(x.To))
	}
}

// medianError is that of the hosts together.
func (r *Report) medianError() (ns float64, ok bool) {
	hosts := make([][]Error, len(r.Hosts))
	for i, h := range r.Hosts {
		hosts[i] = h.Error
	}
	return MedianError(hosts)
}

// MedianError is the median over hosts of the median standard deviation of each, ns. Hosts without one, such as the
// reference, do not count. ok is false if no host has one.
func MedianError(hosts [][]Error) (ns float64, ok bool) {
	var medians []float64
	for _, h := range hosts {
		var own []float64
		for _, e := range h {
			if finite(&e.SDNs) != nil {
				own = append(own, e.SDNs)
			}
		}
		if len(own) > 0 {
			slices.Sort(own)
			medians = append(medians, own[len(own)/2])
		}
	}
	if len(medians) == 0 {
		return 0, false
	}
	slices.Sort(medians)
	return medians[len(medians)/2], true
}

// counted writes a number and what it counts.
func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}

// optional writes a value, or a dash where there is none.
func optional(ns *int64, write func(int64) string) string {
	if ns == nil {
		return "-"
	}
	return write(*ns)
}

// table lines up cells for a terminal. The tabwriter aligns all columns to the right; the cells of the left ones are
// filled up beforehand.
type table struct {
	left map[int]bool
	rows [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(out *strings.Builder) {
	for column := range t.left {
		width := 0
		for _, row := range t.rows {
			width = max(width, utf8.RuneCountInString(row[column]))
		}
		for _, row := range t.rows {
			row[column] += strings.Repeat(" ", width-utf8.RuneCountInString(row[column]))
		}
	}
	var lines strings.Builder
	// The first column needs no blanks before it: the padding of two is taken off again below.
	tw := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range t.rows {
		for _, cell := range row {
			fmt.Fprintf(tw, "%s\t", cell)
		}
		fmt.Fprintln(tw)
	}
	tw.Flush() // into a builder, which never fails
	for line := range strings.Lines(lines.String()) {
		line = strings.TrimRight(strings.TrimPrefix(line, "  "), " \n")
		out.WriteString(line + "\n")
	}
}
