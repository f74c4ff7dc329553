package steering

import (
	"math"
	"slices"

	"meridian/clock"
)

// Follower makes a map of readings while they come. The free clock has one scale from the beginning on, whatever readings come: that of the
// first ones. So what a map said of an instant, a later one says as well, within the bounds of both.
//
//	readings   o----o----o----o          o  the next one
//	bounds     a lens between two   \_______ beyond: wider with time, until the next reading comes
//
// Beyond the last reading the bounds assume [WordsBeyond]. [Follower.Missed] says that a reading has shown this to be wrong.
type Follower struct {
	source   string
	readings []Reading
	last     string           // the recording of the last one
	origins  map[string]int64 // of stamps, by recording
	origin   int64            // that readings are told by
	off      int64            // by how much that of another recording differs
	scale    scale
	m        *Map
	stale    bool
	missed   bool
	err      error
	version  int
}

const (
	// followSpan is how far the first readings must be apart for the scale, ns.
	followSpan = 500_000_000
	// followKeep and followMost are how far back readings are kept, ns, and how many.
	followKeep = 60_000_000_000
	followMost = 1024
)

// Add adds a reading of a recording, which is named, in an event at an instant. The readings of one recording are used where several have
// them of the same time. It returns whether the reading is used.
func (f *Follower) Add(recording string, x Reading, source string, at clock.HostTime) bool {
	if source == monotonic || f.source != "" && f.source != source || f.err != nil {
		return false
	}
	f.source = source
	origin := clock.Sub(at, clock.HostTime(x.Ns))
	if f.origins == nil {
		f.origins, f.origin = make(map[string]int64), origin
	}
	// An event may be told later than its reading was taken, never earlier.
	if known, ok := f.origins[recording]; !ok || origin < known {
		f.origins[recording] = origin
		if f.m == nil {
			f.origin = min(f.origin, origin)
		}
		f.off = 0
		for _, o := range f.origins {
			f.off = max(f.off, clock.Sub(clock.HostTime(o), clock.HostTime(f.origin)), clock.Sub(clock.HostTime(f.origin), clock.HostTime(o)))
		}
		f.stale = true
	}
	n := len(f.readings)
	if n > 0 && f.last != recording { // nothing was seen of the time between
		x.Seen = Seen{Worst: x.Seen.Worst}
	}
	if n > 0 && (x.Counter <= f.readings[n-1].Counter || x.Ns <= f.readings[n-1].Ns) {
		return false
	}
	f.last = recording
	x.Stamp = clock.HostTime(clock.Add(x.Ns, f.origin))
	f.check(&x)
	f.readings = append(f.readings, x)
	drop := max(n+1-followMost, 0)
	for drop < n-1 && clock.Sub(x.Stamp, f.readings[drop+1].Stamp) > followKeep {
		drop++
	}
	if drop > 0 {
		f.readings = slices.Delete(f.readings, 0, drop)
	}
	f.stale = true
	return true
}

// check notes that a reading lies beyond what the map says of its time.
func (f *Follower) check(x *Reading) {
	if f.Map() == nil || x.Stamp <= f.m.Last || clock.Sub(x.Stamp, f.m.Last) > maxBeyond {
		return
	}
	low, high, _, _ := f.m.Bounds(x.Stamp)
	e := clock.Add(clock.MulDiv(int64(min(x.Error, 1<<40)), f.scale.ns, f.scale.counts, clock.Up), clock.Add(x.NsError, f.off)) + 1
	y := f.scale.show(x.Counter)
	f.missed = f.missed || clock.Add(y, e) < low || clock.Add(y, -e) > high
}

// Missed reports, once for each time, that the clock left the bounds beyond the last reading: it was slewed faster than these assume.
func (f *Follower) Missed() bool {
	missed := f.missed
	f.missed = false
	return missed
}

// Begin makes the first map if there are readings enough. All says that no more will come soon, so that two are enough.
func (f *Follower) Begin(all bool) bool {
	if f.m != nil {
		return true
	}
	n := len(f.readings)
	if n < 2 || f.err != nil || !all && clock.Sub(f.readings[n-1].Stamp, f.readings[0].Stamp) < followSpan {
		return false
	}
	for i := range f.readings {
		f.readings[i].Stamp = clock.HostTime(clock.Add(f.readings[i].Ns, f.origin))
	}
	f.scale = meanScale(&f.readings[0], &f.readings[n-1])
	// A clock that is slewed fast for a while gives no scale; what the kernel says of its rate does.
	a, b := &f.readings[0].Kernel, &f.readings[n-1].Kernel
	if low, high := a.rates(); a.Known && !a.Steers(*b) && low == high && math.Abs(low) > 2*adjtimeSlew {
		f.scale.ns = int64(math.Round(float64(f.scale.ns) / (1 + low)))
	}
	f.stale = true
	return f.Map() != nil
}

// Map returns the map of the readings so far, which is not changed; nil before Begin.
func (f *Follower) Map() *Map {
	if !f.stale || f.scale.counts == 0 {
		return f.m
	}
	f.stale = false
	readings := f.readings
	if f.off > 0 {
		readings = slices.Clone(readings)
		for i := range readings {
			readings[i].NsError = clock.Add(readings[i].NsError, f.off)
		}
	}
	m, err := scaled(readings, &f.scale)
	if err != nil {
		f.err = err // the last map stays, and reaches no further
		return f.m
	}
	f.m = m
	f.version++
	return m
}

// Err returns why no more readings are used, nil if they are.
func (f *Follower) Err() error { return f.err }

// Version counts the maps.
func (f *Follower) Version() int { return f.version }
