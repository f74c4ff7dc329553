package sim

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"meridian/clock"
)

// Truth is what really was: the clocks and the least delays of a scenario.
type Truth struct {
	Seed  uint64
	Hosts []TrueHost
	Links []TrueLink // one for each direction in which two hosts can send
}

// TrueHost is a host's clock as it really was.
type TrueHost struct {
	Name string
	// Clock leads from the host's time to true time, both in ns, to within a nanosecond: to the first instant at which
	// the clock showed the time or a later one. It holds from the start of the traffic to its end and a second beyond
	// both.
	Clock clock.Curve
	Steps []TrueStep // in order of time
}

// TrueStep is an instant at which a host's clock was set: at the true instant At from showing Before to By ns more.
type TrueStep struct {
	At     clock.TimelineTime `json:"at_ns"`
	Before clock.HostTime     `json:"before_ns"`
	By     int64              `json:"by_ns"`
}

// Repeated reports whether the clock may have shown a time more than once because a step had set it back. Such a stamp
// alone does not tell when it was taken; Clock has the first time.
func (h *TrueHost) Repeated(host clock.HostTime) bool {
	for _, s := range h.Steps {
		if clock.Add(s.Before, s.By) <= host && host <= s.Before {
			return true
		}
	}
	return false
}

// TrueLink is what a message from one host to another took at least.
type TrueLink struct {
	From       string      `json:"from"`
	To         string      `json:"to"`
	MinDelayNs int64       `json:"min_delay_ns"`     // at the start
	Routes     []TrueRoute `json:"routes,omitempty"` // in order of time
}

// TrueRoute is the least delay from a true instant on.
type TrueRoute struct {
	At         clock.TimelineTime `json:"at_ns"`
	MinDelayNs int64              `json:"min_delay_ns"`
}

func (l *TrueLink) minimum(at clock.TimelineTime) int64 {
	least := l.MinDelayNs
	for _, r := range l.Routes {
		if at < r.At {
			break
		}
		least = r.MinDelayNs
	}
	return least
}

// Asymmetry returns half of the difference between the least delays from a to b and from b to a at the start, in ns. It
// is the error that no method can see in messages between the two: b's clock appears ahead by that much. It is false
// where the two do not have links both ways.
func (t *Truth) Asymmetry(a, b string) (ns float64, ok bool) {
	return t.AsymmetryAt(a, b, math.MinInt64)
}

// AsymmetryAt is [Truth.Asymmetry] at a true instant, which matters where routes change.
func (t *Truth) AsymmetryAt(a, b string, at clock.TimelineTime) (ns float64, ok bool) {
	var least [2]*TrueLink
	for i := range t.Links {
		switch l := &t.Links[i]; {
		case l.From == a && l.To == b:
			least[0] = l
		case l.From == b && l.To == a:
			least[1] = l
		}
	}
	if least[0] == nil || least[1] == nil {
		return 0, false
	}
	return float64(least[0].minimum(at)-least[1].minimum(at)) / 2, true
}

// truth returns what was, once all messages have been sent.
func (n *network) truth() *Truth {
	t := &Truth{Seed: n.Seed}
	from, to := n.Start-clock.TimelineTime(time.Second), n.last+clock.TimelineTime(time.Second)
	for i := range n.clocks {
		t.Hosts = append(t.Hosts, n.clocks[i].truth(hostName(i), from, to))
	}
	for i := range n.links {
		l := &n.links[i]
		least := TrueLink{From: hostName(l.from), To: hostName(l.to), MinDelayNs: l.min}
		for _, r := range l.routes {
			least.Routes = append(least.Routes, TrueRoute{r.At, l.minimum(r.At)})
		}
		t.Links = append(t.Links, least)
	}
	return t
}

// truth returns the clock's curve between two true instants.
func (c *Clock) truth(name string, from, to clock.TimelineTime) TrueHost {
	h := TrueHost{Name: name}
	instants := []clock.TimelineTime{from, to}
	if c.Walk != nil || c.Wave.AmplitudePPM != 0 {
		step := int64(time.Second)
		for c.Wave.AmplitudePPM != 0 && step > int64(c.Wave.Period)/8 && step%2 == 0 {
			step /= 2
		}
		// All the walk's corners, which are whole seconds from the origin, are among them.
		for t := c.Origin + clock.TimelineTime(int64(from-c.Origin)/step*step); t < to; t += clock.TimelineTime(step) {
			if t > from {
				instants = append(instants, t)
			}
		}
	}
	for _, s := range c.Steps {
		h.Steps = append(h.Steps, TrueStep{At: s.At, Before: c.At(s.At) - clock.HostTime(s.By), By: s.By})
		if s.At > from && s.At <= to {
			instants = append(instants, s.At-1, s.At)
		}
	}
	slices.Sort(instants)
	b := curveBuilder{clock: c}
	for i, t := range slices.Compact(instants) {
		if i > 0 {
			b.between(b.at, t)
		}
		b.knot(t)
	}
	h.Clock = b.curve
	return h
}

// curveBuilder makes a clock's inverse from instants in order.
type curveBuilder struct {
	clock  *Clock
	curve  clock.Curve
	at     clock.TimelineTime // the instant before
	behind bool               // the clock shows what it showed before a step set it back
}

// finest is how far a curve may lie from the clock between two knots, ns; rounding adds half of one.
const finest = 0.3

// between adds the knots that a piece needs to follow the clock. Looking at the middle alone would overlook a clock that
// bends one way before it and the other way after.
func (b *curveBuilder) between(from, to clock.TimelineTime) {
	quarter := int64(to-from) / 4
	if quarter == 0 {
		return
	}
	c := b.clock
	at := func(t clock.TimelineTime) float64 { return c.deviation(float64(t - c.Origin)) }
	start, end := at(from), at(to)
	straight := true
	for i := range int64(3) {
		t := from + clock.TimelineTime((i+1)*quarter)
		chord := start + (end-start)*(float64(t-from)/float64(to-from))
		straight = straight && math.Abs(at(t)-chord) < finest
	}
	if straight {
		return
	}
	half := from + clock.TimelineTime(2*quarter)
	b.between(from, half)
	b.knot(half)
	b.between(half, to)
}

// knot adds an instant.
func (b *curveBuilder) knot(t clock.TimelineTime) {
	b.at = t
	host := b.clock.At(t)
	last := len(b.curve) - 1
	if last >= 0 && host <= b.curve[last].X {
		b.behind = true
		return
	}
	if b.behind {
		// Since the knot before, the clock showed again what it had shown. A nanosecond later its time is new.
		b.behind = false
		if next := b.curve[last].X + 1; next < host {
			b.curve = append(b.curve, clock.Knot{X: next, Y: b.clock.Inverse(next)})
		}
	}
	b.curve = append(b.curve, clock.Knot{X: host, Y: t})
}

// Write writes the truth as JSON, a line for each host and each link.
func (t *Truth) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	flush := func() {
		out.Write(line) // an error comes again at Flush
		line = line[:0]
	}
	value := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // numbers and strings
		}
		line = append(line, text...)
	}
	line = append(line, `{"seed":`...)
	line = strconv.AppendUint(line, t.Seed, 10)
	line = append(line, ",\n\"hosts\":["...)
	for i, h := range t.Hosts {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, "\n{\"name\":"...)
		value(h.Name)
		if len(h.Steps) > 0 {
			line = append(line, `,"steps":`...)
			value(h.Steps)
		}
		line = append(line, ",\"clock\":\n["...)
		for k, knot := range h.Clock {
			if k > 0 {
				line = append(line, ',')
			}
			line = append(line, '[')
			line = strconv.AppendInt(line, int64(knot.X), 10)
			line = append(line, ',')
			line = strconv.AppendInt(line, int64(knot.Y), 10)
			line = append(line, ']')
			if len(line) > 32<<10 {
				flush()
			}
		}
		line = append(line, "]}"...)
	}
	line = append(line, "],\n\"links\":["...)
	for i := range t.Links {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, '\n')
		value(&t.Links[i])
		if len(line) > 32<<10 {
			flush()
		}
	}
	line = append(line, "]}\n"...)
	flush()
	return out.Flush()
}
