package show

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Table writes the evaluation for a terminal: a method alone in detail, several as one row each.
func (e *Evaluation) Table(w io.Writer) error {
	var out strings.Builder
	if len(e.Methods) == 1 {
		e.Methods[0].detail(&out)
	} else {
		e.compare(&out)
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

// mostDirections is how many rows of directions a terminal gets; a program gets them all.
const mostDirections = 40

// detail writes the directions, the hosts, and what the whole amounts to.
func (m *Measured) detail(out *strings.Builder) {
	if len(m.Directions) > 0 {
		t := table{left: map[int]bool{0: true, 1: true}}
		t.row("from", "to", "messages", "inversions", "beyond granularity", "too fast", "quickest", "min delay")
		for i, d := range m.Directions {
			if i == mostDirections {
				t.row(fmt.Sprintf("(%s more)", count(int64(len(m.Directions)-i))), "", "", "", "", "", "", "")
				break
			}
			t.row(printable(d.From), printable(d.To), count(d.Messages), share(d.Inversions, d.Messages),
				share(d.InversionsBeyondGranularity, d.Messages), share(d.TooFast, d.Messages),
				optional(d.QuickestNs, duration), optional(d.MinDelayNs, duration))
		}
		t.row("all", "", count(m.Messages), share(m.Inversions, m.Messages), share(m.InversionsBeyondGranularity, m.Messages),
			share(m.TooFast, m.Messages), "", "")
		t.write(out)
		out.WriteByte('\n')
	}
	t := table{left: map[int]bool{0: true, 1: true}}
	t.row("host", "reference", "bound: best", "mean", "worst")
	if m.Truth != nil {
		t.rows[0] = append(t.rows[0], deviationHead...)
	}
	for _, h := range m.Hosts {
		cells := []string{printable(h.Name), printable(h.Reference), bound(h.BoundNs.Best), bound(h.BoundNs.Mean), bound(h.BoundNs.Worst)}
		if h.Name == h.Reference {
			cells[1] = "(is the reference)"
		}
		if m.Truth != nil {
			cells = append(cells, h.Truth.cells()...)
		}
		t.row(cells...)
	}
	t.write(out)
	lineTable(out, m.Regression)
	out.WriteByte('\n')
	fmt.Fprintf(out, "method %s", printable(m.Method))
	if b := m.BoundNs; b.Best != nil {
		fmt.Fprintf(out, "; bound: best %s, mean %s, worst %s", bound(b.Best), bound(b.Mean), bound(b.Worst))
	}
	out.WriteByte('\n')
	m.outside(out)
	m.broadcasts(out)
	if t := m.Truth; t != nil {
		fmt.Fprintf(out, "against the truth: RMS %s (%s %s), maximum %s", rounded(t.RMSNs), rounded(t.rest()), t.restIs(), rounded(t.MaxNs))
		if t.Within != nil {
			fmt.Fprintf(out, "; within the bounds %s of the time", percent(t))
		}
		out.WriteByte('\n')
	}
	for _, h := range m.Hosts {
		if h.Truth != nil && h.Truth.SymmetricRMSNs == nil {
			out.WriteString(centredNote)
			break
		}
	}
	if m.Assumption != "" {
		fmt.Fprintf(out, "bounds hold if: %s\n", printable(m.Assumption))
	}
	if ns := finite(m.Error2SDNs); ns != nil {
		errorLine(out, *ns)
	}
	m.Repair.line(out)
}

// broadcasts writes the differential delays: those of each pair of receivers with their signs, and beside those of several
// pairs how far apart the first and the last receiver are.
func (m *Measured) broadcasts(out *strings.Builder) {
	b := m.Broadcasts
	if b == nil {
		return
	}
	t := table{left: map[int]bool{0: true, 1: true}}
	t.row("broadcasts: a", "b", "number", "b less a: min", "mean", "max", "deviation")
	for i, d := range m.BroadcastPairs {
		if i == mostDirections {
			t.row(fmt.Sprintf("(%s more)", count(int64(len(m.BroadcastPairs)-i))), "", "", "", "", "", "")
			break
		}
		t.row(append([]string{printable(d.A), printable(d.B), count(d.Broadcasts)}, d.cells()...)...)
	}
	if len(m.BroadcastPairs) != 1 {
		t.row(append([]string{"last less first reception", "", count(b.Broadcasts)}, b.cells()...)...)
	}
	t.write(out)
}

// cells writes the delays as one row of a table.
func (d *Differential) cells() []string {
	return []string{duration(d.MinNs), rounded(d.MeanNs), duration(d.MaxNs), rounded(d.DeviationNs)}
}

// broadcastMean is the mean of the signed delays of the pair of receivers for which it is greatest in magnitude; false
// without broadcasts.
func (m *Measured) broadcastMean() (mean float64, ok bool) {
	for _, d := range m.BroadcastPairs {
		if !ok || math.Abs(d.MeanNs) > math.Abs(mean) {
			mean, ok = d.MeanNs, true
		}
	}
	return mean, ok
}

const centredNote = "* less its mean over time: half the asymmetry of the delays can be told for two hosts alone\n"

var deviationHead = []string{"RMS", "less asymmetry", "maximum", "within", "width", "p95", "width/RTT"}

// cells writes an error as one row of a table.
func (d *Deviation) cells() []string {
	if d == nil {
		return []string{"-", "-", "-", "-", "-", "-", "-"}
	}
	rest := rounded(d.rest())
	if d.SymmetricRMSNs == nil {
		rest += "*" // centred
	}
	return []string{rounded(d.RMSNs), rest, rounded(d.MaxNs), percent(d), optional(d.WidthMedianNs, duration),
		optional(d.WidthP95Ns, duration), ratio(d.RatioMedian)}
}

// rest is the error less what no method can see, or less its mean where that cannot be told apart.
func (d *Deviation) rest() float64 {
	if d.SymmetricRMSNs != nil {
		return *d.SymmetricRMSNs
	}
	return d.CentredRMSNs
}

func (d *Deviation) restIs() string {
	if d.SymmetricRMSNs != nil {
		return "less half the asymmetry of the delays"
	}
	return "less its mean over time"
}

// compare writes a row for each method.
func (e *Evaluation) compare(out *strings.Builder) {
	t := table{left: map[int]bool{0: true}}
	head := []string{"method", "time", "inversions", "beyond", "too fast", "bound: best", "mean", "worst", "outside"}
	broadcasts, truth, centred := false, false, false
	for i := range e.Methods {
		m := &e.Methods[i]
		broadcasts, truth = broadcasts || m.Broadcasts != nil, truth || m.Truth != nil
		centred = centred || m.Truth != nil && m.Truth.SymmetricRMSNs == nil
	}
	if broadcasts {
		head = append(head, "broadcasts: mean")
	}
	if truth {
		head = append(head, "RMS", "less asymmetry", "maximum", "within", "width/RTT")
	}
	t.row(head...)
	for i := range e.Methods {
		m := &e.Methods[i]
		cells := []string{printable(m.Method)}
		if m.Refused != "" {
			for range len(head) - 1 {
				cells = append(cells, "-")
			}
			t.row(cells...)
			continue
		}
		cells = append(cells, duration(m.ElapsedNs), count(m.Inversions), count(m.InversionsBeyondGranularity), count(m.TooFast),
			bound(m.BoundNs.Best), bound(m.BoundNs.Mean), bound(m.BoundNs.Worst), count(m.OutsideEvents))
		if broadcasts {
			cell := "-"
			if mean, ok := m.broadcastMean(); ok {
				cell = rounded(mean)
			}
			cells = append(cells, cell)
		}
		if truth {
			d := m.Truth.cells()
			cells = append(cells, d[0], d[1], d[2], d[3], d[6])
		}
		t.row(cells...)
	}
	t.write(out)
	out.WriteByte('\n')
	for i := range e.Methods {
		if m := &e.Methods[i]; m.Refused != "" {
			fmt.Fprintf(out, "%s: %s\n", printable(m.Method), printable(m.Refused))
		}
	}
	if centred {
		out.WriteString(centredNote)
	}
	fmt.Fprintf(out, "all against %s\n", printable(e.Reference))
}

// share writes a number and, where it is not zero, how much of the whole it is.
func share(n, of int64) string {
	if n == 0 || of == 0 {
		return count(n)
	}
	return fmt.Sprintf("%s (%s %%)", count(n), strconv.FormatFloat(100*float64(n)/float64(of), 'f', 2, 64))
}

// percent writes how often the bounds held: 100 only where they always did.
func percent(d *Deviation) string {
	switch {
	case d.Within == nil:
		return "-"
	case d.Always != nil && *d.Always:
		return "100 %"
	}
	return strconv.FormatFloat(math.Floor(min(100**d.Within, 99.99)*100)/100, 'f', 2, 64) + " %"
}

// ratio writes a factor.
func ratio(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

// rounded writes a length of time that was computed: with a digit after the point below 100 ns.
func rounded(ns float64) string {
	if math.Abs(ns) < 99.95 {
		return strconv.FormatFloat(ns, 'f', 1, 64) + " ns"
	}
	return duration(int64(math.Round(min(max(ns, -math.MaxInt64/2), math.MaxInt64/2))))
}
