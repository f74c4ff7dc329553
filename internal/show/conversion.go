package show

import (
	"fmt"
	"io"
	"strings"

	"meridian/internal/filter"
)

// Conversion is what became of the events of a run that wrote them.
type Conversion struct {
	Events  int64           `json:"events"`            // written, ends of messages and bounds of clocks among them
	LeftOut int64           `json:"left_out"`          // not wanted
	Packets *int64          `json:"packets,omitempty"` // written as a capture; nil for none
	Pairs   []filter.Result `json:"pairs"`
}

// Write writes the conversion as JSON.
func (c *Conversion) Write(w io.Writer) error {
	return indented(w).Encode(c)
}

// Table writes the conversion for a terminal: how many events, and a row for each kind of pair.
func (c *Conversion) Table(w io.Writer) error {
	var out strings.Builder
	packets := ""
	if c.Packets != nil {
		packets = counted(*c.Packets, "packet")
	}
	if packets == "" || c.Events > 0 || c.LeftOut > 0 {
		out.WriteString(counted(c.Events, "event"))
		if c.LeftOut > 0 {
			fmt.Fprintf(&out, ", %s left out", count(c.LeftOut))
		}
		if packets != "" {
			out.WriteString("; ")
		}
	}
	out.WriteString(packets)
	out.WriteByte('\n')
	if len(c.Pairs) > 0 {
		out.WriteByte('\n')
		t := table{left: map[int]bool{0: true}}
		t.row("pair", "count", "min", "median", "mean", "p99", "max", "too short", "too long", "undecided", "out of order", "no end", "no begin")
		for _, p := range c.Pairs {
			if p.Count == 0 {
				t.row(printable(p.Name), "0", "", "", "", "", "", "", "", "", "", count(p.NoEnd), count(p.NoBegin))
				continue
			}
			t.row(printable(p.Name), count(p.Count), duration(p.MinNs), duration(p.MedianNs), duration(int64(p.MeanNs)), duration(p.P99Ns),
				duration(p.MaxNs), count(p.BelowMin), count(p.AboveMax), count(p.Undecided), count(p.OutOfOrder), count(p.NoEnd), count(p.NoBegin))
		}
		t.write(&out)
		for _, p := range c.Pairs {
			if x := p.Longest; x != nil {
				out.WriteString(longest(&p))
			}
		}
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

// longest says where the longest of a kind of pairs is, and how sure its length.
func longest(p *filter.Result) string {
	x := p.Longest
	var out strings.Builder
	fmt.Fprintf(&out, "longest %s: %s at %s on %s", printable(p.Name), duration(x.DurationNs), seconds(int64(x.BeginNs)), printable(x.From))
	if x.From != x.To {
		fmt.Fprintf(&out, " to %s", printable(x.To))
	}
	if x.Bounded && (x.From != x.To || x.LowNs != x.HighNs) {
		fmt.Fprintf(&out, ", between %s and %s", duration(x.LowNs), duration(x.HighNs))
	}
	if x.Order.Answer == "unknown" {
		out.WriteString(", it is not certain which was first")
	}
	if x.Key != "" {
		fmt.Fprintf(&out, ", key %s", printable(x.Key))
	}
	return out.String() + "\n"
}

// seconds writes an instant as decimal seconds since 1970, as lists and packet analysers do.
func seconds(ns int64) string {
	whole, part := ns/1e9, ns%1e9
	if part < 0 {
		whole, part = whole-1, part+1e9
	}
	return fmt.Sprintf("%d.%09d s", whole, part)
}
