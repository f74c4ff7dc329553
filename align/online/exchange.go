package online

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"meridian/align/bound"
	"meridian/clock"
)

// Exchange is a question and its answer. Sent and Returned are stamps of the local clock, Received and Replied of the remote
// one: T1, T4, T2 and T3 of RFC 5905, section 8. A stamp of a sending may be earlier than the sending, and one of a
// receiving later than the receiving: then bounds are wider, not wrong. Errors says by how much stamps may be off either way: bounds
// allow for all of it, and estimates take the stamps as they are.
type Exchange struct {
	Sent, Received, Replied, Returned clock.HostTime
	Errors                            Errors
}

// Errors is by how much each stamp of an exchange may be off, ns, not negative.
type Errors struct{ Sent, Received, Replied, Returned int64 }

// outward returns the exchange with sendings as early and receivings as late as the errors permit, and without errors.
func (x Exchange) outward() Exchange {
	return Exchange{
		Sent: clock.Add(x.Sent, -x.Errors.Sent), Received: clock.Add(x.Received, x.Errors.Received),
		Replied: clock.Add(x.Replied, -x.Errors.Replied), Returned: clock.Add(x.Returned, x.Errors.Returned),
	}
}

// RoundTrip returns the time that question and answer took together, ns: the exchange less the time the remote host kept the question.
func (x Exchange) RoundTrip() int64 {
	return clock.Add(clock.Sub(x.Returned, x.Sent), -clock.Sub(x.Replied, x.Received))
}

// Offset returns the offset if both ways took equally long, ns: RFC 5905, section 8, theta.
func (x Exchange) Offset() int64 {
	there, back := clock.Sub(x.Received, x.Sent), clock.Sub(x.Replied, x.Returned)
	return back + (there-back)/2
}

// check returns what is wrong with an exchange.
func (x Exchange) check() error {
	switch e := x.Errors; {
	case min(e.Sent, e.Received, e.Replied, e.Returned) < 0:
		return fmt.Errorf("errors of stamps %+v are negative", e)
	case x.Returned < x.Sent:
		return fmt.Errorf("answer at %d, before the question at %d", x.Returned, x.Sent)
	case x.Replied < x.Received:
		return fmt.Errorf("replied at %d, before the question was received at %d", x.Replied, x.Received)
	case !inRange(clock.Sub(x.Received, x.Sent)) || !inRange(clock.Sub(x.Replied, x.Returned)):
		return fmt.Errorf("clocks are more than %v apart", time.Duration(maxOffset))
	}
	return nil
}

// maxOffset is the greatest offset of two clocks, ns: beyond 146 years sums of stamps may leave int64.
const maxOffset = 1 << 62

func inRange(offset int64) bool { return -maxOffset < offset && offset < maxOffset }

// Reading is what is known of the offset, remote less local, at an instant of the local clock.
type Reading struct {
	Offset    int64   // the estimate, ns; within Low and High where these bound it
	Skew      float64 // the rate of the remote clock against the local one, less 1
	Low, High int64   // strict bounds of the offset under the assumption, ns, where Bounded
	Bounded   bool
	Known     bool           // whether there is an estimate
	MinRTT    int64          // least round trip of the window, ns; 0 before the first exchange
	Steps     int            // how often a clock was set, as far as the exchanges tell
	Since     clock.HostTime // the local stamp of the first message since the latest step, or of all; 0 before the first
	Invalid   int            // exchanges that were dropped: stamps that no clocks can have
}

// Synchroniser estimates the offset of two clocks, exchange by exchange. It has no clock, goroutine or memory that grows, and
// nothing allocates in the long run. It is not safe for concurrent use.
//
// Every synchroniser has the same strict bound, that of [Strict]; they differ in the estimate.
type Synchroniser interface {
	// Exchange adds a whole exchange. It returns true where the exchange contradicts all before it under the assumption:
	// a clock was set, and bound and estimate begin anew.
	Exchange(x Exchange) (stepped bool)
	// Forward adds the way there of an exchange by itself, Sent and Received, Back the way back, Replied and Returned. An
	// answer whose exact time of sending comes with a later message is added first by Exchange, with an earlier time, then by
	// Back. Methods that need whole exchanges take them for the bound only.
	Forward(x Exchange) (stepped bool)
	Back(x Exchange) (stepped bool)
	// At returns what is known at an instant of the local clock that is not before the latest message.
	At(local clock.HostTime) Reading
}

// Options says under which assumption a synchroniser works. The zero value is the default.
type Options struct {
	// Assumption is that of the strict bound; zero is [bound.Default], which holds for clocks that nothing steers.
	Assumption bound.Assumption
	// Window is how far back the strict bound looks; 0 is a minute.
	Window time.Duration
	// LocalStep and RemoteStep are the granularities of the stamps, ns; 0 is 1.
	LocalStep, RemoteStep int64
	// MinDelay is the least delay possible either way, ns.
	MinDelay int64
}

// methods are the synchronisers of two clocks under their names.
var methods = map[string]func(*edge) Synchroniser{
	"posterior": newPosterior,
	"cristian":  newCristian,
	"ntp":       newNTP,
}

// Default is the name of the default method.
const Default = "posterior"

// Methods returns the names that [New] takes.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// New returns a synchroniser by its name; "" is [Default].
func New(method string, o Options) (Synchroniser, error) {
	if method == "" {
		method = Default
	}
	create := methods[method]
	if create == nil {
		return nil, fmt.Errorf("unknown method %q (%s)", method, strings.Join(Methods(), ", "))
	}
	if o.Assumption == (bound.Assumption{}) {
		o.Assumption = bound.Default
	}
	if err := o.Assumption.Check(); err != nil {
		return nil, err
	}
	if o.Window == 0 {
		o.Window = time.Minute
	}
	if o.Window < time.Second || o.LocalStep < 0 || o.RemoteStep < 0 || o.MinDelay < 0 {
		return nil, fmt.Errorf("window %v (at least 1s), granularities of %d and %d ns or least delay of %d ns out of range",
			o.Window, o.LocalStep, o.RemoteStep, o.MinDelay)
	}
	return create(newEdge(o)), nil
}
