package align

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"meridian/align/bound"
	"meridian/align/network"
	"meridian/align/sampled"
	"meridian/clock"
	"meridian/trace"
)

// Options chooses the method. The zero value is the default.
type Options struct {
	Method     string // one of Methods; "" means the first
	Network    string // one of Networks, by which pairs become one time base; "" means the method's own
	Reference  string // name of the clock or host that the timeline follows; "" means the central one
	Confidence int    // of regression-filtered: 90 (the default), 95, 99 or 100 per cent
	// Segment divides long traces: each pair is estimated over segments of this length, which are joined; 0 does not.
	Segment time.Duration
	// Assumption is what the strict bounds assume of any two clocks; nil means [bound.Default]. Where the messages of a pair
	// show that its clocks bend more, its bounds rest on what they show, unless NoAdapt is set: then messages that contradict
	// the assumption leave their pair without bounds. The method hull assumes linear clocks instead.
	Assumption *bound.Assumption
	NoAdapt    bool
	// Tolerance says how many messages may be false without the bounds being wrong; nil means [bound.DefaultTolerance].
	// Its Found is not used. The method hull believes all messages.
	Tolerance *bound.Tolerance
	// MinDelay is the least delay possible of any message, ns (P4). With MeasureDelay that of each pair is taken from its
	// quickest exchange instead, as if both ways were alike. That is an estimate, so no bound rests on it.
	MinDelay     int64
	MeasureDelay bool
	Samples      sampled.Mode // which samples the method sampled uses
}

// Networks returns the names of the strategies by which the estimates of pairs become one time base. The first is the
// envelope's own.
func Networks() []string { return append([]string{joint}, network.Strategies()...) }

// joint is the strategy that smooths all clocks at once; only the envelope smoother can.
const joint = "joint"

// Check returns an error for options that contradict each other or have values that do not exist.
func (o *Options) Check() error {
	m, err := o.method()
	if err != nil {
		return err
	}
	known := o.Network == ""
	for _, name := range Networks() {
		known = known || name == o.Network
	}
	switch {
	case !known:
		return fmt.Errorf("unknown network strategy %q (%s)", o.Network, strings.Join(Networks(), ", "))
	case o.Network == joint && m.name != envelopeMethod:
		return fmt.Errorf("the network strategy %s belongs to the method %s", joint, envelopeMethod)
	case o.Network != "" && m.pair == nil:
		return fmt.Errorf("the method %s takes no network strategy: it maps all clocks itself", m.name)
	case !slices.Contains([]int{0, 90, 95, 99, 100}, o.Confidence):
		return fmt.Errorf("a confidence of %d per cent; there are 90, 95, 99 and 100", o.Confidence)
	case int(o.Samples) >= len(sampled.Modes):
		return fmt.Errorf("no mode of samples %d; there are %s", o.Samples, strings.Join(sampled.Modes, ", "))
	case o.Segment < 0:
		return fmt.Errorf("segment length %v is negative", o.Segment)
	case o.MinDelay < 0:
		return fmt.Errorf("least delay of %d ns is negative: no message arrives before it was sent", o.MinDelay)
	case o.MinDelay > clock.Limit:
		return fmt.Errorf("least delay of %d ns is beyond 2^62 ns", o.MinDelay)
	case o.MinDelay > 0 && o.MeasureDelay:
		return errors.New("a given least delay excludes a measured one; choose one")
	}
	if o.Tolerance != nil {
		if err := o.Tolerance.Check(); err != nil {
			return err
		}
	}
	if o.Assumption != nil {
		return o.Assumption.Check()
	}
	return nil
}

func (o *Options) method() (*method, error) {
	for i := range methods {
		if m := &methods[i]; m.name == o.Method || o.Method == "" {
			return m, nil
		}
	}
	return nil, fmt.Errorf("unknown method %q (%s)", o.Method, strings.Join(Methods(), ", "))
}

// reference returns the clock of the wanted name, or -1.
func (o *Options) reference(p *trace.Problem) (int, error) {
	if o.Reference == "" {
		return -1, nil
	}
	var names []string
	for i, c := range p.Clocks {
		if c.Name == o.Reference {
			return i, nil
		}
		names = append(names, c.Name)
	}
	return 0, fmt.Errorf("unknown reference host %q (%s)", o.Reference, strings.Join(names, ", "))
}

// assumption returns what bounds of a method may assume.
func (o *Options) assumption(m *method) bound.Assumption {
	switch {
	case m.linear:
		return bound.Assumption{}
	case o.Assumption != nil:
		return *o.Assumption
	}
	return bound.Default
}
