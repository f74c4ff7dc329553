package evaluate

import (
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/pipeline"
	"meridian/match"
	"meridian/trace"
)

func TestFilesOfPlotsStayInTheirDirectoryAndApart(t *testing.T) {
	taken := make(map[string]bool)
	for _, c := range [][2]string{
		{"host-web", "host-web"}, {"host-WEB", "host-WEB-2"}, {"host-../../etc/passwd", "host-.._.._etc_passwd"},
		{"host-a/b", "host-a_b"}, {"host-a b", "host-a_b-2"}, {"host-\x00", "host-_"},
	} {
		if got := fileName(c[0], taken); got != c[1] {
			t.Errorf("%q becomes %q, not %q", c[0], got, c[1])
		}
	}
}

func TestBroadcastsAreDividedBetweenTimelines(t *testing.T) {
	stamps := func(clocks ...int) trace.Broadcast {
		var b trace.Broadcast
		for _, n := range clocks {
			b.Receptions = append(b.Receptions, trace.Stamp{Clock: n, Time: clock.HostTime(n)})
		}
		return b
	}
	got := divideBroadcasts([]trace.Broadcast{stamps(0, 1, 2, 3), stamps(2)}, []int{0, 1, 0, 1})
	want := []trace.Broadcast{stamps(0, 2), stamps(1, 3), stamps(2)}
	if !slices.EqualFunc(got, want, func(a, b trace.Broadcast) bool { return slices.Equal(a.Receptions, b.Receptions) }) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestBroadcastsOfTwoReceiversAreDrawnWithTheirSign(t *testing.T) {
	p := &plotter{Matched: &pipeline.Matched{Result: &match.Result{Problem: trace.Problem{
		Clocks: []trace.Clock{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Broadcasts: []trace.Broadcast{
			{Receptions: []trace.Stamp{{Clock: 1, Time: 100}, {Clock: 2, Time: 107}}},
			{Receptions: []trace.Stamp{{Clock: 2, Time: 200}, {Clock: 1, Time: 205}}},
			{Receptions: []trace.Stamp{{Clock: 1, Time: 300}}},
		},
	}}}}
	p.estimate = &estimate{maps: []clock.Map{clock.Identity(), clock.Identity(), clock.Identity()}, component: []int{0, 0, 0}}
	got := p.broadcastPlot()
	if got == nil || !slices.Equal(got.Delay, []int64{7, -5}) || !slices.Equal(got.At, []clock.TimelineTime{100, 200}) {
		t.Fatalf("%+v", got)
	}
	more := &p.Broadcasts[2]
	more.Receptions = append(more.Receptions, trace.Stamp{Clock: 0, Time: 310})
	if got := p.broadcastPlot(); !slices.Equal(got.Delay, []int64{7, 5, 10}) {
		t.Errorf("of three receivers %v", got.Delay)
	}
}
