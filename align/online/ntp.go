package online

import (
	"cmp"
	"math"
	"slices"

	"meridian/clock"
)

// ntp is RFC 5905's estimate of one server: the clock filter of section 10 over the last eight exchanges, with its popcorn
// spike suppressor. Of the eight the one with the least delay counts, and an exchange counts once. The combination and the
// discipline of sections 11.2 and 11.3 follow where a clock is steered; here no clock is.
//
// Its error is half of what queues add one way to the best of eight round trips, plus what the clocks drift apart until the next
// that is better: no rate is estimated.
type ntp struct {
	whole
	stage  [ntpStages]ntpSample
	n      int
	used   clock.HostTime // of the sample that the offset is from
	jitter float64        // ns
}

// Constants of RFC 5905, sections 7.2 and 10.
const (
	ntpStages    = 8
	ntpPopcorn   = 3     // SGATE
	ntpFrequency = 15e-6 // PHI: dispersion, s per s
)

type ntpSample struct {
	at            clock.HostTime
	offset, delay int64
}

func newNTP(e *edge) Synchroniser { return &ntp{whole: whole{edge: e}} }

func (f *ntp) Exchange(x Exchange) (stepped bool) {
	stepped, of := f.edge.exchange(x)
	if f.step(stepped, true); !of.there || !of.back {
		return stepped
	}
	if !f.known {
		f.n = 0 // nothing yet, or nothing since a step
	}
	f.stage[f.n%ntpStages] = ntpSample{x.Returned, x.Offset(), x.RoundTrip()}
	f.n++
	f.filter(x.Returned)
	return stepped
}

// filter is clock_filter() of RFC 5905, appendix A.5.2.
func (f *ntp) filter(now clock.HostTime) {
	var buffer [ntpStages]ntpSample
	samples := buffer[:copy(buffer[:], f.stage[:min(f.n, ntpStages)])]
	distance := func(s ntpSample) float64 { return float64(s.delay)/2 + ntpFrequency*float64(clock.Sub(now, s.at)) }
	slices.SortFunc(samples, func(a, b ntpSample) int { return cmp.Compare(distance(a), distance(b)) })
	best := samples[0]
	jitter := 0.0
	for _, s := range samples[1:] {
		d := float64(s.offset - best.offset)
		jitter += d * d
	}
	jitter = math.Sqrt(jitter / float64(max(len(samples)-1, 1)))
	if f.known && best.at <= f.used {
		return // used already
	}
	spike := f.known && math.Abs(float64(best.offset-f.offset)) > ntpPopcorn*f.jitter && f.jitter > 0
	f.jitter = jitter
	if spike && f.n >= ntpStages {
		return
	}
	f.known, f.used, f.offset = true, best.at, best.offset
}
