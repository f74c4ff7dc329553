package probe

import (
	"math"

	"meridian/clock"
	"meridian/internal/realtime"
)

// Kind is where a stamp was taken.
type Kind byte

const (
	None     Kind = iota
	User          // this program: T1 and T3 before the sending, T2 and T4 after the arrival
	Kernel        // the kernel, as the packet passed its driver
	Hardware      // the interface, by its own clock
)

func (k Kind) String() string { return [...]string{"none", "user", "kernel", "hardware"}[k&3] }

// Stamp is an instant on a host's free clock, to within an error.
type Stamp struct {
	Time  clock.HostTime // CLOCK_MONOTONIC_RAW plus an origin that stays while the program runs
	Error int64          // ns, of the way from the clock that stamped to the free clock
	Kind  Kind
	Wall  clock.HostTime // the same instant on REALTIME; 0: not known
	// Monotonic is the same instant on CLOCK_MONOTONIC, of which the stamps of traces are; 0: not known, as of the other end's.
	Monotonic int64
}

// by returns the stamp with the free clock as it stands by another reading: REALTIME less the free clock is offset there. False
// where the two readings differ as they do when a clock is set.
func (s Stamp) by(offset int64) (Stamp, bool) {
	moved := clock.Sub(add(s.Wall, -offset), s.Time)
	if s.Wall == 0 || moved < -minStep || moved > minStep {
		return s, false
	}
	s.Time, s.Error = add(s.Time, moved), s.Error+max(moved, -moved)
	return s, true
}

func hostTime[T int64 | uint64](ns T) clock.HostTime { return clock.HostTime(ns) }

func valid(t clock.HostTime) bool { return clock.Valid(t) }

func add(t clock.HostTime, ns int64) clock.HostTime { return clock.Add(t, ns) }

// Reading is the clocks of a host at one instant: REALTIME lies within Error of Wall when the free clock shows Free.
type Reading struct {
	Free      clock.HostTime
	Wall      clock.HostTime
	Monotonic int64
	Error     int64
}

// Clock is the clocks of one end. A test puts another clock in the place of the machine's.
type Clock interface {
	// Read reads the clocks now.
	Read() Reading
	// Stamp returns what the clock shows in place of a stamp of the machine's REALTIME by the kernel or an interface. Clocks that
	// are the machine's return it as it is.
	Stamp(realtime int64) int64
	// Steering returns a number that changes when the rate of REALTIME against the free clock was changed; 0 where that is not known.
	Steering() uint8
}

// System is the clocks of this machine.
func System() Clock { return systemClock{origin: origin()} }

type systemClock struct{ origin int64 }

// origin returns REALTIME less MONOTONIC_RAW now: so that stamps of the free clock can be read as dates.
func origin() int64 { return int64(clock.Realtime.Now()) - int64(free.Now()) }

// free is the clock that nobody steers.
var free = func() clock.Source {
	if clock.MonotonicRaw.Available() {
		return clock.MonotonicRaw
	}
	return clock.Monotonic
}()

// readTries is how often a reading is repeated to keep the narrowest.
const readTries = 3

func (c systemClock) Read() Reading {
	best := Reading{Error: math.MaxInt64}
	for range readTries {
		before := int64(free.Now())
		wall := int64(clock.Realtime.Now())
		monotonic := int64(clock.Monotonic.Now())
		width := int64(free.Now()) - before
		if e := width - width/2; width >= 0 && e < best.Error {
			best = Reading{hostTime(before + width/2 + c.origin), hostTime(wall), monotonic, e}
		}
	}
	best.Error = clock.Add(best.Error, free.Grain()+clock.Realtime.Grain()+1)
	return best
}

// maxRate is by how much REALTIME's rate may change between two readings, beyond the mean they show: 1000 ppm, of which the
// kernel's loop and adjtime(3) take 500 each.
const maxRate = 1e-3

func (c systemClock) Stamp(realtime int64) int64 { return realtime }

// carry leads from REALTIME to the free clock. The stamp lies between two readings, and its distance from the nearer one is the
// same on both clocks but for the rates. False if it cannot lie between them: REALTIME was set meanwhile.
func carry(realtime int64, before, after Reading) (Stamp, bool) {
	near := after
	if realtime-int64(before.Wall) < int64(after.Wall)-realtime {
		near = before
	}
	free, wall := int64(after.Free-before.Free), clock.Sub(after.Wall, before.Wall)
	slack := before.Error + after.Error
	bend := int64(math.Ceil(float64(free) * maxRate))
	difference := max(wall-free, free-wall)
	if realtime < int64(before.Wall)-slack || realtime > int64(after.Wall)+slack || difference > slack+max(bend, minStep) {
		return Stamp{}, false
	}
	distance := max(realtime-int64(near.Wall), int64(near.Wall)-realtime)
	mean := 0.0
	if free > 1_000_000 { // in less the errors of the readings hide the rate
		mean = float64(difference) / float64(free)
	}
	return Stamp{
		Time: add(near.Free, realtime-int64(near.Wall)), Error: near.Error + int64(math.Ceil(float64(distance)*(mean+maxRate))),
		Wall: hostTime(realtime), Monotonic: near.Monotonic + realtime - int64(near.Wall),
	}, true
}

// minStep is the least difference that counts as a step of REALTIME, ns beyond the errors of the readings.
const minStep = 2_000

// stamp is that of user space.
func (r Reading) stamp() Stamp {
	return Stamp{Time: r.Free, Error: r.Error, Kind: User, Wall: r.Wall, Monotonic: r.Monotonic}
}

// history is the latest readings of a clock. Between two of them each stamp of the kernel finds its place.
type history struct {
	clock    Clock
	hardware *hardware     // nil without
	line     realtime.Line // for what leads on to MONOTONIC
	stamped  int64
	readings [64]Reading
	count    uint32
}

func newHistory(c Clock) *history {
	h := &history{clock: c}
	h.read()
	h.read()
	return h
}

// read takes a reading.
func (h *history) read() Reading {
	r := h.clock.Read()
	at := hostTime(r.Monotonic)
	h.line.Observe(realtime.Offset{At: at, Ns: int64(r.Wall - at), Error: r.Error}, h.stamped)
	h.readings[h.count%uint32(len(h.readings))] = r
	h.count++
	return r
}

// stamp leads from a stamp of the kernel or an interface to the free clock; false if there is none, or if it is not between two
// readings, or between several because REALTIME was set back.
func (h *history) stamp(wall int64) (s Stamp, ok bool) {
	if wall == 0 {
		return s, false
	}
	wall = h.clock.Stamp(wall)
	newest := h.at(0)
	for back := uint32(1); back < min(h.count, uint32(len(h.readings))); back++ {
		before, after := h.at(back), h.at(back-1)
		if !ok {
			if s, ok = carry(wall, before, after); ok {
				continue
			}
		}
		if before.Wall > newest.Wall+minStep {
			return s, false // set back within the history: the stamp may be of before or behind that
		}
		if ok && newest.Free-before.Free > hostTime(int64(1e9)) {
			break
		}
	}
	if ok {
		h.stamped++
		// The line has seen more readings and knows the difference of the two clocks better, except around a step.
		if m := int64(h.line.Monotonic(h.stamped, hostTime(wall))); max(m-s.Monotonic, s.Monotonic-m) < minStep {
			s.Monotonic = m
		}
	}
	return s, ok
}

// off returns by how much stamps on MONOTONIC may be off, ns.
func (h *history) off() int64 {
	_, off := h.line.Count()
	return off
}

func (h *history) at(back uint32) Reading {
	return h.readings[(h.count-1-back)%uint32(len(h.readings))]
}

// best returns the best of the stamps of an event: the interface's, the kernel's, or a reading.
func (h *history) best(kernel, byInterface int64, otherwise Reading) Stamp {
	if byInterface != 0 && h.hardware != nil {
		h.hardware.read()
		h.read() // a stamp lies between readings
		wall, off, ok := h.hardware.wall(byInterface)
		if apart := max(wall-kernel, kernel-wall); ok && (kernel == 0 || apart < maxApart) {
			if s, ok := h.stamp(wall); ok {
				s.Kind, s.Error = Hardware, s.Error+off
				return s
			}
		}
	}
	if s, ok := h.stamp(kernel); ok {
		s.Kind = Kernel
		return s
	}
	return otherwise.stamp()
}
