package steering

import (
	"cmp"
	"fmt"
	"slices"

	"meridian/clock"
)

// Recorded is the readings of one recording.
type Recorded struct {
	Source   string // the counter's name
	Readings []Reading
	// Programs is the readings of MONOTONIC that programs left in their rings, for the time before the recorder's first.
	Programs []Reading
}

// monotonic is the source of recorders on machines without a counter: the steered clock itself.
var monotonic = clock.Monotonic.String()

// Add adds a reading that a recorder has stored, in an event at an instant.
func (r *Recorded) Add(x Reading, source string, at clock.HostTime) error {
	if r.Source != "" && r.Source != source {
		return fmt.Errorf("readings by two counters, %s and %s", r.Source, source)
	}
	// An event may be told later than its reading was taken, where another came between.
	x.Stamp, r.Source = at, source
	r.Readings = append(r.Readings, x)
	return nil
}

// AddProgram adds a reading of a program's.
func (r *Recorded) AddProgram(x Reading) { r.Programs = append(r.Programs, x) }

// before returns the readings of programs from before the recorder's first, those that do not contradict it: its clock was
// never slewed by more than 0.1% for long.
func (r *Recorded) before(origin int64) (found []Reading) {
	first, last := r.Readings[0], r.Readings[len(r.Readings)-1]
	slices.SortFunc(r.Programs, func(a, b Reading) int { return cmp.Compare(a.Counter, b.Counter) })
	for _, x := range r.Programs {
		if x.Counter >= first.Counter || x.Ns >= first.Ns || x.Ns < 0 {
			continue
		}
		if n := len(found); n > 0 && (x.Counter <= found[n-1].Counter || x.Ns <= found[n-1].Ns) {
			continue
		}
		away := first.Ns - x.Ns
		supposed := clock.MulDiv(int64(min(first.Counter-x.Counter, 1<<62)), last.Ns-first.Ns, int64(last.Counter-first.Counter), clock.Nearest)
		if off := clock.Sub(supposed, away); off > away/1000+1e6 || off < -away/1000-1e6 {
			continue
		}
		x.Stamp, x.Early = clock.HostTime(clock.Add(x.Ns, origin)), true
		found = append(found, x)
	}
	return found
}

// settle gives all readings the same origin, which is the least: events are told late, never early.
func (r *Recorded) settle() {
	if len(r.Readings) == 0 {
		return
	}
	origin := clock.Sub(r.Readings[0].Stamp, clock.HostTime(r.Readings[0].Ns))
	for _, x := range r.Readings {
		origin = min(origin, clock.Sub(x.Stamp, clock.HostTime(x.Ns)))
	}
	for i := range r.Readings {
		r.Readings[i].Stamp = clock.HostTime(clock.Add(r.Readings[i].Ns, origin))
	}
	slices.SortStableFunc(r.Readings, func(a, b Reading) int { return cmp.Compare(a.Counter, b.Counter) })
	r.Readings = slices.CompactFunc(r.Readings, func(a, b Reading) bool { return a.Counter == b.Counter })
	if n := len(r.Readings); n > 1 && r.Readings[n-1].Ns > r.Readings[0].Ns {
		r.Readings = append(r.before(origin), r.Readings...)
	}
	r.Programs = nil
}

// Merge makes one map of the recordings of a host, nil if they have no readings beside a free counter. Recordings at the same time
// have the same clock; the readings of one of them are taken.
func Merge(recordings []*Recorded) (*Map, error) {
	var all []*Recorded
	for _, r := range recordings {
		if r == nil || len(r.Readings) < 2 || r.Source == monotonic {
			continue
		}
		if len(all) > 0 && r.Source != all[0].Source {
			return nil, fmt.Errorf("recordings by two counters, %s and %s", all[0].Source, r.Source)
		}
		r.settle()
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(all, func(a, b *Recorded) int { return cmp.Compare(a.Readings[0].Counter, b.Readings[0].Counter) })
	var readings []Reading
	off := int64(0)
	for _, r := range all {
		first := true
		for _, x := range r.Readings {
			if n := len(readings); n > 0 {
				last := &readings[n-1]
				if x.Counter <= last.Counter {
					// Both recorders read one clock: by how much do their origins differ?
					off = max(off, originDistance(x, *last))
					continue
				}
				if first { // nothing was seen of the time between
					x.Seen = Seen{Worst: x.Seen.Worst}
				}
			}
			first = false
			readings = append(readings, x)
		}
	}
	if off > 0 {
		for i := range readings {
			readings[i].NsError = clock.Add(readings[i].NsError, off)
		}
	}
	m, err := New(readings)
	if err == nil {
		m.Counter = all[0].Source
	}
	return m, err
}

// originDistance returns how far apart two readings have the origin of stamps, ns.
func originDistance(a, b Reading) int64 {
	d := clock.Sub(a.Stamp, clock.HostTime(a.Ns)) - clock.Sub(b.Stamp, clock.HostTime(b.Ns))
	return max(d, -d)
}
