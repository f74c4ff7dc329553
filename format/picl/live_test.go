package picl

import (
	"bytes"
	"testing"
	"time"

	"meridian/clock"
	"meridian/trace"
)

const origin = clock.TimelineTime(1_700_000_000_000_000_000)

func live(t *testing.T, o Options) (*Writer, *bytes.Buffer) {
	t.Helper()
	s := &trace.Schema{Hosts: []string{"web"}, Streams: []trace.Stream{{Host: "web", Name: "row", Kind: trace.Thread}}, Classes: []trace.Class{{Name: "e"}}}
	var out bytes.Buffer
	o.Live, o.Origin = true, origin
	w, err := NewWriter(&out, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return w, &out
}

// put writes events of the one class; only Phase, Slice, Flow and Role are given.
func put(t *testing.T, w *Writer, at clock.TimelineTime, e trace.Event) {
	t.Helper()
	if err := w.Write(&trace.TimelineEvent{Event: e, Time: origin + at, Map: -1}); err != nil {
		t.Fatal(err)
	}
}

func TestLiveRecordsAreInOrderAndLateOnesAreCounted(t *testing.T) {
	w, out := live(t, Options{})
	put(t, w, 100, trace.Event{Phase: trace.Begin, Slice: 1})
	put(t, w, 300, trace.Event{})
	put(t, w, 200, trace.Event{})                                // late, has no place
	put(t, w, 250, trace.Event{Phase: trace.End, Slice: 1})      // late, but its slice has begun
	put(t, w, 260, trace.Event{Phase: trace.End, Slice: 2})      // late, and nothing began
	put(t, w, 270, trace.Event{Phase: trace.Begin, Slice: 3})    // late
	put(t, w, 400, trace.Event{Phase: trace.Instant, Slice: 77}) // in order again
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []int64
	var kinds []int
	last := int64(0)
	for _, x := range parse(t, out.String()) {
		if ns := x.ns.Int64(); ns < last {
			t.Errorf("a record of %d ns behind one of %d ns", ns, last)
		} else {
			last = ns
		}
		if x.event > 0 {
			got, kinds = append(got, x.ns.Int64()), append(kinds, x.kind)
		}
	}
	want, wantKinds := []int64{100, 300, 300, 400}, []int{-3, -2, -4, -2}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] || kinds[i] != wantKinds[i] {
			t.Fatalf("records at %v of kinds %v, not %v, %v", got, kinds, want, wantKinds)
		}
	}
	if w.Late() != 4 {
		t.Errorf("%d late, not 4", w.Late())
	}
}

func TestLiveSendsWaitForTheirArrivalsForATime(t *testing.T) {
	w, out := live(t, Options{Wait: time.Microsecond})
	flush := func(now clock.TimelineTime) int {
		t.Helper()
		if err := w.Advance(origin + now); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, x := range parse(t, out.String()) {
			if x.event == -21 && x.kind == -3 {
				n++
			}
		}
		return n
	}
	put(t, w, 0, trace.Event{Flow: 7, Role: trace.Sends})
	if n := flush(1000); n != 0 {
		t.Errorf("%d sends are out after what they wait", n)
	}
	put(t, w, 900, trace.Event{Flow: 8, Role: trace.Sends})
	put(t, w, 1000, trace.Event{Flow: 8, Role: trace.Receives})
	if n := flush(1001); n != 2 {
		t.Errorf("%d sends are out, not 2: one waited long enough, the other has its arrival", n)
	}
}
