package clock

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Frequency is how fast a counter ran by a clock, in the mean between two readings of both.
//
// Low and High are strict: whatever delayed the readings, the mean frequency lay between them. They say nothing of how
// well the clock itself keeps the world's second (MONOTONIC_RAW does not, MONOTONIC does where NTP or PTP steer it), nor of
// the frequency before and after, which wanders by some 10^-7.
//
// The zero value is a frequency that was not measured: its error is infinite.
type Frequency struct {
	Hz        float64       `json:"hz"`
	Low       float64       `json:"low_hz"`
	High      float64       `json:"high_hz"`
	Reference Source        `json:"reference"`
	Over      time.Duration `json:"over_ns"`
}

// Between returns the frequency from two readings of the same counter and clock: equation (1) of Tinetti et al.,
//
//	f = (c2 - c1) / (t2 - t1)
//
// with the error that their (2) and (3) add to t2 - t1. Where they take as tget the 1 µs that a call and its resolution
// cost, each reading here brings its own: Error, half the bracket, in counts, and NsError, which holds the clock's grain and,
// for a clock on another host, their td, what the way there leaves open:
//
//	(c2 - c1) - (e1 + e2)          (c2 - c1) + (e1 + e2)
//	---------------------  <= f <= ---------------------        n: NsError, e: Error
//	(t2 - t1) + (n1 + n2)          (t2 - t1) - (n1 + n2)
//
// The relative error falls with the time between, (4): readings of 50 ns each give 10^-7 in a second.
func Between(first, last Reading) (Frequency, error) {
	if first.Clock != last.Clock {
		return Frequency{}, fmt.Errorf("frequency: one reading is of %v, the other of %v; take both of one clock", first.Clock, last.Clock)
	}
	f := Frequency{Reference: first.Clock, Over: time.Duration(Sub(last.Ns, first.Ns))}
	counts, countError := float64(last.Counter-first.Counter), float64(first.Error)+float64(last.Error)
	ns, nsError := float64(f.Over), float64(first.NsError)+float64(last.NsError)
	switch {
	case last.Counter <= first.Counter:
		return Frequency{}, fmt.Errorf("frequency: the counter went from %d to %d; it stopped or was reset", first.Counter, last.Counter)
	case counts <= countError || ns <= nsError:
		return Frequency{}, fmt.Errorf("frequency: %g counts in %g ns, known to %g counts and %g ns, determine nothing; wait longer between the readings", counts, ns, countError, nsError)
	}
	const rounding = 8 * 0x1p-53 // of the operations in float64, none of which is off by more than 2^-53
	f.Hz = counts / ns * 1e9
	f.Low = (counts - countError) / (ns + nsError) * 1e9 * (1 - rounding)
	f.High = (counts + countError) / (ns - nsError) * 1e9 * (1 + rounding)
	return f, nil
}

// Error is the bound on the relative error of Hz; +Inf where Hz is not positive.
func (f Frequency) Error() float64 {
	if !(f.Hz > 0) {
		return math.Inf(1)
	}
	return max(f.High-f.Hz, f.Hz-f.Low) / f.Hz
}

// SpanFor returns how long readings as good as those of f must lie apart for a relative error: equation (4). It is at most
// 146 years, which also stands for a relative error that is not positive and for a frequency that was not measured.
func (f Frequency) SpanFor(relative float64) time.Duration {
	const longest = math.MaxInt64 / 2
	if !(relative > 0 && f.Hz > 0) {
		return longest
	}
	return time.Duration(min(f.Error()/relative*float64(f.Over), longest))
}

// Rounded returns the frequency in whole Hz, as files state it, and how far the mean frequency may have been from that, in 10^-12
// of it, rounded up. A frequency below 0.5 Hz, and so one that was not measured, is 0 with the error math.MaxUint64.
func (f Frequency) Rounded() (hz, error uint64) {
	whole := math.Round(f.Hz)
	if !(whole >= 1) {
		return 0, math.MaxUint64
	}
	return uint64(whole), uint64(math.Ceil(max(f.High-whole, whole-f.Low) / whole * 1e12))
}

const (
	calibrationTries = 32                   // readings at each end, of which the best counts: some 3 µs
	quickCalibration = 3 * time.Millisecond // what a program may wait at its start, less what a sleep oversleeps
)

// Calibrate measures the frequency of this machine's best counter by a reference for so long, which must not be negative.
func Calibrate(ctx context.Context, reference Source, during time.Duration) (Frequency, error) {
	if during < 0 {
		return Frequency{}, fmt.Errorf("frequency: the duration %v is negative", during)
	}
	counter := Best().Source
	if counter == reference {
		return nominal(counter), nil
	}
	first := take(counter, reference, calibrationTries)
	if first.Clock == None {
		return Frequency{}, fmt.Errorf("frequency of %v: this machine has no %v to measure it by", counter, reference)
	}
	timer := time.NewTimer(during)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Frequency{}, fmt.Errorf("frequency of %v: %w", counter, ctx.Err())
	case <-timer.C:
	}
	return Between(first, take(counter, reference, calibrationTries))
}

// CalibrateQuick measures the frequency of this machine's best counter well enough to begin with, within 5 ms on a machine that is not
// overloaded: to some 3*10^-5, by MONOTONIC. It is for the start of a program; later snapshots tell it better. A source that
// counts ns needs no measurement and takes no time.
func CalibrateQuick() (Frequency, error) {
	if counter := Best().Source; !counter.CountsCycles() {
		return nominal(counter), nil
	}
	return Calibrate(context.Background(), Monotonic, quickCalibration)
}

// nominal is the frequency of a clock that counts ns, by itself.
func nominal(s Source) Frequency {
	return Frequency{Hz: 1e9, Low: 1e9, High: 1e9, Reference: s}
}
