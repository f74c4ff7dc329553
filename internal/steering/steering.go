// Package steering leads from a clock that the kernel steers to one that nobody does.
//
// CLOCK_MONOTONIC and CLOCK_REALTIME are steered: NTP, PTP and adjtime(3) change their rate, by up to 10% while they slew. The
// processor's counter, or CLOCK_MONOTONIC_RAW where there is none, runs free. In go readings of both at one instant, which a
// recorder has stored ([Reading]), each with what adjtimex(2) said of the steering. Out comes a map from the steered clock to the
// free one, with bounds ([Map]).
//
//	free       ^           .o reading, known to its error
//	counter    |        .'.'   between two readings: a lens, as wide as the rates allow
//	           |     o.'
//	           |  .'  \ the kernel changed the rate
//	           +------------------> steered clock
//
// # What the bounds rest on
//
// Let two readings lie h apart, and the rate between them stay between lo and hi. Whatever the rate did, the clock was then
// within (hi-lo) h/4 of the line between the readings. The rates are those that adjtimex(2) states at both ends (freq, tick, and
// what is left of an offset or an adjtime(3) to be paid), if the mean rate measured between the readings agrees with them: the
// lens is of some ns. If the mean rate disagrees, something ran in between that the ends do not show. The lens is then that of the
// fastest slews that the kernel can do ([maxSlew]). One assumption remains: where the mean rate agrees, the kernel
// did not leave the stated rates and return to them with the difference paid back, all between two readings, some 50 ms. Daemons
// steer to remove an offset, so they do not pay it back; [Words] states it all the same.
//
// A recorder need not store each reading: [Door] says which ones lie on a line, of which the ends are enough.
package steering

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"meridian/clock"
)

// Reading is the steered clock beside the free one at one instant, and what was seen since the reading stored before.
type Reading struct {
	Stamp          clock.HostTime // the steered clock as stamps have it: Ns and the origin of the stamps
	Counter, Error uint64         // the free counter and how well it is known, in its units, as [clock.Reading] has them
	Ns, NsError    int64          // the steered clock
	Seen           Seen
	Kernel         Kernel
	Suspended      int64 // for how long the machine has been suspended since boot, ns
	Early          bool  // a program's, from before the recorder's first: it does not ask the kernel
}

// Seen is what a recorder saw of the clocks between two readings that it stored.
type Seen struct {
	Gap   int64 // the longest time without a reading, ns; 0: there were none between
	Bend  int64 // all readings between were within this of the line, ns, their own errors included
	Worst int64 // the greatest error of a reading that stamps were converted by, ns
}

// Kernel is how the kernel steered its clocks, as adjtimex(2) has it.
type Kernel struct {
	Known    bool  // adjtimex could be read
	Freq     int64 // parts per million, in 2^-16
	Tick     int64 // µs that a hundredth of a second is to take
	Offset   int64 // that the kernel's own loop has still to pay, ns
	Adjust   int64 // that adjtime(3) has still to pay, µs
	Constant int64 // of the loop
	Status   int64 // STA_...
	State    int64 // TIME_...
	MaxError int64 // by the daemon's estimate, µs
	EstError int64 // the same
	TAI      int64 // TAI less UTC, s
}

// Steers reports whether the kernel steers differently than it did before.
func (k Kernel) Steers(before Kernel) bool {
	return k.Known != before.Known || k.Freq != before.Freq || k.Tick != before.Tick || k.Offset != before.Offset || k.Adjust != before.Adjust ||
		k.Constant != before.Constant
}

// Rates of the steered clock against the free one, as fractions beyond 1.
const (
	// maxSlew is the fastest that Linux can make its clocks: 10% by tick, 500 ppm each by freq and adjtime(3), and an eighth by
	// the loop (half a second of offset, paid by an eighth a second).
	maxSlew = 0.1 + 2*500e-6 + 0.125
	// adjtimeSlew is that of adjtime(3) alone.
	adjtimeSlew = 500e-6
	// rateMargin is by how much the kernel may miss a stated rate: it multiplies the counter by a whole number of some
	// 23 bits, and alternates between two of them.
	rateMargin = 0.5e-6
)

// rates returns between which rates the kernel steered.
func (k Kernel) rates() (low, high float64) {
	low = float64(k.Tick-10_000)/10_000 + float64(k.Freq)/65536e6
	high = low
	// The loop pays offset/2^(2+constant) a second, each second of what is left. A faster one may have begun: up to an eighth.
	if k.Offset != 0 {
		paid := float64(k.Offset) / 1e9 / math.Exp2(float64(2+min(max(k.Constant, 0), 60)))
		low, high = min(low, low+2*paid), max(high, high+2*paid)
	}
	switch {
	case k.Adjust > 0:
		high += adjtimeSlew
	case k.Adjust < 0:
		low -= adjtimeSlew
	}
	return low, high
}

// Map is what readings say: where the free clock stood when the steered one showed a stamp.
type Map struct {
	clock.PairMap       // from the steered clock to the free one, whose ns are scaled to its mean rate
	Readings      int   // how many there were
	ReadingError  int64 // of the best half of them, at most, ns
	Least         int64 // the narrowest and widest error between the first and the last reading, ns
	Most          int64 //
	Slewed        int64 // ns of the recording in which a slew could not be followed, and the kernel's fastest is assumed
	Apart         int64 // the longest time between two readings, ns
	Unknown       bool  // adjtimex could not be read
	Early         bool  // it is not known how the kernel steered before the recorder's first reading, of which programs' readings tell
	First, Last   clock.HostTime
	Counter       string // the free counter's name, where [Merge] made the map
}

const (
	// maxBeyond is how far from the readings stamps may lie, ns.
	maxBeyond = 2_000_000_000
	// maxChangeBeyond is by how much the rate of the steered clock is taken to change there.
	maxChangeBeyond = 500e-6
)

// Covers reports whether a map can be used for stamps in an interval.
func (m *Map) Covers(first, last clock.HostTime) bool {
	return first >= clock.Add(m.First, -maxBeyond) && last <= clock.Add(m.Last, maxBeyond)
}

// WordsBeyond says what they rest on as well for stamps before the first reading and after the last, which a recorder that was
// killed leaves.
const WordsBeyond = "before the first reading and after the last its rate changed by no more than 500 ppm"

// Words says what the bounds of a map rest on, if its readings are so far apart at most.
func Words(apart time.Duration) string {
	return fmt.Sprintf("between two readings, at most %v apart, the kernel did not leave the rates that it stated and return to them with the difference paid back", apart.Round(time.Millisecond))
}

// errFew is the error of readings between which nothing can be interpolated.
var errFew = errors.New("fewer than two readings of the clocks")

// New makes a map of readings, in the order of the counter. The readings are not changed. The free counter is scaled to ns by
// its mean rate against the steered clock, so that both show about the same from the first to the last reading.
func New(readings []Reading) (*Map, error) {
	return scaled(readings, nil)
}

// scaled makes a map of readings, with a scale of the free counter; nil for the mean one.
func scaled(readings []Reading, to *scale) (*Map, error) {
	if len(readings) < 2 {
		return nil, errFew
	}
	for i := 1; i < len(readings); i++ {
		a, b := &readings[i-1], &readings[i]
		if b.Counter <= a.Counter || b.Ns <= a.Ns || b.Stamp <= a.Stamp {
			return nil, fmt.Errorf("readings of the clocks run back at %d ns: the counter was reset, or the machine was suspended", b.Ns)
		}
		if !clock.Valid(a.Stamp) || !clock.Valid(b.Stamp) || b.Counter-a.Counter > math.MaxInt64/2 || a.Error > 1<<40 || b.Error > 1<<40 || a.NsError < 0 || a.NsError > 1<<40 {
			return nil, fmt.Errorf("a reading of the clocks at %d ns is out of range", a.Ns)
		}
		if s := b.Seen; s.Gap < 0 || s.Bend < 0 || s.Worst < 0 || s.Bend > 1<<40 || s.Worst > 1<<40 {
			return nil, fmt.Errorf("a reading of the clocks at %d ns is out of range", b.Ns)
		}
	}
	p := newPath(readings, to)
	p.judge()
	m := &Map{Readings: len(readings), First: p.x[0], Last: p.x[len(p.x)-1]}
	p.summarize(m)
	m.PairMap = p.tube()
	return m, m.check()
}

// check returns an error for a map that is none, which readings of a machine that was suspended or moved may make.
func (m *Map) check() error {
	for _, c := range []clock.PairCurve{m.Mid, m.Low, m.High} {
		if err := c.Check(); err != nil {
			return fmt.Errorf("readings of the clocks make no map: %w", err)
		}
		for _, k := range c {
			if low, high, _, _ := m.Bounds(k.X); !clock.Valid(k.X) || !clock.Valid(k.Y) || m.At(k.X) < low || m.At(k.X) > high {
				return fmt.Errorf("readings of the clocks make no map: the machine was suspended or moved near %d ns", k.X)
			}
		}
	}
	return nil
}

// path is the readings as knots of the map, and the stretches between them.
type path struct {
	readings  []Reading
	x, y      []clock.HostTime // of each reading: steered, free
	error     []int64          // of each reading, ns
	stretches []stretch        // each ends at the reading of the next number
	scale     float64          // by how much measured rates differ from stated ones, at best knowledge
}

// stretch is the time between two readings.
type stretch struct {
	h, gap  float64 // its length and that of its longest part without a reading, ns
	rate    float64 // mean, of the steered clock beyond 1
	noise   float64 // of the rate
	error   int64   // how far the free clock may be from the line, ns
	slewed  bool    // the fastest slews are assumed
	unknown bool    // how the kernel steered
}

// scale is how a free counter is told in ns: at a count it shows an instant, and counts are so many ns.
type scale struct {
	counter    uint64
	at         clock.HostTime
	counts, ns int64
}

// meanScale is that by which the counter shows what the steered clock does at the first and the last reading.
func meanScale(first, last *Reading) scale {
	return scale{first.Counter, first.Stamp, int64(last.Counter - first.Counter), int64(last.Stamp - first.Stamp)}
}

// show returns what the free clock shows at a count.
func (s *scale) show(counter uint64) clock.HostTime {
	return clock.Add(s.at, clock.MulDiv(int64(counter-s.counter), s.ns, s.counts, clock.Nearest))
}

// newPath puts readings on the scale, the mean one if it is nil.
func newPath(readings []Reading, to *scale) *path {
	n := len(readings)
	if to == nil {
		mean := meanScale(&readings[0], &readings[n-1])
		to = &mean
	}
	p := &path{readings: readings, x: make([]clock.HostTime, n), y: make([]clock.HostTime, n), error: make([]int64, n), stretches: make([]stretch, n-1)}
	for i := range readings {
		r := &readings[i]
		p.x[i] = r.Stamp
		p.y[i] = to.show(r.Counter)
		p.error[i] = clock.Add(clock.MulDiv(int64(r.Error), to.ns, to.counts, clock.Up), r.NsError) + 1 // and the rounding of y
	}
	for i := range p.stretches {
		s := &p.stretches[i]
		s.h = max(float64(p.y[i+1]-p.y[i]), 1)
		s.gap = s.h
		if g := readings[i+1].Seen.Gap; g > 0 {
			s.gap = min(s.h, float64(g)*(1+maxSlew)/(1-maxSlew)) // it was measured by the steered clock
		}
		s.rate = float64(p.x[i+1]-p.x[i])/s.h - 1
		s.noise = float64(p.error[i]+p.error[i+1]+2) / s.h
	}
	return p
}

// judge finds the error of each stretch.
func (p *path) judge() {
	least, most := p.bias()
	p.scale = (least + most) / 2
	for i := range p.stretches {
		s := &p.stretches[i]
		low, high, known := p.stated(i)
		low, high = low+least-rateMargin, high+most+rateMargin
		switch {
		case !known:
			low, high = p.measured(i)
			s.unknown = true
		case s.rate+s.noise < low || s.rate-s.noise > high:
			low, high, s.slewed = -maxSlew, maxSlew, true
		}
		// Ends of parts are known to the readings' errors. The free clock's share of a lens is that of the steered one
		// over the least rate.
		lens := (high - low) / 4
		if s.gap == s.h { // the mean rate of the only part is known
			lens = steepest(low, high, s.rate-s.noise, s.rate+s.noise)
		}
		lens *= s.gap / (1 + max(low, -maxSlew))
		s.error = max(p.error[i], p.error[i+1], p.readings[i+1].Seen.Bend) + p.readings[i+1].Seen.Worst + int64(math.Ceil(lens)) + 1
		if s.rate < -maxSlew-s.noise || s.rate > maxSlew+s.noise { // no slew: the machine was suspended, or moved
			s.error, s.slewed = int64(s.h)+p.error[i]+p.error[i+1], true
		}
	}
}

// steepest returns how far the clock can have been from its mean rate, which was from mean to most, as a fraction of the time: it
// ran at one of the rates low and high first and at the other one then.
func steepest(low, high, mean, most float64) float64 {
	if high <= low {
		return 0
	}
	s := min(max((low+high)/2, mean), most) // the worst is the mean in the middle
	s = min(max(s, low), high)
	return (high - s) * (s - low) / (high - low)
}

// stated returns between which rates adjtimex had the clock around a stretch: at its ends, and at the readings before and after,
// since a change takes effect at the next tick.
func (p *path) stated(i int) (low, high float64, known bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for k := max(i-1, 0); k <= min(i+2, len(p.readings)-1); k++ {
		kernel := &p.readings[k].Kernel
		if !kernel.Known {
			if k == i || k == i+1 {
				return 0, 0, false
			}
			continue
		}
		// The reading before and after count where they are near.
		if k < i && p.stretches[k].h > nearby || k > i+1 && p.stretches[k-1].h > nearby {
			continue
		}
		a, b := kernel.rates()
		low, high = min(low, a), max(high, b)
	}
	return low, high, true
}

// nearby is how far apart readings are at most that the kernel may have been asked for one change, ns.
const nearby = 100e6

// measured returns between which rates the clock was by the readings around a stretch.
func (p *path) measured(i int) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for k := max(i-1, 0); k <= min(i+1, len(p.stretches)-1); k++ {
		s := &p.stretches[k]
		low, high = min(low, s.rate-s.noise), max(high, s.rate+s.noise)
	}
	return low - rateMargin, high + rateMargin
}

// bias returns by how much measured rates differ from stated ones, at least and at most: by the free clock's scale, and by what the
// kernel takes the counter's frequency for. Each stretch in which the kernel steered alike tells it to within the stated
// rates and the readings' errors. The medians over time of both limits are taken, so that a few slews between readings do not
// mislead; of stretches with one stated rate alone, where they are not rare.
func (p *path) bias() (least, most float64) {
	var all, exact biases
	for i := range p.stretches {
		a, b := &p.readings[i].Kernel, &p.readings[i+1].Kernel
		if !a.Known || !b.Known || a.Steers(*b) {
			continue
		}
		s := &p.stretches[i]
		low, high := a.rates()
		x := weighted{s.rate - s.noise - high, s.rate + s.noise - low, s.h}
		if all = append(all, x); low == high {
			exact = append(exact, x)
		}
	}
	if exact.time() > 0.1*all.time() {
		all = exact
	}
	return all.median(func(x weighted) float64 { return x.low }), all.median(func(x weighted) float64 { return x.high })
}

// weighted is an interval that counts for some time.
type weighted struct{ low, high, time float64 }

type biases []weighted

func (b biases) time() (sum float64) {
	for _, x := range b {
		sum += x.time
	}
	return sum
}

// median returns the median over time of an end of the intervals.
func (b biases) median(end func(weighted) float64) float64 {
	slices.SortFunc(b, func(x, y weighted) int { return cmp.Compare(end(x), end(y)) })
	sum, whole := 0.0, b.time()
	for _, x := range b {
		if sum += x.time; sum >= whole/2 {
			return end(x)
		}
	}
	return 0
}

// summarize fills in what a map says of its readings.
func (p *path) summarize(m *Map) {
	errs := slices.Clone(p.error)
	slices.Sort(errs)
	m.ReadingError = errs[len(errs)/2]
	m.Least = math.MaxInt64
	for i := range p.stretches {
		s := &p.stretches[i]
		m.Least, m.Most = min(m.Least, s.error), max(m.Most, s.error)
		if s.slewed {
			m.Slewed += int64(s.h)
		}
		if early := p.readings[i].Early; s.unknown {
			m.Early, m.Unknown = m.Early || early, m.Unknown || !early
		}
		m.Apart = max(m.Apart, int64(s.gap))
	}
}
