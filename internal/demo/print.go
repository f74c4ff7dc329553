package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"meridian/clock"
	"meridian/internal/show"
)

// Result is all that the demo has to say.
type Result struct {
	Report *show.Report
	// Broken lists what keeps the demo from having proved its point.
	Broken []string

	truth *truth
	dir   string
}

// Page returns the path of the timeline.
func (r *Result) Page() string { return filepath.Join(r.dir, "timeline.html") }

// Print tells the story in its order: how wrong it was, what alignment made of it, what the truth is, where to look.
func (r *Result) Print(w io.Writer) error {
	var out strings.Builder
	t := r.truth
	fmt.Fprintf(&out, "\nBefore: by the hosts' own clocks %s of %s messages arrive before they were sent",
		count(t.Before.Inversions), count(t.Messages))
	if m := t.Worst; m != nil {
		fmt.Fprintf(&out, ", by up to %s:\n", span(t.Before.WorstNs))
		fmt.Fprintf(&out, "  %s sends at %s, %s receives at %s\n", m.From, instant(m.SentNs), m.To, instant(m.ReceivedNs))
		fmt.Fprintf(&out, "After: on the timeline %s do; that one took %s (in truth %s).\n\n", count(t.After.Inversions), span(m.DelayNs), span(m.TrueDelayNs))
	} else {
		fmt.Fprintf(&out, ".\nAfter: on the timeline %s do.\n\n", count(t.After.Inversions))
	}
	if err := r.Report.Table(&out); err != nil {
		return err
	}
	out.WriteString("\nThe truth, which the alignment has never seen:\n")
	r.truthTable(&out)
	var inside, stamps int64
	for _, h := range t.Hosts {
		inside, stamps = inside+h.Inside, stamps+h.Stamps
	}
	if inside == stamps {
		fmt.Fprintf(&out, "The true time of every stamp lies within its bounds: %s of %s.\n", count(inside), count(stamps))
	} else {
		fmt.Fprintf(&out, "The true time of %s of %s stamps lies outside their bounds.\n", count(stamps-inside), count(stamps))
	}
	fmt.Fprintf(&out, "\ntimeline: %s\nbeside it: report.json, truth.json, what each host recorded (web.json, app.json, db.json),\nand what each received (web.txt, app.txt, db.txt)\n", r.Page())
	_, err := io.WriteString(w, out.String())
	return err
}

// truthTable writes the truth as the table above it has the estimates.
func (r *Result) truthTable(out *strings.Builder) {
	rows := [][]string{{"host", "true offset", "estimate off by", "true skew", "estimate off by", "worst error", "bound", "stamps inside"}}
	for _, h := range r.truth.Hosts {
		skew, bound := "-", "unbounded"
		if h.SkewErrorPPM != nil {
			skew = fmt.Sprintf("%.3f ppm", *h.SkewErrorPPM)
		}
		if h.BoundNs != nil {
			bound = span(*h.BoundNs)
		}
		rows = append(rows, []string{h.Name, fmt.Sprintf("%+.9f s", float64(h.OffsetNs)/1e9), span(h.OffsetErrorNs),
			fmt.Sprintf("%+.3f ppm", h.SkewPPM), skew, span(h.WorstErrorNs), bound, count(h.Inside) + " of " + count(h.Stamps)})
	}
	var lines strings.Builder
	tw := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		// Aligned to the left, as names are; all names of the demo are short.
		fmt.Fprintf(tw, "%-4s\t%s\t\n", row[0], strings.Join(row[1:], "\t"))
	}
	tw.Flush() // into a builder, which never fails
	for line := range strings.Lines(lines.String()) {
		out.WriteString(strings.TrimPrefix(line, "  "))
	}
}

// PrintJSON prints the same for programs.
func (r *Result) PrintJSON(w io.Writer) error {
	var report bytes.Buffer
	if err := r.Report.Write(&report); err != nil {
		return err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		Directory string          `json:"directory"`
		Timeline  string          `json:"timeline"`
		Truth     *truth          `json:"truth"`
		Report    json.RawMessage `json:"report"`
	}{r.dir, r.Page(), r.truth, report.Bytes()})
}

// span writes a length of time in the unit that suits it, with three decimals at most.
func span(ns int64) string {
	d := time.Duration(ns)
	unit, name := time.Second, "s"
	switch a := d.Abs(); {
	case a < time.Microsecond:
		return fmt.Sprintf("%d ns", ns)
	case a < time.Millisecond:
		unit, name = time.Microsecond, "µs"
	case a < time.Second:
		unit, name = time.Millisecond, "ms"
	}
	return fmt.Sprintf("%.4g %s", float64(d)/float64(unit), name)
}

// instant writes a stamp as the time of day that the host's clock showed.
func instant(ns clock.HostTime) string { return time.Unix(0, int64(ns)).Format("15:04:05.000000") }

// count writes a number as the report's tables do, with a blank between thousands.
func count(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %03d", count(n/1000), n%1000)
}
