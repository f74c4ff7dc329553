package live

import (
	"testing"
	"time"

	"meridian/clock"
	"meridian/order"
	"meridian/trace"
)

// doubtSink notes which places were said to be wrong, and what had come before.
type doubtSink struct {
	collector
	doubts []struct {
		host     int
		from, to clock.TimelineTime
		before   int
	}
}

func (c *doubtSink) Write(e *trace.TimelineEvent, n order.Note) error {
	if class := &c.s.rows.Classes[e.Class]; class.Name == DoubtEvent {
		x := struct {
			host     int
			from, to clock.TimelineTime
			before   int
		}{host: e.Host, before: len(c.taken)}
		for i, f := range class.Fields {
			switch f.Name {
			case "from_ns":
				x.from = clock.TimelineTime(e.Values[i].Int())
			case "to_ns":
				x.to = clock.TimelineTime(e.Values[i].Int())
			}
		}
		c.doubts = append(c.doubts, x)
		return nil
	}
	return c.collector.Write(e, n)
}

// TestPlacesThatWereShownWrongAreWithdrawn sets a clock, which is found some time later. Each event that was shown outside of its bounds lies in the interval of a
// later doubt of its host. Where no clock is set there are no doubts.
func TestPlacesThatWereShownWrongAreWithdrawn(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{0, 5 * time.Millisecond, time.Minute, -5 * time.Second} {
		const seconds = 9
		hosts := talk(seconds, 47)
		var exact []int64
		for i := range hosts[1].events {
			e := &hosts[1].events[i]
			exact = append(exact, invertB(int64(e.Event.Time)))
			if int64(e.Event.Time) > clockB(origin+4_000_000_000) {
				e.Event.Time, e.Time = clock.Add(e.Event.Time, int64(by)), clock.Add(e.Time, int64(by))
			}
		}
		sink, wrong, untold := doubtsOf(t, hosts[:], exact, seconds)
		if len(untold) > 0 {
			x := untold[0]
			t.Fatalf("by %v: event %d of host %d at %d is outside of its bounds, and no doubt says so: %+v", by, x.n, x.host, x.at, sink.doubts)
		}
		if by == 0 && len(sink.doubts) > 0 || by != 0 && (wrong == 0 || len(sink.doubts) == 0) {
			t.Errorf("by %v: %d wrong, doubts %+v", by, wrong, sink.doubts)
		}
	}
}

// doubtsOf follows two hosts in steps of 20 ms. exact has the true times of the second one's events. It returns what was
// taken, how many events are outside of their bounds, and those of them that lie in no doubt that was said before.
func doubtsOf(t *testing.T, hosts []host, exact []int64, seconds int) (sink *doubtSink, wrong int, untold []taken) {
	f := follow(t, hosts, Options{Doubts: true, Sorter: order.SorterOptions{Frame: 100 * time.Millisecond}})
	sink = &doubtSink{collector: collector{s: f.Session}}
	f.To(sink)
	for i := range seconds * 50 {
		share := float64(i+1) / float64(seconds*50)
		f.step(20*time.Millisecond, share, share)
	}
	f.finish()
	for i, x := range sink.taken {
		truth := int64(x.stamp)
		if hostNamed(f.Schema().Hosts[x.host]) == 1 {
			truth = exact[position(&hosts[1], x.n)]
		}
		if !x.bounded || int64(x.low) <= truth+1 && int64(x.high) >= truth-1 {
			continue
		}
		wrong++
		told := false
		for _, d := range sink.doubts {
			told = told || d.host == x.host && d.before > i && d.from <= x.at && x.at <= d.to
		}
		if !told {
			untold = append(untold, x)
		}
	}
	return sink, wrong, untold
}
