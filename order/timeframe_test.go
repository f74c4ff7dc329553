package order

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// All streams stand still for 40 ms, and one of them is 1 ms behind the other when they go on. The frame need not be longer than that.
func TestAStandstillOfAllStreamsDoesNotLengthenTheFrame(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, MostFrame: time.Second, HalveAfter: -1})
	var got emissions
	parts := play(t, s, &got, event(1, 0, 100*ms), 110*ms, event(2, 1, 99*ms), 150*ms)
	want(t, parts, []int{1}, []int{2})
	if n := got[1].Note; !n.Late || n.Behind != ms || n.Latency != 51*ms || s.Frame() != 11*ms {
		t.Errorf("%+v, frame %v", n, s.Frame())
	}
}

// The same for events that are read when they are due: only the first release of what is behind the late event counts, though others of its batch follow.
func TestAStandstillBeforeABatchThatIsPassedDoesNotLengthenTheFrame(t *testing.T) {
	s := NewSorter(SorterOptions{Frame: 10 * ms, MostFrame: time.Second, HalveAfter: -1})
	var got emissions
	play(t, s, &got, event(1, 0, 100*ms), 110*ms)
	for i := range 3 {
		late := event(2+i, 1, 99*ms+time.Duration(i)*100*time.Microsecond)
		if err := s.Pass(&late, clock.TimelineTime(150*ms), got.take); err != nil {
			t.Fatal(err)
		}
	}
	play(t, s, &got, 150*ms)
	if len(got) != 4 || !got[3].Late || s.Frame() != 11*ms {
		t.Errorf("%+v, frame %v", got, s.Frame())
	}
}

func TestWithTheFrameThatLateEventsNeededNoEventWouldHaveBeenLate(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		all := drawArrivals(t, true)
		first := time.Duration(rapid.IntRange(1, 10).Draw(t, "frame"))
		run := func(o SorterOptions) (got emissions, s *Sorter) {
			s = NewSorter(o)
			for _, a := range all {
				if err := s.Advance(a.at, got.take); err != nil {
					t.Fatal(err)
				}
				mustPush(t, s, a.event)
			}
			if err := s.Flush(got.take); err != nil {
				t.Fatal(err)
			}
			return got, s
		}
		_, s := run(SorterOptions{Frame: first, LeastFrame: 1, MostFrame: math.MaxInt64, HalveAfter: -1})
		got, _ := run(SorterOptions{Frame: s.Frame(), LeastFrame: 1, MostFrame: math.MaxInt64, HalveAfter: -1})
		if i := slices.IndexFunc(got, func(e emission) bool { return e.Late }); i >= 0 {
			t.Fatalf("with a frame of %v, to which it grew from %v, %+v", s.Frame(), first, got[i])
		}
	})
}
