package causal

import (
	"reflect"
	"testing"

	"meridian/clock"
	"meridian/internal/fuzztest"
	"meridian/trace"
)

// FuzzRestoreOrder takes any messages under any estimates, and messages of one time under estimates that are wrong within
// bounds that are right. Where RestoreOrder succeeds its curves must be curves and no message may be inverted beyond the
// granularity of its receiver; the problem must stay as it is, and so must curves of clocks that are fixed. For messages of
// one time it must succeed, and stay within the bounds.
//
//fuzzall:cost 5
func FuzzRestoreOrder(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 200, 0, 10, 0, 30, 0, 20, 0, 1, 0, 100, 0, 5, 1, 0, 0, 200, 0, 3, 2, 1, 0, 250, 0, 9})
	f.Add([]byte{0, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 7, 0, 1, 0, 200, 0, 0, 0, 100, 0, 0, 1, 0, 0, 0, 150, 0, 0, 1, 44, 0})
	fuzztest.Run(f, func(t *testing.T, in *fuzztest.Input) {
		if in.N(2) == 1 {
			restoreTrue(t, in)
			return
		}
		restoreAny(t, in)
	})
}

// restoreTrue restores the order of messages between three clocks that show one time, and demands success.
func restoreTrue(t *testing.T, in *fuzztest.Input) {
	const clocks = 3
	w := newWorld(clocks, []int64{1, 10, 1000, 1_000_000}[in.N(4)])
	origin := clock.HostTime([]int64{0, 1_790_000_000_000_000_000}[in.N(2)])
	scale := in.N(28)
	for i := range clocks - 1 {
		off := int64(int16(in.Below(0))) << in.N(12)
		wide := max(off, -off) + in.Below(in.N(12))
		at := clock.TimelineTime(origin)
		w.Maps[i].Mid = clock.Curve{{X: origin, Y: at.Add(0) + clock.TimelineTime(off)}}
		if in.N(2) == 0 {
			w.Maps[i].Low = clock.Curve{{X: origin, Y: at - clock.TimelineTime(wide)}}
		}
		if in.N(2) == 0 {
			w.Maps[i].High = clock.Curve{{X: origin, Y: at + clock.TimelineTime(wide)}}
		}
	}
	w.Maps[clocks-1].Mid = clock.Curve{{X: origin, Y: clock.TimelineTime(origin)}}
	for n := 0; in.More() && n < 64; n++ {
		from := in.N(clocks)
		to := (from + 1 + in.N(clocks-1)) % clocks
		w.send(from, to, origin+clock.HostTime(in.Below(scale)), 1+in.Below(in.N(6)))
	}
	w.restored(t)
}

// restoreAny takes stamps within 26 days of each other, since corrections are float64, which are exact to the nanosecond up
// to 104 days.
func restoreAny(t *testing.T, in *fuzztest.Input) {
	const clocks = 3
	const most = 1 << 51
	stamp := func() clock.HostTime { return min(max(in.Stamp(), -most), most) }
	w := newWorld(clocks, 1)
	for i := range clocks {
		k := &w.Clocks[i]
		k.Granularity = in.Below(in.N(16))
		w.Fixed[i] = in.N(4) == 0
		w.Maps[i].Mid = clock.Curve{{X: stamp(), Y: clock.TimelineTime(stamp())}}
		if at := stamp(); at > w.Maps[i].Mid[0].X {
			k := w.Maps[i].Mid[0]
			if next := (clock.Knot{X: at, Y: clock.Add(k.Y, clock.MulDiv(clock.Sub(at, k.X), int64(128+in.N(256)), 256, clock.Nearest))}); next.Y < clock.Limit {
				w.Maps[i].Mid = append(w.Maps[i].Mid, next)
			}
		}
	}
	for n := 0; in.More() && n < 48; n++ {
		from, to := in.N(clocks), in.N(clocks)
		m := trace.Message{Sent: stamp(), Received: stamp()}
		w.Channels = append(w.Channels, trace.Channel{From: from, To: to, Messages: []trace.Message{m}})
		for _, end := range []trace.Stamp{{Clock: from, Time: m.Sent}, {Clock: to, Time: m.Received}} {
			k := &w.Clocks[end.Clock]
			k.First, k.Last = min(k.First, end.Time), max(k.Last, end.Time)
		}
	}
	var given []clock.Curve
	for _, m := range w.Maps {
		given = append(given, append(clock.Curve(nil), m.Mid...))
	}
	curves, ok := RestoreOrder(&w.Problem)
	for i := range given {
		if !reflect.DeepEqual(w.Maps[i].Mid, given[i]) {
			t.Fatalf("the estimate of clock %d was changed", i)
		}
	}
	if !ok {
		return
	}
	for i, c := range curves {
		if err := c.Check(); err != nil {
			t.Fatalf("clock %d: %v", i, err)
		}
		if w.Fixed[i] && !reflect.DeepEqual(c, given[i]) {
			t.Fatalf("clock %d must not move: %v", i, c)
		}
	}
	if worst := w.inverted(curves); worst > 0 {
		t.Fatalf("a message is inverted by %d ns more than its stamps leave open: %+v", worst, w.Problem)
	}
}
