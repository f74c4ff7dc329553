package show

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"meridian/clock"
)

// ClockReading is what a synchroniser says of an offset at one instant, ns.
type ClockReading struct {
	Offset, Low, High int64
	Bounded           bool
}

// Comparison is synchronisers side by side, as `meridian clock compare` prints them.
type Comparison struct {
	Seconds float64 `json:"seconds"`
	// SameClock is whether all hosts read one clock: then each offset is an error.
	SameClock     bool            `json:"same_clock"`
	RoundTrips    []*Delays       `json:"round_trips"`
	Synchronisers []*Synchroniser `json:"synchronisers"`
	Between       []*Between      `json:"between_hosts"`
	Costs         []*ClockCost    `json:"costs"`
}

// Synchroniser is what one synchroniser said of one host.
type Synchroniser struct {
	Name     string `json:"name"`
	Host     string `json:"host"`
	Readings int    `json:"readings"`
	Bounded  int    `json:"bounded"`
	Min      int64  `json:"min_ns"` // of the offsets
	Median   int64  `json:"median_ns"`
	Max      int64  `json:"max_ns"`
	// AbsMedian and AbsP99 are of the offsets without their signs: of the errors, with one clock.
	AbsMedian int64 `json:"abs_median_ns"`
	AbsP99    int64 `json:"abs_p99_ns"`
	// Width is the median of how far the bounds are apart; nil where there are none.
	Width *int64 `json:"width_ns"`
	// Held is how many bounds hold 0, with one clock; nil otherwise.
	Held *int `json:"held"`
}

// Between is the least and the greatest offset between any two hosts, without signs (Tinetti et al., table 7).
type Between struct {
	Name string `json:"name"`
	Min  int64  `json:"min_ns"`
	Max  int64  `json:"max_ns"`
}

// ClockCost is what a synchroniser costs. Nil is what is not known.
type ClockCost struct {
	Name      string   `json:"name"`
	Packets   *float64 `json:"packets_per_s"`
	Bytes     *float64 `json:"bytes_per_s"`
	Processor *float64 `json:"cores"`
}

// NewSynchroniser sums up what a synchroniser said.
func NewSynchroniser(name, host string, said []ClockReading, sameClock bool) *Synchroniser {
	s := &Synchroniser{Name: name, Host: host, Readings: len(said)}
	if len(said) == 0 {
		return s
	}
	var offsets, magnitudes, widths []int64
	held := 0
	for _, r := range said {
		offsets, magnitudes = append(offsets, r.Offset), append(magnitudes, max(r.Offset, -r.Offset))
		if r.Bounded {
			widths = append(widths, clock.Add(r.High, -r.Low))
			if r.Low <= 0 && r.High >= 0 {
				held++
			}
		}
	}
	slices.Sort(offsets)
	slices.Sort(magnitudes)
	slices.Sort(widths)
	s.Min, s.Median, s.Max = offsets[0], offsets[(len(offsets)-1)/2], offsets[len(offsets)-1]
	s.AbsMedian, s.AbsP99 = magnitudes[(len(magnitudes)-1)/2], magnitudes[(len(magnitudes)-1)*99/100]
	if s.Bounded = len(widths); s.Bounded > 0 {
		s.Width = &widths[(len(widths)-1)/2]
		if sameClock {
			s.Held = &held
		}
	}
	return s
}

// NewBetween compares the offsets of all hosts at each instant. The first index is the host, and this host's own clock is one more.
func NewBetween(name string, said [][]ClockReading) *Between {
	b := &Between{Name: name, Min: math.MaxInt64}
	instants := math.MaxInt
	for _, host := range said {
		instants = min(instants, len(host))
	}
	if len(said) == 0 || instants == 0 {
		return nil
	}
	for k := range instants {
		for i := range said {
			add := func(offset int64) {
				magnitude := max(offset, -offset)
				b.Min, b.Max = min(b.Min, magnitude), max(b.Max, magnitude)
			}
			add(said[i][k].Offset)
			for j := range i {
				add(said[i][k].Offset - said[j][k].Offset)
			}
		}
	}
	return b
}

// Write writes the comparison as JSON.
func (c *Comparison) Write(w io.Writer) error { return indented(w).Encode(c) }

// Table writes the tables.
func (c *Comparison) Table(w io.Writer) error {
	var out strings.Builder
	t := table{left: map[int]bool{0: true}}
	t.row("round trips", "count", "min", "max", "mean to 2 min")
	for _, d := range c.RoundTrips {
		if d.Count == 0 {
			t.row(printable(d.Host), "0", "-", "-", "-")
			continue
		}
		t.row(printable(d.Host), count(int64(d.Count)), duration(d.Min), duration(d.Max), duration(int64(math.Round(d.TrimmedMean))))
	}
	t.write(&out)
	out.WriteByte('\n')
	what := "offset"
	if c.SameClock {
		what = "error"
	}
	t = table{left: map[int]bool{0: true, 1: true}}
	t.row("synchroniser", "host", "readings", "|"+what+"| median", "p99", what+" min", "max", "bound", "held")
	for _, s := range c.Synchronisers {
		t.row(s.cells()...)
	}
	t.write(&out)
	if len(c.Between) > 0 {
		out.WriteByte('\n')
		t = table{left: map[int]bool{0: true}}
		t.row("between all hosts", "|"+what+"| min", "max")
		for _, b := range c.Between {
			t.row(b.Name, duration(b.Min), duration(b.Max))
		}
		t.write(&out)
	}
	out.WriteByte('\n')
	t = table{left: map[int]bool{0: true}}
	t.row("cost", "packets/s", "bytes/s", "of a core")
	for _, x := range c.Costs {
		cells := []string{x.Name, "-", "-", "-"}
		for i, v := range []*float64{x.Packets, x.Bytes} {
			if v != nil {
				cells[1+i] = significant(*v)
			}
		}
		if x.Processor != nil {
			cells[3] = significant(*x.Processor*100) + "%"
		}
		t.row(cells...)
	}
	t.write(&out)
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

func (s *Synchroniser) cells() []string {
	row := []string{s.Name, printable(s.Host), count(int64(s.Readings)), "-", "-", "-", "-", optional(s.Width, duration), "-"}
	if s.Readings > 0 {
		row[3], row[4], row[5], row[6] = duration(s.AbsMedian), duration(s.AbsP99), offset(s.Min), offset(s.Max)
	}
	if s.Held != nil {
		row[8] = fmt.Sprintf("%d of %d", *s.Held, s.Bounded)
	}
	return row
}
