package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// wantedFields writes a record's fields by themselves.
func wantedFields(l *trace.Schema, r *trace.TimelineEvent) [][2]string {
	out := [][2]string{}
	for i := range r.Values {
		if r.Values[i].Kind != trace.None {
			f := &l.Classes[r.Class].Fields[i]
			out = append(out, [2]string{f.Name, strings.ToValidUTF8(string(r.Values[i].Append(nil, &f.Type)), "\ufffd")})
		}
	}
	return out
}

func TestEventsComeBackAsTheyWereWritten(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		records := drawTimeline(t, 1500)
		finest := rapid.SampledFrom([]int64{2, 2, 500}).Draw(t, "granularity")
		step := func(m int) int64 { return finest + int64(m) }
		x := records.build(t, Options{Granularity: step})
		defer x.Close()
		sent, received := make(map[int64]*Flow), make(map[int64]*Flow)
		all, _ := records.messagesOf()
		late := false
		for _, m := range all {
			f := &Flow{m.from, m.to}
			sent[m.from], received[m.to] = f, f
		}
		from := rapid.Int64Range(0, max(x.events-1, 0)).Draw(t, "from")
		got, err := x.Events(from, 1024)
		if err != nil {
			t.Fatal(err)
		}
		if want := min(x.events-from, mostEvents); int64(len(got)) != want {
			t.Fatalf("%d events, wanted %d", len(got), want)
		}
		records.truth(func(event, at int64, r *trace.TimelineEvent) {
			late = late || x.about.Origin+clock.TimelineTime(at) != r.Time
			if event < from || event >= from+int64(len(got)) {
				return
			}
			e := &got[event-from]
			if e.Event != event || e.At != at || e.Recorded != r.Event.Time || e.Row != r.Stream || e.Class != r.Class || e.Clock != r.Map ||
				e.Phase != [...]string{"instant", "begin", "end", "counter"}[r.Phase] || !slices.Equal(e.Fields, wantedFields(records.schema, r)) {
				t.Fatalf("event %+v, wanted %+v", e, r)
			}
			// Where it is shown lies in its interval, though it came late: it did not happen later for that.
			if (e.Low != nil) != r.Bounded || r.Bounded && (*e.Low != min(clock.Sub(r.Low, x.about.Origin), at) ||
				*e.High != max(clock.Sub(r.High, x.about.Origin), at)) {
				t.Fatalf("event %+v has other bounds than %+v", e, r)
			}
			if f := sent[event]; r.Role == trace.Sends && !late && (f == nil) != (e.Flow == nil) || f != nil && e.Flow != nil && *f != *e.Flow {
				t.Fatalf("event %+v is sent as %+v", e, f)
			}
			if f := received[event]; r.Role == trace.Receives && !late && (f == nil) != (e.Flow == nil) || f != nil && e.Flow != nil && *f != *e.Flow {
				t.Fatalf("event %+v is received as %+v", e, f)
			}
			if s := e.Slice; (s != nil) != (r.Phase == trace.Begin || r.Phase == trace.End) ||
				s != nil && (r.Phase == trace.Begin && s.Begin != event || r.Phase == trace.End && s.End != event) {
				t.Fatalf("event %+v of phase %d", e, r.Phase)
			}
		})
	})
}

func TestSearchFindsWhatTheFieldsSay(t *testing.T) {
	queries := []string{"nginx", "text:script", "n>100 n<=300", "host=b | host=\"<c>\"", "\"class 3\" x=1.5", "-nginx", "-text:a", "cpu=3 row:1",
		"name:class category=", "1", "5", "-n<0 class", "missing=1", "-missing=1", "x<0 | name=\"class 0\"", "x:nan", "e3"}
	testseed.Check(t, func(t *rapid.T) {
		records := drawTimeline(t, 1500)
		x := records.build(t, Options{})
		defer x.Close()
		text := rapid.SampledFrom(queries).Draw(t, "query")
		q, err := parseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []int64
		l := records.schema
		records.truth(func(event, _ int64, r *trace.TimelineEvent) {
			f := found{name: l.Classes[r.Class].Name, host: l.Hosts[r.Host], row: l.Streams[r.Stream].Name, fields: wantedFields(l, r)}
			if q.matches(&f) {
				want = append(want, event)
			}
		})
		limit := rapid.IntRange(1, 700).Draw(t, "limit")
		for after := int64(-1); ; {
			f, err := x.Search(text, after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range f.Found {
				got = append(got, h.Event)
			}
			if len(f.Found) > limit {
				t.Fatalf("%d found, the limit is %d", len(f.Found), limit)
			}
			if f.Next < 0 {
				break
			}
			if f.Next <= after {
				t.Fatalf("after %d comes %d", after, f.Next)
			}
			after = f.Next
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q finds %d events, wanted %d", text, len(got), len(want))
		}
	})
}

func TestHugeFieldsAreCutAndCounted(t *testing.T) {
	deep := trace.OfInt(1)
	for range 100 {
		deep = trace.Value{Kind: trace.Array, Items: []trace.Value{deep}}
	}
	wide := trace.Value{Kind: trace.Array, Items: make([]trace.Value, 1<<18)}
	for i := range wide.Items {
		wide.Items[i] = trace.OfText("12345678")
	}
	l := &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Name: "r", Host: "a", Parent: -1}},
		Classes: []trace.Class{{Name: "c", Fields: []trace.Field{{Name: "f"}, {Name: "g", Type: trace.Type{Kind: trace.Text}}}}}}
	x := &timeline{schema: l}
	long := trace.OfText(strings.Repeat("x", 3<<20))
	for _, v := range []trace.Value{deep, wide, long, long, long, long, long, trace.OfText("short")} {
		x.records = append(x.records, trace.TimelineEvent{Map: -1, Values: []trace.Value{v, trace.OfText("g"), trace.OfInt(1)}})
	}
	x.records[7].Values = x.records[7].Values[:2]
	n := x.build(t, Options{})
	defer n.Close()
	if fmt.Sprint(n.about.Warnings) != "[7 events have more in their fields than is shown]" {
		t.Errorf("warnings %q", n.about.Warnings)
	}
	got, err := n.Events(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 8 || got[7].Fields[0][1] != "short" || got[7].Fields[1][1] != "g" {
		t.Fatalf("%d events", len(got))
	}
	for i := range got {
		for _, f := range got[i].Fields {
			if len(f[1]) > longestText+3 {
				t.Errorf("event %d has a field of %d bytes", i, len(f[1]))
			}
		}
	}
}
