package pipeline

import (
	"context"

	"meridian/match"
	"meridian/trace"
)

// gather brings the inputs to the problem that alignment is given: whoever aligns or measures begins here.
func (r *run) gather(ctx context.Context) error {
	if r.Progress == nil {
		r.Progress = func(string, int64, int64) {}
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	var err error
	r.matched, err = match.Match(ctx, r.captures, match.Options{Addresses: r.Addresses}, &r.warnings)
	if err != nil {
		return err
	}
	r.join()
	if err := r.addSamples(); err != nil {
		return err
	}
	r.settle()
	return r.checkNames()
}

// join adds to what was matched in captures what lists and recordings say of messages themselves: first what was sent, then
// what collectives amount to.
func (r *run) join() {
	clocks := r.addLists()
	collectives := r.addRecordings()
	r.sent = len(r.matched.Channels)
	r.addOperations(clocks)
	r.matched.Channels = append(r.matched.Channels, match.Collectives(collectives)...)
}

// checkNames refuses names that no input has, which would otherwise be passed over in silence, and names that two clocks
// would share.
func (r *run) checkNames() error {
	named := make(map[string]bool)
	for _, c := range r.matched.Clocks {
		if named[c.Name] {
			return usage("%s is the name of a host and of the second clock of another; name the host otherwise with HOST=FILE", c.Name)
		}
		named[c.Name] = true
	}
	for name := range r.Addresses {
		known := false
		for _, c := range r.matched.Clocks {
			known = known || c.Host == name
		}
		if !known {
			return usage("--address names host %q, which no input is of", name)
		}
	}
	return nil
}

// numbers returns the clocks by name.
func (r *run) numbers() map[string]int {
	number := make(map[string]int)
	for i, c := range r.matched.Clocks {
		number[c.Name] = i
	}
	return number
}

// addClock adds a clock that no capture knows and returns its number.
func (r *run) addClock(name string) int {
	r.matched.Clocks = append(r.matched.Clocks, trace.Clock{Name: name, Host: name}) // its granularity: [run.settle]
	r.listedFrom = min(r.listedFrom, len(r.matched.Clocks)-1)
	r.matched.Addresses = append(r.matched.Addresses, nil)
	return len(r.matched.Clocks) - 1
}

// see counts a stamp of a clock, and extends the clock's trace to it.
func (r *run) see(clock int, stamp int64) {
	c := &r.matched.Clocks[clock]
	if c.Events == 0 {
		c.First, c.Last = stamp, stamp
	}
	c.First, c.Last = min(c.First, stamp), max(c.Last, stamp)
	c.Events++
	r.refine(clock, stamp)
}

// refine notes the step of a stamp of a clock that no capture knows.
func (r *run) refine(clock int, stamp int64) {
	if clock < r.listedFrom {
		return
	}
	for len(r.granularity) <= clock {
		r.granularity = append(r.granularity, trace.Granularity{})
	}
	r.granularity[clock].Add(stamp)
}

// settle decides how coarse the stamps of clocks are that no capture knows, and of those whose format says so.
func (r *run) settle() {
	for i := r.listedFrom; i < len(r.matched.Clocks); i++ {
		c := &r.matched.Clocks[i]
		c.Granularity = 1
		if i < len(r.granularity) {
			c.Granularity = r.granularity[i].Step(1, c.Events)
		}
	}
	for clock, step := range r.steps {
		c := &r.matched.Clocks[clock]
		c.Granularity = max(c.Granularity, step)
	}
}
