package show

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"meridian/clock"
)

// ClockState is how a host's clock stands, as `meridian clock watch` prints it: a line of JSON, or a row of a table.
type ClockState struct {
	Time      string         `json:"time"`
	At        clock.HostTime `json:"at_ns"` // the instant, on this host's system clock
	Host      string         `json:"host"`
	Address   string         `json:"address"`
	State     string         `json:"state"`
	Method    string         `json:"method"`
	Offset    *int64         `json:"offset_ns"` // of the system clocks, theirs less ours
	Low       *int64         `json:"low_ns"`
	High      *int64         `json:"high_ns"`
	Skew      *float64       `json:"skew_ppm"` // of the free clocks
	LeastRTT  *int64         `json:"min_rtt_ns"`
	RTT       *int64         `json:"rtt_ns"`
	Free      *FreeClock     `json:"free"` // the clocks that nobody steers
	Exchanges uint64         `json:"exchanges"`
	Rate      float64        `json:"rate"` // exchanges per second that are asked for
	Steps     uint64         `json:"steps"`
	Set       uint64         `json:"set"`
	Sessions  uint64         `json:"sessions"`
	Here      string         `json:"stamps_here"`
	There     string         `json:"stamps_there"`
}

// FreeClock is the offset of the clocks that nobody steers, and its bound.
type FreeClock struct {
	Offset int64  `json:"offset_ns"`
	Low    *int64 `json:"low_ns"`
	High   *int64 `json:"high_ns"`
}

// WriteLine writes the state as one line of JSON.
func (c *ClockState) WriteLine(w io.Writer) error { return json.NewEncoder(w).Encode(c) }

// ClockTable is the states of several hosts.
type ClockTable []*ClockState

// Table writes a row for each host.
func (c ClockTable) Table(w io.Writer) error {
	var out strings.Builder
	t := table{left: map[int]bool{0: true, 1: true}}
	t.row("host", "state", "offset", "bound", "skew", "least round trip", "newest", "per s", "exchanges", "steps", "stamps")
	for _, s := range c {
		t.row(s.cells()...)
	}
	t.write(&out)
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

func (c *ClockState) cells() []string {
	skew, stamps := "-", "-"
	if c.Skew != nil {
		skew = ppm(*c.Skew) + " ppm"
	}
	if c.Exchanges > 0 {
		stamps = c.Here
		if c.There != c.Here {
			stamps += ", " + c.There
		}
	}
	return []string{
		printable(c.Host), c.State, optional(c.Offset, offset), c.bounds(), skew, optional(c.LeastRTT, duration), optional(c.RTT, duration),
		significant(c.Rate), count(int64(c.Exchanges)), count(int64(c.Steps + c.Set)), stamps,
	}
}

// bounds writes by how far the truth may be off either way.
func (c *ClockState) bounds() string {
	if c.Offset == nil || c.Low == nil || c.High == nil {
		return "-"
	}
	below, above := clock.Sub(clock.HostTime(*c.Offset), clock.HostTime(*c.Low)), clock.Sub(clock.HostTime(*c.High), clock.HostTime(*c.Offset))
	return fmt.Sprintf("−%s +%s", duration(below), duration(above))
}

// Line writes the state as a line of text.
func (c *ClockState) Line(w io.Writer) error {
	text := fmt.Sprintf("%s %s: %s", c.Time, printable(c.Host), c.State)
	if c.Offset != nil {
		text += fmt.Sprintf(", offset %s", offset(*c.Offset))
		if b := c.bounds(); b != "-" {
			text += " (" + b + ")"
		}
	}
	if c.Skew != nil {
		text += ", skew " + ppm(*c.Skew) + " ppm"
	}
	if c.LeastRTT != nil {
		text += ", least round trip " + duration(*c.LeastRTT)
	}
	if n := c.Steps + c.Set; n > 0 {
		text += ", " + counted(int64(n), "step")
	}
	if _, err := fmt.Fprintln(w, text); err != nil {
		return fmt.Errorf("line: %w", err)
	}
	return nil
}
