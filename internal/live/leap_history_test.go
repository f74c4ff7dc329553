package live

import (
	"fmt"
	"testing"
	"time"

	"meridian/clock"
	"meridian/order"
	"meridian/trace"
)

// TestAClockThatWasSetFarAheadInHistoryIsTold sets a clock ahead by more than keys of tags live, amid events that were recorded before. Messages are sparse: none
// of the first events behind the step is one that tells. What is recorded after the step is shorter than the step, or longer.
func TestAClockThatWasSetFarAheadInHistoryIsTold(t *testing.T) {
	const second = int64(time.Second)
	for by, afters := range map[int64][]int64{70: {6, 120}, 97: {6, 120}, 200: {6, 120, 300}, 3600: {6, 120}} {
		for _, after := range afters {
			t.Run(fmt.Sprintf("by %d s, %d s after it", by, after), func(t *testing.T) {
				t.Parallel()
				const at = 20
				hosts := [2]host{{name: "a"}, {name: "b"}}
				add := func(n int, ns int64, flow uint64, role trace.Role) {
					if n == 1 && ns >= at*second {
						ns += by * second
					}
					e := trace.Event{Time: clock.HostTime(origin + ns), Flow: flow, Role: role}
					if flow != 0 {
						e.Class = 1
					}
					hosts[n].events = append(hosts[n].events, trace.TimelineEvent{Event: e, Time: clock.TimelineTime(e.Time), Map: -1, Values: []trace.Value{trace.OfInt(ns)}})
				}
				for ns, k := int64(0), uint64(1); ns < (at+after)*second; ns, k = ns+second/50, k+1 {
					add(0, ns, 0, trace.NoRole)
					add(1, ns, 0, trace.NoRole)
					if k%25 == 0 { // an exchange each half second
						add(0, ns+1_000_000, 2*k, trace.Sends)
						add(1, ns+1_050_000, 2*k, trace.Receives)
						add(1, ns+1_100_000, 2*k+1, trace.Sends)
						add(0, ns+1_150_000, 2*k+1, trace.Receives)
					}
				}
				o := Options{Sorter: order.SorterOptions{Frame: 100 * time.Millisecond}, Doubts: true}
				o.Align.Align.Reference = "a"
				f := follow(t, hosts[:], o)
				f.step(0, 1, 1)
				for range 20 {
					f.step(500*time.Millisecond, 1, 1)
				}
				f.finish()
				if out := f.Session.Outcome(); len(out.Set) == 0 {
					t.Errorf("nothing was told: %+v, warnings %q", out, f.warnings.Lines())
				}
			})
		}
	}
}
