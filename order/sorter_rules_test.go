package order

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"meridian/clock"
	"meridian/trace"
)

const ms = time.Millisecond

// play drives a Sorter: steps are events, pushed, and instants, to which it advances. It returns the numbers of what was emitted,
// in parts that end with each advance.
func play(t *testing.T, s *Sorter, got *emissions, steps ...any) (parts [][]int) {
	t.Helper()
	for _, step := range steps {
		switch x := step.(type) {
		case trace.TimelineEvent:
			mustPush(t, s, x)
		case time.Duration:
			from := len(*got)
			if err := s.Advance(clock.TimelineTime(x), got.take); err != nil {
				t.Fatal(err)
			}
			part := []int{}
			for i := from; i < len(*got); i++ {
				part = append(part, number(&(*got)[i].TimelineEvent))
			}
			parts = append(parts, part)
		}
	}
	return parts
}

// event returns a numbered event of a stream, on host stream, at an instant of the timeline.
func event(number, stream int, at time.Duration) trace.TimelineEvent {
	return numbered(number, stream, stream, clock.TimelineTime(at))
}

// end returns an event that is an end of a message.
func end(number, stream int, at time.Duration, role trace.Role, flow uint64) trace.TimelineEvent {
	e := event(number, stream, at)
	e.Role, e.Flow = role, flow
	return e
}

func want(t *testing.T, parts [][]int, want ...[]int) {
	t.Helper()
	if !slices.EqualFunc(parts, want, slices.Equal) {
		t.Fatalf("emitted %v, want %v", parts, want)
	}
}

func TestAnEventIsDueWhenTheFrameHasPassed(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms})
	var got emissions
	parts := play(t, s, &got, event(1, 0, 100*ms), event(2, 1, 95*ms), 105*ms-1, 105*ms, 110*ms-1, 110*ms)
	want(t, parts, nil, []int{2}, nil, []int{1})
	if n := got[1].Note; n != (Note{Latency: 10 * ms}) {
		t.Errorf("%+v", n)
	}
}

func TestTheFrameGrowsToWhatALateEventNeededAndIsHalvedAfterwards(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, LeastFrame: 4 * ms, MostFrame: 50 * ms, HalveAfter: time.Second})
	var got emissions
	play(t, s, &got, event(1, 0, 100*ms), 110*ms, event(2, 1, 95*ms), event(3, 0, 101*ms), 120*ms)
	if len(got) != 3 || number(&got[1].TimelineEvent) != 2 || got[1].Note != (Note{Latency: 25 * ms, Late: true, Behind: 5 * ms}) {
		t.Fatalf("%+v", got)
	}
	frame := func(at, want time.Duration) {
		t.Helper()
		play(t, s, &got, at)
		if f := s.Stats().Frame; f != want {
			t.Errorf("at %v the frame is %v, want %v", at, f, want)
		}
	}
	frame(120*ms, 15*ms) // it came 25 ms after its instant, but the one behind it was released 15 ms after that
	frame(1110*ms-1, 15*ms)
	frame(1110*ms, 7500*time.Microsecond)
	frame(2110*ms, 4*ms)
	frame(99*time.Second, 4*ms)
	play(t, s, &got, event(4, 0, 98*time.Second), 99*time.Second, event(5, 1, 97*time.Second))
	frame(99*time.Second, 50*ms) // at most
	st := s.Stats()
	if st.Late != 2 || !slices.Equal(st.LateByHost, []int64{0, 2}) || !slices.Equal(st.LateStreams, []LateStream{{1, 1, 2, time.Second}}) || st.GreatestLateness != time.Second {
		t.Errorf("%+v", st)
	}
}

func TestAFrameThatIsNeverHalved(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, HalveAfter: -1})
	var got emissions
	play(t, s, &got, 0*ms, time.Hour)
	if f := s.Stats().Frame; f != 10*ms {
		t.Errorf("the frame is %v", f)
	}
}

func TestAConsequenceThatIsDueWaitsForItsReasonAndItsStreamGoesOn(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, ReasonTimeout: 100 * ms})
	var got emissions
	parts := play(t, s, &got, end(1, 0, 100*ms, trace.Receives, 7), event(2, 0, 101*ms), 115*ms, end(3, 1, 99*ms, trace.Sends, 7), 120*ms)
	want(t, parts, []int{2}, []int{3, 1})
	if !got[1].Late || got[1].Behind != 2*ms || !got[2].Late || got[2].Behind != ms || got[2].Moved != 0 || got[2].TimedOut {
		t.Errorf("%+v, %+v", got[1].Note, got[2].Note)
	}
}

// The repaired instant is after those that its stream showed, but the order of the stream is not kept.
func TestAWaitingConsequenceIsLateWhenItsStreamWentOnThoughItIsMoved(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, ReasonTimeout: 100 * ms})
	var got emissions
	parts := play(t, s, &got, end(1, 0, 100*ms, trace.Receives, 7), event(2, 0, 101*ms), 115*ms, end(3, 1, 110*ms, trace.Sends, 7), 120*ms)
	want(t, parts, []int{2}, []int{3, 1})
	if n := got[2].Note; !n.Late || n.Behind != ms || !n.Repaired || n.Moved != 10*ms {
		t.Errorf("%+v", n)
	}
}

func TestAConsequenceWaitsForItsReasonNoLongerThanTheTimeout(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, ReasonTimeout: 100 * ms})
	var got emissions
	parts := play(t, s, &got, end(1, 0, 100*ms, trace.Receives, 7), 112*ms, 212*ms-1, 212*ms, end(2, 1, 211*ms, trace.Sends, 7), 300*ms)
	want(t, parts, nil, nil, []int{1}, []int{2})
	if n := got[0].Note; n != (Note{Latency: 112 * ms, TimedOut: true}) || s.Stats().TimedOut != 1 {
		t.Errorf("%+v", n)
	}
}

func TestATachyonIsMovedBehindItsReasonAndItsStreamWithIt(t *testing.T) {
	var asked [][2]int
	s := NewSorter(SorterOptions{Frame: 10 * ms, MinDelay: ms, Ask: func(from, to int) { asked = append(asked, [2]int{from, to}) }})
	var got emissions
	parts := play(t, s, &got, end(1, 0, 100*ms, trace.Receives, 7), event(2, 0, 101*ms), event(3, 0, 109*ms), event(4, 2, 103*ms), end(5, 1, 104*ms, trace.Sends, 7), 130*ms)
	want(t, parts, []int{4, 5, 1, 2, 3})
	for i, w := range []Note{{Latency: 30 * ms, Moved: 5 * ms, Repaired: true, Violation: true}, {Latency: 29 * ms, Moved: 4 * ms}, {Latency: 21 * ms}} {
		if got[i+2].Note != w {
			t.Errorf("event %d: %+v, want %+v", i+1, got[i+2].Note, w)
		}
	}
	if got[2].Time != clock.TimelineTime(105*ms) || !slices.Equal(asked, [][2]int{{1, 0}}) {
		t.Errorf("shown at %v; asked %v", got[2].Time, asked)
	}
	st := s.Stats()
	if st.Repaired != 1 || st.Violations != 1 || st.Moved != 1 || st.GreatestRepair != 5*ms || st.Asked != 1 {
		t.Errorf("%+v", st)
	}
	if x := st.Excluded; x == nil || *x != (ExcludedMessage{From: 1, To: 0, Sent: clock.TimelineTime(104 * ms), Received: clock.TimelineTime(100 * ms), By: 5*ms - 10}) {
		t.Errorf("excluded: %+v", x)
	}
}

func TestATachyonIsAViolationOnlyWhereTheBoundsExcludeIt(t *testing.T) {
	for _, test := range []struct {
		name             string
		high, low        clock.TimelineTime // of the consequence, of the reason
		bounded, compare bool
		want             bool
	}{
		{"apart", 10, 10, true, true, true},
		{"an instant in common", 11, 10, true, true, false},
		{"unbounded", 10, 10, false, true, false},
		{"incomparable", 10, 10, true, false, false},
	} {
		s := NewSorter(SorterOptions{Frame: 100, MinDelay: 1, Comparable: func(a, b int) bool { return test.compare }})
		reason, consequence := end(1, 0, 20, trace.Sends, 7), end(2, 1, 5, trace.Receives, 7)
		reason.Low, reason.High = test.low, 30
		consequence.Low, consequence.High, consequence.Bounded = 0, test.high, test.bounded
		var got emissions
		play(t, s, &got, reason, consequence, 200*time.Nanosecond)
		if len(got) != 2 || !got[1].Repaired || got[1].Moved != 16 || got[1].Violation != test.want {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

func TestASorterAsksOnceInAWhileForTwoHosts(t *testing.T) {
	asked := map[[2]int]int{}
	s := NewSorter(SorterOptions{Frame: ms, AskEvery: time.Second, Ask: func(from, to int) { asked[[2]int{from, to}]++ }})
	var got emissions
	for i := range 100 { // 2.97 s
		at := time.Duration(i) * 30 * ms
		flow := uint64(3*i + 1)
		play(t, s, &got, end(0, 0, at+1, trace.Sends, flow), end(0, 1, at, trace.Receives, flow), end(0, 1, at, trace.Sends, flow+1), end(0, 0, at, trace.Receives, flow+1),
			end(0, 2, at+1, trace.Sends, flow+2), end(0, 2, at, trace.Receives, flow+2), at+2*ms)
	}
	if !reflect.DeepEqual(asked, map[[2]int]int{{0, 1}: 3}) {
		t.Errorf("asked %v", asked)
	}
}

// Each of the two streams receives what the other sends afterwards: no order keeps both.
func TestStreamsThatWaitForEachOtherGoOn(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, ReasonTimeout: 100 * ms})
	var got emissions
	parts := play(t, s, &got, end(1, 0, 100*ms, trace.Receives, 7), end(2, 0, 102*ms, trace.Sends, 8), end(3, 1, 101*ms, trace.Receives, 8), end(4, 1, 103*ms, trace.Sends, 7),
		end(5, 2, 100*ms, trace.Receives, 9), end(6, 2, 101*ms, trace.Sends, 9), 130*ms)
	if len(parts[0]) != 6 || s.Stats().TimedOut != 0 || s.Stats().Repaired != 3 {
		t.Errorf("%v, %+v", parts, s.Stats())
	}
}

func TestAMapThatChangesMovesEventsBehindTheirPredecessors(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, MostFrame: 20 * ms})
	remapped := func(number int, stamp, at time.Duration) trace.TimelineEvent {
		e := event(number, 0, at)
		e.Event.Time = clock.HostTime(stamp)
		return e
	}
	var got emissions
	parts := play(t, s, &got, event(1, 0, 100*ms), remapped(2, 101*ms, 98*ms), 112*ms, remapped(3, 102*ms, 99*ms), 113*ms, remapped(4, 103*ms, 79*ms), 114*ms)
	want(t, parts, []int{1, 2}, []int{3}, []int{4}) // the last would have to be moved by more than the longest frame
	for i, w := range []Note{{Latency: 12 * ms}, {Latency: 14 * ms, Moved: 2 * ms}, {Latency: 14 * ms, Moved: ms}, {Latency: 35 * ms, Late: true, Behind: 21 * ms}} {
		if got[i].Note != w {
			t.Errorf("event %d: %+v, want %+v", i+1, got[i].Note, w)
		}
	}
}

func TestARestartedHostBeginsWithEarlierStamps(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms})
	again := event(2, 0, 101*ms)
	again.Event.Time = 5
	back := event(3, 0, 100*ms) // by a newer map
	back.Event.Time = 6
	var got emissions
	want(t, play(t, s, &got, event(1, 0, 100*ms), again, back, 120*ms), []int{1, 2, 3})
	if got[2].Moved != ms {
		t.Errorf("%+v", got[2].Note)
	}
}

func TestAFullSorterForcesTheOldest(t *testing.T) {
	for name, o := range map[string]SorterOptions{"events": {MostEvents: 16}, "bytes": {MostBytes: 16 * (slotBytes + cellBytes)}} {
		s := NewSorter(o)
		for i := range 16 {
			mustPush(t, s, event(i+1, i%3, time.Duration(i)))
		}
		extra := event(17, 0, 16)
		if err := s.Push(&extra); err != ErrSorterFull {
			t.Fatalf("%s: %v", name, err)
		}
		var got emissions
		want(t, play(t, s, &got, time.Duration(20), extra, time.Duration(21)), []int{1, 2}, nil)
		if !got[0].Forced || s.Stats().Forced != 2 || s.Stats().Held != 15 {
			t.Errorf("%s: %+v", name, s.Stats())
		}
		// What was forced makes others late, but the frame was not too short.
		play(t, s, &got, event(18, 2, 0), 21*time.Nanosecond)
		if len(got) != 3 || !got[2].Late || s.Stats().Frame != DefaultFrame {
			t.Errorf("%s: %+v", name, s.Stats())
		}
	}
}

func TestAFullSorterOfWaitingConsequencesEndsTheirWaiting(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 1, MostEvents: 8})
	var got emissions
	for i := range 8 {
		play(t, s, &got, end(i, 0, time.Duration(i), trace.Receives, uint64(i+1)), time.Duration(i+5))
	}
	e := event(8, 0, 8)
	if err := s.Push(&e); err != ErrSorterFull {
		t.Fatal(err)
	}
	want(t, play(t, s, &got, time.Duration(12)), []int{0})
	if !got[0].TimedOut {
		t.Errorf("%+v", got[0].Note)
	}
}

func TestASorterRefusesWhatCannotBeOrdered(t *testing.T) {
	s := NewSorter(SorterOptions{MostBytes: 1000})
	for name, change := range map[string]func(*trace.TimelineEvent){
		"host": func(e *trace.TimelineEvent) { e.Host = -1 }, "many hosts": func(e *trace.TimelineEvent) { e.Host = math.MaxInt32 }, "stream": func(e *trace.TimelineEvent) { e.Stream = -1 },
		"time": func(e *trace.TimelineEvent) { e.Time = clock.Limit }, "size": func(e *trace.TimelineEvent) { e.Values = []trace.Value{trace.OfBytes(make([]byte, 1000))} },
	} {
		e := event(1, 0, 0)
		change(&e)
		if err := s.Push(&e); err == nil || err == ErrSorterFull {
			t.Errorf("%s: %v", name, err)
		}
	}
	if st := s.Stats(); st.Held != 0 {
		t.Errorf("%+v", st)
	}
}

func TestAnErrorOfEmitEndsTheCallAndNothingIsLost(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 1})
	stop := errors.New("stop")
	var got emissions
	for i := range 10 {
		mustPush(t, s, event(i, i%2, time.Duration(i)))
	}
	failing := func(r *trace.TimelineEvent, n Note) error {
		_ = got.take(r, n)
		return stop
	}
	for i := range 5 {
		if err := s.Advance(5, failing); err != stop || len(got) != i+1 {
			t.Fatalf("%v after %d", err, len(got))
		}
	}
	for i := range 5 {
		if err := s.Flush(failing); err != stop || len(got) != i+6 {
			t.Fatalf("%v after %d", err, len(got))
		}
	}
	if err := s.Flush(failing); err != nil {
		t.Fatal(err)
	}
}

func TestTheTimeoutOfOneConsequenceEndsNoOther(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, ReasonTimeout: 100 * ms})
	var got emissions
	parts := play(t, s, &got, end(1, 0, 90*ms, trace.Receives, 7), 100*ms, end(2, 1, 80*ms, trace.Sends, 7), 110*ms, end(3, 0, 120*ms, trace.Receives, 8), 150*ms, 200*ms, 250*ms-1, 250*ms)
	want(t, parts, nil, []int{2, 1}, nil, nil, nil, []int{3})
}

func TestAReasonThatHasComeIsSeenBeforeTheTimeout(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, ReasonTimeout: 100 * ms})
	var got emissions
	parts := play(t, s, &got, end(1, 0, 100*ms, trace.Receives, 7), 110*ms, end(2, 1, 99*ms, trace.Sends, 7), 900*ms)
	want(t, parts, nil, []int{2, 1})
	if got[1].TimedOut {
		t.Errorf("%+v", got[1].Note)
	}
}

// A wrong map puts one event an hour ahead. Those behind it do not wait for it, and it is late when it comes.
func TestAnEventFarAheadHoldsUpNoOther(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, MostFrame: 20 * ms, HalveAfter: -1})
	ahead := event(1, 0, time.Hour)
	ahead.Event.Time = clock.HostTime(99 * ms)
	var got emissions
	parts := play(t, s, &got, ahead, event(2, 0, 100*ms), event(3, 0, 101*ms), 111*ms, time.Hour+10*ms)
	want(t, parts, []int{2, 3}, []int{1})
	if got[0].Late || got[1].Late || !got[2].Late || got[2].Behind != 0 || s.Frame() != 10*ms {
		t.Errorf("%+v, frame %v", got, s.Frame())
	}
}

func TestAStrayMakesNoConsequenceLate(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms})
	var got emissions
	parts := play(t, s, &got, end(1, 0, 100*ms, trace.Receives, 7), 110*ms, event(2, 0, 99*ms), 110*ms, end(3, 1, 99500*time.Microsecond, trace.Sends, 7), 110*ms)
	want(t, parts, nil, []int{2}, []int{3, 1})
	if got[2].Late {
		t.Errorf("%+v", got[2].Note)
	}
}

func TestThereIsRoomForAGreatEventAfterItWasRefused(t *testing.T) {
	s := NewSorter(SorterOptions{MostBytes: 10_000})
	great := event(100, 0, 100)
	great.Values = append(great.Values, trace.OfBytes(make([]byte, 8000)))
	for i := range 10 {
		mustPush(t, s, event(i, 0, time.Duration(i)))
	}
	if err := s.Push(&great); err != ErrSorterFull {
		t.Fatal(err)
	}
	var got emissions
	play(t, s, &got, time.Duration(0), great)
	if len(got) == 0 || len(got) == 10 || !got[0].Forced {
		t.Errorf("%+v", got)
	}
}

func TestDueIsTheNextInstantAtWhichSomethingIsEmitted(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, ReasonTimeout: 100 * ms})
	due := func(want time.Duration, ok bool) {
		t.Helper()
		if at, is := s.Due(); is != ok || ok && at != clock.TimelineTime(want) {
			t.Errorf("due at %v, %v; want %v", time.Duration(at), is, want)
		}
	}
	var got emissions
	due(0, false)
	play(t, s, &got, end(1, 0, 100*ms, trace.Receives, 7), event(2, 1, 104*ms))
	due(110*ms, true)
	play(t, s, &got, 111*ms)
	due(114*ms, true)
	play(t, s, &got, 115*ms)
	due(211*ms, true)
	play(t, s, &got, event(3, 1, 102*ms))
	due(115*ms, true)
	if s.Held() != 2 {
		t.Errorf("%d are held", s.Held())
	}
}

func TestTheLimitOfAskingHoldsForAnyNumberOfHosts(t *testing.T) {
	calls := map[[2]int]int{}
	a := newAskLimit(&SorterOptions{AskEvery: 100, Ask: func(from, to int) { calls[[2]int{from, to}]++ }})
	const hosts = 5 * minAsked
	ask := func(now clock.TimelineTime) {
		for i := range int32(hosts) {
			a.ask(i, i+1, now)
		}
	}
	ask(0)
	ask(99)
	if n := len(calls); n != hosts || calls[[2]int{7, 8}] != 1 || calls[[2]int{hosts - 1, hosts}] != 1 {
		t.Fatalf("%d pairs", n)
	}
	ask(100)
	if calls[[2]int{7, 8}] != 2 {
		t.Error("not asked again")
	}
	for now := clock.TimelineTime(1000); now < 100_000; now++ { // new pairs, long after
		a.ask(int32(now), 0, now)
	}
	if n := len(a.asked); n > 2*hosts {
		t.Errorf("%d pairs are kept", n)
	}
}

func TestOptionsHaveDefaults(t *testing.T) {
	const s = time.Second
	for i, test := range []struct{ given, want SorterOptions }{
		{SorterOptions{}, SorterOptions{Frame: 20 * ms, LeastFrame: ms, MostFrame: s, HalveAfter: 10 * s, ReasonTimeout: s, AskEvery: s, MostEvents: 1 << 20, MostBytes: 256 << 20}},
		{SorterOptions{Frame: 100, MinDelay: -1, HalveAfter: -1}, SorterOptions{Frame: 100, LeastFrame: 100, MostFrame: s, HalveAfter: -1, ReasonTimeout: s, AskEvery: s, MostEvents: 1 << 20, MostBytes: 256 << 20}},
		{SorterOptions{Frame: 2 * s, LeastFrame: 3 * s, MostEvents: math.MaxInt, MostBytes: math.MaxInt},
			SorterOptions{Frame: 2 * s, LeastFrame: 2 * s, MostFrame: 2 * s, HalveAfter: 10 * s, ReasonTimeout: s, AskEvery: s, MostEvents: math.MaxInt32 - slotsPerChunk, MostBytes: (math.MaxInt32 - cellsPerChunk) * cellBytes}},
		{SorterOptions{Frame: -1, LeastFrame: -1, MostFrame: -1}, SorterOptions{HalveAfter: 10 * s, ReasonTimeout: s, AskEvery: s, MostEvents: 1 << 20, MostBytes: 256 << 20}},
	} {
		if got := test.given.withDefaults(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%d: %+v, want %+v", i, got, test.want)
		}
	}
}

func TestAReasonIsRememberedForTheTimeoutAndTheLongestFrame(t *testing.T) {
	for _, test := range []struct {
		came     time.Duration
		timedOut bool
	}{{160*ms - 1, false}, {160 * ms, true}} {
		s := NewSorter(SorterOptions{Frame: 10 * ms, MostFrame: 20 * ms, ReasonTimeout: 30 * ms})
		var got emissions
		// It is emitted at 110 ms.
		play(t, s, &got, end(1, 0, 100*ms, trace.Sends, 7), 110*ms, test.came, end(2, 1, 105*ms, trace.Receives, 7), test.came, time.Second)
		if len(got) != 2 || got[1].TimedOut != test.timedOut {
			t.Errorf("%v: %+v", test.came, got)
		}
	}
}
