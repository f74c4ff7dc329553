// Package fuzztest makes the inputs of fuzz targets from the bytes that the fuzzer changes: numbers of every size up to
// beyond clock.Limit, and messages of two clocks whose truth is known. It finds what real tools wrote (Real).
package fuzztest

import (
	"math/big"
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// Input is the bytes that are left. After the last one come zeros.
type Input struct{ data []byte }

// Run fuzzes a target that reads its input from the fuzzer's bytes. The seeds are those that f was given, and the byte zero.
func Run(f *testing.F, target func(*testing.T, *Input)) {
	f.Add([]byte{0})
	testseed.Fuzz(f, func(t *testing.T, data []byte) { target(t, From(data)) })
}

// From returns an input of at most the first 1024 bytes, so that no run takes long.
func From(data []byte) *Input { return &Input{data[:min(len(data), 1024)]} }

// More reports whether bytes are left.
func (in *Input) More() bool { return len(in.data) > 0 }

// Byte returns the next byte.
func (in *Input) Byte() byte {
	if len(in.data) == 0 {
		return 0
	}
	b := in.data[0]
	in.data = in.data[1:]
	return b
}

// N returns a number from 0 up to but not including n, which is at most 256.
func (in *Input) N(n int) int { return int(in.Byte()) % n }

// Below returns a number from 0 up to but not including 65536, times two to the power of shift.
func (in *Input) Below(shift int) int64 { return (int64(in.Byte())<<8 | int64(in.Byte())) << shift }

// Number returns any int64: small ones, ones near the powers of two, and the extremes.
func (in *Input) Number() int64 {
	shift := min(in.Byte()&63, 48)
	high := int64(int16(uint16(in.Byte())<<8|uint16(in.Byte()))) << shift
	return clock.Add(high, int64(int8(in.Byte())))
}

// Stamp returns an instant strictly within clock.Limit.
func (in *Input) Stamp() clock.HostTime {
	return clock.HostTime(min(max(in.Number(), -clock.Limit+1), clock.Limit-1))
}

// Messages returns up to 64 messages, half of them each way, with any stamps within clock.Limit.
func (in *Input) Messages() (there, back []trace.Message) {
	for n := 0; in.More() && n < 64; n++ {
		back = append(back, trace.Message{Sent: in.Stamp(), Received: in.Stamp()})
		there, back = back, there
	}
	return there, back
}

// Truth is how a clock b runs by a clock a: by an offset, a constant skew, and a rate that changes evenly.
type Truth struct {
	Origin clock.HostTime
	Offset int64 // ns at the origin
	Skew   int64 // ppb at the origin
	Wander int64 // ppb per second
}

// At returns what b shows when a shows x, rounded as r says, exactly.
func (f *Truth) At(x clock.HostTime, r clock.Rounding) clock.HostTime {
	passed := big.NewInt(int64(x - f.Origin))
	// passed * skew / 1e9 + passed² * wander / 2e18, over one denominator.
	sum := new(big.Int).Mul(big.NewInt(f.Wander), passed)
	sum.Add(sum, big.NewInt(2*f.Skew*1_000_000_000))
	sum.Mul(sum, passed)
	if r == clock.Up {
		sum.Neg(sum)
	}
	sum.Div(sum, big.NewInt(2_000_000_000_000_000_000)) // downwards, as the denominator is positive
	if r == clock.Up {
		sum.Neg(sum)
	}
	return x + clock.HostTime(f.Offset) + clock.HostTime(sum.Int64())
}

// Pair is what two clocks of known truth stamped.
type Pair struct {
	Truth
	A, B         trace.Clock
	There, Back  []trace.Message
	MinAB, MinBA int64 // no message takes less by either clock
}

// origins are instants of a's clock around which its messages lie.
var origins = []clock.HostTime{0, 1_790_000_000_000_000_000, clock.Limit - 1<<43, -clock.Limit + 1<<43}

// maxSkew is the greatest skew of the clocks of a Pair, ppb, as long before their messages and after them as the messages last: a
// little less than bound.Default allows.
const maxSkew = 499_000

// Pair returns up to 64 messages over at most 73 minutes between clocks of at most half a second per 1000 seconds of skew
// and of a wander of at most so many ppb per second, less where the skew would grow beyond maxSkew.
func (in *Input) Pair(wander int) *Pair {
	p := &Pair{Truth: Truth{Origin: origins[in.N(len(origins))], Offset: int64(int16(in.Below(0))) << in.N(24), Skew: int64(int16(in.Below(0))) * 15}}
	if wander > 0 {
		p.Wander = int64(in.N(2*wander+1) - wander)
	}
	steps := []int64{1, 1, 1000, 1_000_000}
	p.A.Granularity, p.B.Granularity = steps[in.N(len(steps))], steps[in.N(len(steps))]
	p.MinAB, p.MinBA = in.Below(0)*int64(in.N(2)), in.Below(0)*int64(in.N(2))
	spread, delays := in.N(27), in.N(14)
	reach := 2*(0xffff<<spread+0xffff<<delays+0x1ffff)/1_000_000_000 + 1 // s from the origin
	most := (maxSkew - max(p.Skew, -p.Skew)) / int64(reach)
	p.Wander = min(max(p.Wander, -most), most)
	p.A.First, p.A.Last = clock.Limit, -clock.Limit
	p.B.First, p.B.Last = clock.Limit, -clock.Limit
	for n := 0; in.More() && n < 64; n++ {
		there := in.N(2) == 0
		left := p.Origin + clock.HostTime(in.Below(spread))
		least := p.MinBA
		if there {
			least = p.MinAB
		}
		arrived := left + clock.HostTime(least+least/1000+1+in.Below(delays))
		if there {
			m := trace.Message{Sent: p.onA(left), Received: p.onB(arrived)}
			p.There = append(p.There, m)
		} else {
			m := trace.Message{Sent: p.onB(left), Received: p.onA(arrived)}
			p.Back = append(p.Back, m)
		}
	}
	return p
}

func (p *Pair) onA(x clock.HostTime) clock.HostTime { return stamp(&p.A, x) }

func (p *Pair) onB(x clock.HostTime) clock.HostTime { return stamp(&p.B, p.At(x, clock.Down)) }

// stamp returns how a clock stamps an instant: cut to its granularity.
func stamp(c *trace.Clock, t clock.HostTime) clock.HostTime {
	step := clock.HostTime(c.Granularity)
	t -= (t%step + step) % step
	c.First, c.Last = min(c.First, t), max(c.Last, t)
	c.Events++
	return t
}
