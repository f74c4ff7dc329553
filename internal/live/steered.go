package live

import (
	"fmt"
	"slices"

	alignlive "meridian/align/live"
	"meridian/clock"
	"meridian/internal/steering"
	"meridian/trace"
)

// The stamps of a recorder are of a clock that is steered. Its readings of a free counter lead from one to the other, as offline:
//
//	stamp --readings--> free clock --align/live--> timeline
//
// Readings are told up to a second after the instants that they concern. A message waits for those of both its ends, for at most
// maxReadingWait. Events do not wait: beyond the last reading the bounds to the free clock are wider, as its rate may have changed.

// steered is a clock that recorders read beside a free one, or are expected to.
type steered struct {
	name      string
	follower  steering.Follower
	decoders  map[*input]map[int]classDecoder
	following bool           // the clock of alignment is the free one
	plain     bool           // it is the steered one for good
	any       bool           // an event was seen
	first     clock.HostTime // stamps seen before
	last      clock.HostTime
	since     int64 // when the wait for readings began, by Session.time
	missed    bool  // said so
	beyond    bool
	ignored   bool
}

type classDecoder struct {
	steering.Decoder
	is bool
}

// waitingMessage is a message some of whose readings are missing.
type waitingMessage struct {
	from, to int
	trace.Message
	since int64
}

const (
	// maxReadingWait is how long a message waits for readings, and a host for the first ones, ns.
	maxReadingWait = 3_000_000_000
	// slewGuard is longer than readings are apart, and come late, ns.
	slewGuard = 3_000_000_000
	// maxWaiting is how many messages wait.
	maxWaiting = 1 << 18
)

// expect notes that a trace has readings of the clocks, before anything of its clock is used.
func (s *Session) expect(in *input) {
	if in.trace == nil || s.alone || s.steered[in.number] != nil {
		return
	}
	for _, other := range s.inputs {
		if other != in && other.number == in.number && other.began {
			return // its clock is in use as it is
		}
	}
	env := in.trace.Env()
	isReading := func(c trace.Class) bool { return c.Name == steering.Event }
	if env["tracer_name"] == "meridian" && env["domain"] == "host" || slices.ContainsFunc(in.follower.Classes(), isReading) {
		s.steered[in.number] = &steered{name: in.name, decoders: make(map[*input]map[int]classDecoder), since: s.time()}
	}
}

// see takes what an input read: a reading, or another stamp of the clock.
func (s *Session) see(in *input, seen bool) {
	x := s.steered[in.number]
	if x == nil {
		if seen {
			s.clocks.Seen(in.number, in.event.Time)
		}
		return
	}
	if in.trace != nil {
		x.read(s, in)
	}
	at := in.event.Time
	if !x.any {
		x.any, x.first, x.last = true, at, at
	}
	x.first, x.last = min(x.first, at), max(x.last, at)
	switch {
	case !seen:
	case x.plain:
		s.clocks.Seen(in.number, at)
	case x.following:
		s.clocks.Seen(in.number, x.follower.Map().At(at))
	default:
		x.begin(s, in.number, false)
	}
}

// read takes a reading, if the event of an input is one.
func (x *steered) read(s *Session, in *input) {
	of := x.decoders[in]
	if of == nil {
		of = make(map[int]classDecoder)
		x.decoders[in] = of
	}
	d, known := of[in.event.Class]
	if !known {
		d.Decoder, d.is = steering.NewDecoder(&in.follower.Classes()[in.event.Class])
		of[in.event.Class] = d
	}
	if !d.is {
		return
	}
	r, source, ok := d.Read(in.follower.Values())
	if !ok {
		return
	}
	if x.plain {
		if !x.ignored && source != clock.Monotonic.String() {
			x.ignored = true
			s.warnings.Add(x.name, "its readings of the clocks came too late to be used: its clock is taken for one that may be steered", "")
		}
		return
	}
	if source == clock.Monotonic.String() && !x.following { // there is no free counter
		x.ignored = true
		x.settle(s, in.number)
		return
	}
	x.follower.Add(fmt.Sprintf("%x", in.trace.Metadata().UUID), r, source, in.event.Time)
	if x.follower.Missed() && x.following && !x.missed {
		x.missed = true
		s.set.add(OneOf{x.name})
		s.doubts.found = append(s.doubts.found, doubt{"slewed", OneOf{x.name}, 0, []int{in.number}, s.elapsed() - slewGuard, s.elapsed()})
		s.warnings.Add(x.name, "its clock was slewed by more than 500 ppm before a reading showed it: bounds of its events in between, up to a second, may be wrong", "")
	}
}

// begin aligns the free clock from now on, if readings lead to it.
func (x *steered) begin(s *Session, number int, all bool) {
	switch {
	case x.follower.Begin(all):
		x.following = true
		m := x.follower.Map()
		s.clocks.Seen(number, m.Low.At(x.first, clock.Down))
		s.clocks.Seen(number, m.At(x.last))
	case all || s.time()-x.since > maxReadingWait:
		s.warnings.Add(x.name, "its readings of the clocks do not come: its clock is taken for one that may be steered", "")
		x.settle(s, number)
	}
}

// settle aligns the clock as it is.
func (x *steered) settle(s *Session, number int) {
	x.plain = true
	if x.any {
		s.clocks.Seen(number, x.first)
		s.clocks.Seen(number, x.last)
	}
}

// covered reports whether readings lead from a stamp to the free clock, as well as they ever will.
func (x *steered) covered(at clock.HostTime) bool {
	return x == nil || x.plain || x.following && at < x.follower.Map().Last
}

// add gives a message to alignment, once the readings of both its ends have come.
func (s *Session) add(from, to int, m trace.Message) {
	w := waitingMessage{from, to, m, s.time()}
	if s.ready(&w) || len(s.waiting) >= maxWaiting {
		s.use(&w)
		return
	}
	s.waiting = append(s.waiting, w)
}

func (s *Session) ready(w *waitingMessage) bool {
	return s.steered[w.from].covered(w.Sent) && s.steered[w.to].covered(w.Received)
}

// use gives a message to alignment: sent at the earliest instant of the free clock that its stamp may mean, received at the latest.
func (s *Session) use(w *waitingMessage) {
	s.bounding.message(w.from, w.to)
	if x := s.steered[w.from]; x != nil && !x.plain {
		if !x.reaches(w.Sent) {
			return
		}
		w.Sent = x.follower.Map().Low.At(w.Sent, clock.Down)
	}
	if x := s.steered[w.to]; x != nil && !x.plain {
		if !x.reaches(w.Received) {
			return
		}
		_, w.Received, _, _ = x.follower.Map().EventBounds(w.Received, 1)
	}
	s.clocks.Add(w.from, w.to, w.Message)
}

// reaches reports whether anything is known of the free clock at a stamp.
func (x *steered) reaches(at clock.HostTime) bool {
	return x.following && x.follower.Map().Covers(at, at)
}

// release uses the messages whose readings have come, or that have waited too long. All releases the others too.
func (s *Session) release(all bool) {
	for n, x := range s.steered {
		if !x.following && !x.plain && x.any {
			x.begin(s, n, all)
		}
		if x.following && !x.beyond && !x.reaches(x.last) {
			x.beyond = true
			why := ""
			if err := x.follower.Err(); err != nil {
				why = err.Error()
			}
			s.warnings.Add(x.name, "no readings of its clocks come any more: events more than 2 s after the last one have no bounds", why)
		}
	}
	rest := s.waiting[:0]
	for i := range s.waiting {
		w := s.waiting[i]
		if all || s.ready(&w) || s.time()-w.since > maxReadingWait {
			s.use(&w)
		} else {
			rest = append(rest, w)
		}
	}
	s.waiting = rest
}

// place returns where an event of a clock is on the timeline, by what is known now. The error of the readings is in the bounds.
func (s *Session) place(n int, at clock.HostTime) alignlive.Place {
	maps := s.clocks.Maps()
	x := s.steered[n]
	if x == nil || !x.following {
		return maps.Place(n, at)
	}
	m := x.follower.Map()
	p := maps.Place(n, m.At(at))
	if !p.Bounded {
		return p
	}
	earliest, latest, _, _ := m.EventBounds(at, 1)
	low, high := maps.Place(n, earliest), maps.Place(n, latest)
	if !m.Covers(at, at) || !low.Bounded || !high.Bounded || low.Component != p.Component || high.Component != p.Component {
		p.Bounded, p.Low, p.High = false, 0, 0
		return p
	}
	p.Low, p.High = min(p.Low, low.Low), max(p.High, high.High)
	return p
}

// hostMap returns the map from the stamps of a clock to its component.
func (s *Session) hostMap(n int, m *clock.Map) *clock.Map {
	if x := s.steered[n]; x != nil && x.following {
		whole := clock.ComposeMaps(&x.follower.Map().PairMap, m)
		return &whole
	}
	return m
}
