package synchroniser

import (
	"math"
	"sync"
	"sync/atomic"

	"meridian/align/online"
	"meridian/clock"
	"meridian/internal/probe"
)

// State is what is known of one host at one instant.
type State struct {
	Name, Address, Method string
	// At is the instant that the state is of, on this host's system clock; FreeAt the same on its free clock.
	At, FreeAt clock.HostTime
	// System is how the system clocks stand, theirs less ours; Free how the free clocks do.
	System, Free Reading
	// Skew is by how much more their free clock advances than ours, less 1.
	Skew float64
	// Estimated is whether there is an offset at all. It may be unbounded.
	Estimated bool
	// LeastRTT is the least round trip so far without the time that the other end took, RTT that of the newest exchange, ns.
	LeastRTT, RTT int64
	Exchanges     uint64
	// Steps counts contradictions of the free clocks, of which each began a new piece; Set how often the system clock there was set or
	// steered by more than is assumed, or stamps of system clocks contradicted each other. No bound is from both sides of either. One step
	// shows in several ways: what shows within four exchanges counts once, as what showed first.
	Steps, Set uint64
	// Sessions is how often the other end began anew: its free clock may have another origin then, and nothing from before is used.
	Sessions    uint64
	Here, There probe.Kind     // how the newest exchange was stamped; There how arrivals are
	Answered    clock.HostTime // when the newest answer came, on our free clock; 0: never
	Silent      bool
}

// Bounded says whether the system clocks' offset has a strict bound and the host answers.
func (s *State) Bounded() bool { return s.Estimated && s.System.Bounded && !s.Silent }

// Reading is an offset and its bound, ns.
type Reading struct {
	Offset, Low, High int64
	Bounded           bool
}

// Width is how far the bounds are apart.
func (r Reading) Width() int64 { return clock.Add(r.High, -r.Low) }

// String names the state.
func (s *State) String() string {
	switch {
	case s.Answered == 0:
		return "no answer"
	case s.Silent:
		return "silent"
	case !s.Estimated:
		return "measuring"
	case !s.System.Bounded:
		return "unbounded"
	}
	return "bounded"
}

// host is what a synchroniser keeps of one host.
type host struct {
	options *Options
	target  Target
	state   atomic.Pointer[State]

	mu         sync.Mutex // of what follows: Run writes, At and By read
	estimators []*estimator
	last       State // all but the readings
	system     carried
	direct     *direct
	session    uint32
	counted    uint64         // the exchange that counted as a step last
	doubt      bool           // bounds exclude each other: a clock was set, and which of them holds is open
	since      clock.HostTime // by our free clock: exchanges that began before are not used
}

// estimator is a method at work.
type estimator struct {
	method string
	online.Synchroniser
	steps, counted uint64
}

// oneStep is within how many exchanges contradictions count as one step.
const oneStep = 4

// count counts a contradiction in n, unless one was counted shortly before.
func (h *host) count(counted, n *uint64) {
	if now := h.last.Exchanges + 1; *counted == 0 || now >= *counted+oneStep {
		*counted = now
		*n++
	}
}

func newHost(o *Options, t Target) (*host, error) {
	h := &host{options: o, target: t, last: State{Name: t.Name, Address: t.Address, LeastRTT: math.MaxInt64}}
	if err := h.begin(); err != nil {
		return nil, err
	}
	first := h.last
	first.LeastRTT = 0
	first.Method = o.Method
	h.state.Store(&first)
	return h, nil
}

// begin makes estimators that know nothing.
func (h *host) begin() error {
	old := h.estimators
	h.estimators, h.system, h.direct = nil, carried{}, newDirect(h.options.Online.Assumption)
	for i, method := range append([]string{h.options.Method}, h.options.Also...) {
		e, err := online.New(method, h.options.Online)
		if err != nil {
			return err
		}
		n := &estimator{method: method, Synchroniser: e}
		if old != nil {
			n.steps, n.counted = old[i].steps, old[i].counted
		}
		h.estimators = append(h.estimators, n)
	}
	return nil
}

// take feeds the estimators with a sample and publishes what is known now.
func (h *host) take(x probe.Sample, now probe.Reading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if x.Session != h.session {
		if h.session != 0 {
			_ = h.begin() // the same methods were made before
			h.last.LeastRTT = math.MaxInt64
		}
		h.session = x.Session
		h.last.Sessions++
	}
	if h.doubt {
		h.restart(x)
	}
	stepped := h.feed(x)
	rtt, most := roundTrip(x)
	h.last.RTT, h.last.LeastRTT = rtt, min(h.last.LeastRTT, most)
	h.last.Here, h.last.There = min(x.T1.Kind, x.T4.Kind), x.T2.Kind
	set := false
	if !x.Late {
		h.last.Exchanges++
		h.last.Answered = max(h.last.Answered, x.T4.Time)
		if set = x.T2.Wall != 0 && h.system.take(x.T2, h.options.Steering); set {
			h.count(&h.counted, &h.last.Set)
		}
	}
	if h.direct.take(x, set || stepped) {
		h.restart(x)
	}
	state := h.at(h.estimators[0], now, x.SteeringHere)
	h.state.Store(&state)
}

// roundTrip returns the round trip of a sample without the time that the other end took, and what it is at most, ns. Readings of two clocks
// may be off by microseconds, and the least of many would be the worst of these. Stamps of the kernel are exact on REALTIME.
func roundTrip(x probe.Sample) (rtt, most int64) {
	rtt = clock.Sub(x.T4.Time, x.T1.Time) - clock.Sub(x.T3.Time, x.T2.Time)
	off := x.T1.Error + x.T2.Error + x.T3.Error + x.T4.Error
	for _, s := range []probe.Stamp{x.T1, x.T2, x.T3, x.T4} {
		if s.Kind != probe.Kernel || s.Wall == 0 {
			return rtt, rtt + off
		}
	}
	exact := clock.Sub(x.T4.Wall, x.T1.Wall) - clock.Sub(x.T3.Wall, x.T2.Wall)
	if exact < rtt-off || exact > rtt+off { // set meanwhile
		return rtt, rtt + off
	}
	return exact, exact
}

// restart begins anew where system clocks contradict what was known of them, and it is open whether free clocks were set as well. The sample
// may be from both sides of that.
func (h *host) restart(x probe.Sample) {
	system := h.system
	_ = h.begin() // the same methods were made before
	h.system, h.doubt = system, false
	h.since = max(h.since, x.T4.Time)
	h.direct.since = h.since
	h.count(&h.counted, &h.last.Set)
}

// feed gives one sample to all estimators. It returns true where the first of them began anew.
func (h *host) feed(x probe.Sample) (stepped bool) {
	if x.T1.Time < h.since {
		return false
	}
	for i, e := range h.estimators {
		if h.feedOne(e, x) && i == 0 {
			stepped = true
		}
	}
	return stepped
}

// feedOne gives one sample to one estimator. Bounds take stamps as far outwards as their errors allow, so that they remain strict.
//
// A sample comes twice where the kernel there stamps: at once with a stamp of user space for T3, which is early, and late with the
// kernel's. The default method takes the first, and of the second the better floor. The others can use whole exchanges only: they
// get the second.
func (h *host) feedOne(e *estimator, x probe.Sample) (stepped bool) {
	exchange := online.Exchange{
		Sent: x.T1.Time, Received: x.T2.Time, Replied: x.T3.Time, Returned: x.T4.Time,
		Errors: online.Errors{Sent: x.T1.Error, Received: x.T2.Error, Replied: x.T3.Error, Returned: x.T4.Error},
	}
	switch late := x.T2.Kind > probe.User; {
	case e.method == DefaultMethod && x.Late:
		stepped = e.Back(exchange)
	case e.method == DefaultMethod || late == x.Late:
		stepped = e.Exchange(exchange)
	}
	switch {
	case !stepped:
	case e == h.estimators[0]:
		h.count(&h.counted, &e.steps)
	default:
		h.count(&e.counted, &e.steps)
	}
	return stepped
}

func add(t clock.HostTime, ns int64) clock.HostTime { return clock.Add(t, ns) }

// at returns what an estimator says of an instant at which this host's clocks showed now, and its system clock was steered as steering says.
func (h *host) at(e *estimator, now probe.Reading, steering uint8) State {
	s := h.last
	s.Method, s.At, s.FreeAt, s.Steps = e.method, now.Wall, now.Free, e.steps
	if s.Exchanges == 0 {
		s.LeastRTT = 0
		return s
	}
	r := e.At(now.Free)
	s.Estimated, s.Skew = r.Known, r.Skew
	if !s.Estimated {
		return s
	}
	s.Free = Reading{r.Offset, r.Low, r.High, r.Bounded}
	if there, ok := h.system.at(add(now.Free, r.Offset), h.options.Steering); ok && now.Wall != 0 {
		carry := there.offset - clock.Sub(now.Wall, now.Free)
		slack := there.error + now.Error
		s.System = Reading{
			Offset: clock.Add(r.Offset, carry), Low: clock.Add(r.Low, carry-slack), High: clock.Add(r.High, carry+slack), Bounded: r.Bounded,
		}
		h.tighten(&s.System, now.Wall, steering)
	}
	return s
}

// tighten narrows a bound of the system clocks by the one of their own stamps. Two that exclude each other show that a clock was
// set unseen. Which one holds is open, so there is none until the next exchange.
func (h *host) tighten(r *Reading, now clock.HostTime, steering uint8) {
	low, high, ok := h.direct.at(now, steering, h.options.Steering)
	if !ok || !r.Bounded {
		return
	}
	if low, high = max(low, r.Low), min(high, r.High); low > high {
		h.doubt, r.Bounded = true, false
		return
	}
	r.Low, r.High = low, high
	r.Offset = min(max(r.Offset, low), high)
}

// feedback says how well a host's clock is known, given its state before the newest sample.
func (h *host) feedback(before *State) probe.Feedback {
	s := h.state.Load()
	f := probe.Feedback{Width: -1, Least: s.LeastRTT, Stepped: s.Steps != before.Steps || s.Set != before.Set}
	if s.Free.Bounded {
		f.Width = s.Free.Width()
	}
	return f
}
