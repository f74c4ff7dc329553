package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/order"
	"meridian/trace"
)

const hour = 3600_000_000_000

// TestAStampFarAheadMakesNoOtherEventLate puts one event an hour ahead, as a tracer writes it that is wrong, and keeps the others in order and in bounds.
func TestAStampFarAheadMakesNoOtherEventLate(t *testing.T) {
	t.Parallel()
	const seconds = 6
	hosts := talk(seconds, 23)
	k := slices.IndexFunc(hosts[1].events, func(e trace.TimelineEvent) bool {
		return int64(e.Event.Time) > clockB(origin+2_000_000_000) && e.Flow == 0
	})
	hosts[1].second = true
	wrong := &hosts[1].events[k]
	wrong.Stream = 1
	wrong.Event.Time += hour
	wrong.Time += hour
	s, got, warnings := followWarned(t, hosts, seconds, Options{Sorter: order.SorterOptions{Frame: 200 * time.Millisecond}}, 1)
	late, bounded := 0, 0
	for _, x := range got {
		if x.note.Late && x.stamp != wrong.Event.Time {
			late++
		}
		if x.bounded {
			bounded++
		}
	}
	if len(got) != len(hosts[0].events)+len(hosts[1].events) || got[len(got)-1].stamp != wrong.Event.Time {
		t.Errorf("%d events, the last at %d", len(got), got[len(got)-1].stamp)
	}
	if o := s.Outcome(); late > len(got)/50 || bounded < len(got)*3/4 || o.Ahead != 1 || len(o.Set) > 0 || !strings.Contains(strings.Join(warnings, "\n"), "ahead of all others") {
		t.Errorf("%d of %d events are late, %d bounded; %+v; warnings %q", late, len(got), bounded, o.Set, warnings)
	}
}

// TestAClockThatIsSetAnHourAheadIsToldAndMakesFewLate has messages that tell where the clock is, before the present follows it. Those that were on their way are late.
func TestAClockThatIsSetAnHourAheadIsToldAndMakesFewLate(t *testing.T) {
	t.Parallel()
	const seconds = 8
	hosts := talk(seconds, 31)
	for i := range hosts[1].events {
		if e := &hosts[1].events[i]; int64(e.Event.Time) > clockB(origin+4_000_000_000) {
			e.Event.Time, e.Time = clock.Add(e.Event.Time, hour), clock.Add(e.Time, hour)
		}
	}
	s, got, _ := followWarned(t, hosts, seconds, Options{Sorter: order.SorterOptions{Frame: 200 * time.Millisecond}}, 1)
	o := s.Outcome()
	if len(got) != len(hosts[0].events)+len(hosts[1].events) || o.Late > int64(len(got)/50) || len(o.Set) == 0 {
		t.Errorf("%d events, %d late by up to %v; set: %s", len(got), o.Late, o.GreatestLateness, o.SetText())
	}
}

// TestEventsBehindAnHourOfSilenceComeAtOnce has nothing recorded for an hour, or a clock that was set: all that follow are ahead.
func TestEventsBehindAnHourOfSilenceComeAtOnce(t *testing.T) {
	t.Parallel()
	for _, every := range []int{1, 200} { // many, and few that nothing follows
		hosts := talk(2, 29)
		h := hosts[0]
		h.events = nil
		for i, e := range hosts[0].events {
			if e.Flow != 0 || i%every != 0 {
				continue
			}
			if int64(e.Event.Time) > origin+1_000_000_000 {
				e.Event.Time, e.Time = clock.Add(e.Event.Time, hour), clock.Add(e.Time, hour)
			}
			h.events = append(h.events, e)
		}
		f := follow(t, []host{h}, Options{})
		for range 150 {
			f.step(20*time.Millisecond, 1)
		}
		late := slices.ContainsFunc(f.sink.taken, func(x taken) bool { return x.note.Late })
		if len(f.sink.taken) != len(h.events) || late || f.Outcome().Ahead > 0 {
			t.Errorf("%d of %d events came, late %v, %d ahead", len(f.sink.taken), len(h.events), late, f.Outcome().Ahead)
		}
		f.finish()
	}
}

// TestAnHourOfSilenceInWhatWasRecordedBeforeIsAlignedAcross has two hosts of which nothing was recorded for an hour.
func TestAnHourOfSilenceInWhatWasRecordedBeforeIsAlignedAcross(t *testing.T) {
	t.Parallel()
	const seconds = 12
	hosts := talk(seconds, 37)
	for i := range hosts {
		for k := range hosts[i].events {
			e := &hosts[i].events[k]
			at := int64(e.Event.Time)
			if i == 1 {
				at = invertB(at)
			}
			if at < origin+6_000_000_000 {
				continue
			}
			at += hour
			if i == 1 {
				at = clockB(at)
			}
			e.Event.Time, e.Time = clock.HostTime(at), clock.TimelineTime(at)
		}
	}
	f := follow(t, hosts[:], Options{Sorter: order.SorterOptions{Frame: 100 * time.Millisecond}})
	f.step(0, 1, 1)
	f.finish()
	bounded := 0
	for _, x := range f.sink.taken {
		truth := int64(x.stamp)
		if f.Schema().Hosts[x.host] == "b" {
			truth = invertB(truth)
		}
		if !x.bounded {
			continue
		}
		if bounded++; int64(x.low) > truth+1 || int64(x.high) < truth-1 {
			t.Fatalf("the event at %d: truth %d is outside of %d to %d", x.stamp, truth, x.low, x.high)
		}
	}
	if o := f.Outcome(); bounded < len(f.sink.taken)*6/10 || o.Late > int64(len(f.sink.taken)/50) || o.Ahead > 0 || len(o.Set) > 0 {
		t.Errorf("%d of %d events are bounded, %d late, %d ahead; set: %s", bounded, len(f.sink.taken), o.Late, o.Ahead, o.SetText())
	}
}

// TestAHostFarAheadMovesNoPresentWhileOthersAreNot has a clock that was set an hour ahead, longer than its stamps wait to be confirmed. With the others
// silent as well, the present follows.
func TestAHostFarAheadMovesNoPresentWhileOthersAreNot(t *testing.T) {
	t.Parallel()
	const second = 1_000_000_000
	l := new(lane)
	for at := int64(0); at < 6*second; at += second / 10 {
		l.take(origin+at, at, false)
		l.take(origin+at+hour, at, false)
		if now := int64(l.now(at)); now != origin+at {
			t.Fatalf("after %d ns the present is %d ns ahead", at, now-origin-at)
		}
	}
	last := int64(6*second - second/10)
	for at := last; at <= last+alignTime; at += second / 10 {
		l.take(origin+at+hour, at, false)
		if ahead := int64(l.now(at))-origin-at > second; ahead != (at == last+alignTime) {
			t.Fatalf("%d ns after the others the present follows: %v", at-last, ahead)
		}
	}
	behind := new(lane)
	behind.take(origin, 0, true)
	if behind.take(origin+hour, 0, true); int64(behind.now(0)) != origin+hour {
		t.Error("what was recorded before waits")
	}
}
