package index

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/trace"
)

// fataler is a test of any kind.
type fataler interface{ Fatal(args ...any) }

// timeline is records and what they refer to.
type timeline struct {
	schema  *trace.Schema
	records []trace.TimelineEvent
}

// drawTimeline draws a timeline with all irregularities: ends without begins, duplicate numbers of slices, unmatched ends of
// messages, late events, counters without numbers, rows without events.
func drawTimeline(t *rapid.T, most int) *timeline {
	l, rows := drawSchema(t)
	x := &timeline{schema: l}
	at := rapid.SampledFrom([]int64{0, 1_700_000_000_000_000_000, -5e9, -clock.Limit + 1}).Draw(t, "origin")
	step := rapid.SampledFrom([]int64{0, 3, 1000, 1e9, 1 << 51}).Draw(t, "step")
	n := rapid.SampledFrom([]int{most, most / 2, most / 10, most / 100}).Draw(t, "records")
	n -= rapid.IntRange(0, n/2).Draw(t, "fewer")
	seed := rapid.Uint64().Draw(t, "seed")
	r := random(seed)
	phases := [][]trace.Phase{{trace.Instant}, {trace.Begin, trace.End}, {trace.Counter}, {trace.Instant, trace.Begin, trace.End, trace.Counter}}
	phase := phases[rapid.IntRange(0, 3).Draw(t, "phases")]
	flows := rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "flows")
	// Times that lie on borders of bins; all that happens at the end happening nearly at once; slices that do not overlap.
	quantum := rapid.SampledFrom([]int64{1, 1, 512}).Draw(t, "quantum")
	burst := rapid.SampledFrom([]int{n, n, n / 2}).Draw(t, "burst")
	shallow := rapid.Bool().Draw(t, "shallow")
	var begun [8]bool
	for i := range n {
		if i == burst {
			step = min(step, 3)
		}
		at = clock.Add(at, r.n(step+1)/quantum*quantum)
		stream := int(r.n(int64(len(l.Streams))))
		host := 0
		if stream < rows {
			host = stream % len(l.Hosts)
		}
		e := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at - r.n(1000)), Stream: stream, Class: int(r.n(6)), Phase: phase[r.n(int64(len(phase)))]},
			Host: host, Map: host, Time: clock.TimelineTime(at), Bounded: r.n(4) > 0}
		if r.n(50) == 0 || l.Streams[stream].Kind == trace.Messages && r.n(2) == 0 {
			e.Time -= clock.TimelineTime(r.n(step + 1))
		}
		if r.n(3) == 0 {
			e.Map = -1
		}
		e.Low, e.High = e.Time, e.Time
		if e.Bounded {
			e.Low, e.High = clock.TimelineTime(clock.Sub(e.Time, clock.TimelineTime(r.n(step+100)))), clock.Add(e.Time, r.n(step+100))
		}
		if r.n(2) == 0 {
			e.Slice = uint64(r.n(5))
		}
		if slice := e.Phase == trace.Begin || e.Phase == trace.End; slice && shallow {
			if e.Slice, e.Phase = 0, trace.Begin; begun[stream] {
				e.Phase = trace.End
			}
			begun[stream] = !begun[stream]
		}
		if flows > 0 && r.n(2) == 0 {
			e.Flow = uint64(r.n(int64(flows)*20)) + 1
			e.Role = []trace.Role{trace.Sends, trace.Receives, trace.NoRole}[r.n(3)]
		}
		e.Values = r.values(l.Classes[e.Class].Fields)
		x.records = append(x.records, e)
	}
	return x
}

// drawSchema draws hosts, rows, classes and maps. It returns the number of rows, without the stream of bounds.
func drawSchema(t *rapid.T) (*trace.Schema, int) {
	l := &trace.Schema{Title: "drawn", Hosts: []string{"a", "b", "<c>"}[:rapid.IntRange(1, 3).Draw(t, "hosts")]}
	rows := rapid.SampledFrom([]int{1, 1, 2, 5}).Draw(t, "rows")
	kinds := []trace.StreamKind{trace.Thread, rapid.SampledFrom([]trace.StreamKind{trace.Thread, trace.Messages}).Draw(t, "kind")}
	for i := range rows {
		l.Streams = append(l.Streams, trace.Stream{Name: fmt.Sprintf("row %d", i), Host: l.Hosts[i%len(l.Hosts)], Kind: kinds[(i+1)%2],
			ID: int64(i), Parent: i - 1})
	}
	if rapid.Bool().Draw(t, "bounds") {
		l.Streams = append(l.Streams, trace.Stream{Name: "bound", Host: l.Hosts[0], Kind: trace.Bounds, Parent: -1})
	}
	for i := range 6 {
		l.Classes = append(l.Classes, trace.Class{Name: fmt.Sprintf("class %d", i), Fields: []trace.Field{
			{Name: "n", Type: trace.Type{Kind: trace.Int}}, {Name: "x", Type: trace.Type{Kind: trace.Float}},
			{Name: "text", Type: trace.Type{Kind: trace.Text}}, {Name: "cpu", Type: trace.Type{Kind: trace.Uint}},
		}[:i%5]})
		if i == 4 {
			l.Classes[i].Context = 1
		}
	}
	components := rapid.IntRange(1, 2).Draw(t, "components")
	for i := range l.Hosts {
		m := clock.Identity()
		m.High = clock.Curve{{X: 0, Y: clock.TimelineTime(i * 100)}}
		l.Maps = append(l.Maps, trace.HostMap{Host: i, Component: i % components, Map: &m})
	}
	return l, rows
}

// random is a small generator, so that a drawn seed stands for many numbers.
type random uint64

func (r *random) n(n int64) int64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64((z ^ z>>31) % uint64(n))
}

// values draws a value for each field; one of ten is absent.
func (r *random) values(fields []trace.Field) (values []trace.Value) {
	for _, f := range fields {
		v := trace.Value{}
		switch f.Type.Kind {
		case trace.Int:
			v = trace.OfInt(r.n(1000) - 500)
		case trace.Float:
			v = trace.OfFloat([]float64{1.5, -3, math.NaN(), math.Inf(1), 1e300}[r.n(5)])
		case trace.Uint:
			v = trace.OfUint(uint64(r.n(8)))
		case trace.Text:
			v = trace.OfText([]string{"", "nginx", "<script>", "\xff\xfe", "a b", "\xa9 \xc3"}[r.n(6)])
		}
		if r.n(10) == 0 {
			v = trace.Value{}
		}
		values = append(values, v)
	}
	return values
}

// build indexes a timeline.
func (x *timeline) build(t fataler, o Options) *Index {
	b, err := NewBuilder(x.schema, o)
	eventtest.Write(t, b, err, x.records)
	n, err := b.Index()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// everything returns all items of a lane.
func everything(t fataler, x *Index, lane int) []item {
	c := collect{kind: x.lanes[lane].kind, from: 0, to: math.MaxInt64}
	if err := (&walker{x: x}).walk(&x.lanes[lane], &c); err != nil {
		t.Fatal(err)
	}
	return c.items
}
