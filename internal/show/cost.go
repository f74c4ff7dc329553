package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"meridian/clock"
)

// Cost writes what it costs to ask for the time on a machine.
type Cost clock.Cost

// Write writes the cost as JSON.
func (c *Cost) Write(w io.Writer) error {
	return indented(w).Encode(c)
}

// Table writes the cost for a terminal: the machine, its counter, and a row for each way to ask.
func (c *Cost) Table(w io.Writer) error {
	var out strings.Builder
	m := c.Machine
	if m.Processor != "" {
		out.WriteString(printable(m.Processor) + ", ")
	}
	fmt.Fprintf(&out, "%s, %s, %s, %s", counted(int64(m.Processors), "processor"), m.Architecture, printable(strings.TrimSpace(m.System+" "+m.Kernel)), m.Go)
	fmt.Fprintf(&out, "\nsensors stamp with %v (*): %s\n", c.Sensors.Source, printable(c.Sensors.Why))
	for _, f := range c.Frequencies {
		fmt.Fprintf(&out, "%s %v: %.6f MHz ± %s ppm by %v over %s; to 0.001 ppm it takes %s\n", constancy(c.Sensors.Invariant), c.Meter, f.Hz/1e6,
			strconv.FormatFloat(f.Error()*1e6, 'g', 2, 64), f.Reference, duration(int64(f.Over)), duration(int64(f.SpanFor(1e-9))))
	}
	out.WriteByte('\n')
	t := table{left: map[int]bool{0: true, 1: true, 2: true}}
	t.row("call", "by", "clock", "min", "median", "p99", "cycles", "cold min", "median", "p99", "cycles", "step")
	for _, x := range c.Calls {
		name, clockName, step := x.Name, x.Clock.String(), ""
		if x.Stamps {
			name += " *"
		}
		if x.Clock == clock.None {
			clockName = "-"
		}
		if x.StepNs > 0 {
			step = nanoseconds(x.StepNs)
		}
		row := []string{name, x.Way, clockName}
		for _, s := range []clock.Spread{x.Warm, x.Cold} {
			row = append(row, nanoseconds(s.Ns.Min), nanoseconds(s.Ns.Median), nanoseconds(s.Ns.P99), cycles(s.Cycles))
		}
		t.row(append(row, step)...)
	}
	t.write(&out)
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

func constancy(invariant bool) string {
	if invariant {
		return "invariant"
	}
	return "varying"
}

// nanoseconds writes a cost: below 100 ns with a digit behind the point.
func nanoseconds(ns float64) string {
	if ns < 100 {
		return strconv.FormatFloat(ns, 'f', 1, 64) + " ns"
	}
	return duration(int64(ns + 0.5))
}

// cycles writes the median in counts, if it was counted.
func cycles(q *clock.Quantiles) string {
	if q == nil {
		return "-"
	}
	return count(int64(q.Median + 0.5))
}
