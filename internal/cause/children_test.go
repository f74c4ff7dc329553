package cause

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestChildrenAreTheSlicesThatNameTheirParent(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		list := m.Requests()
		want := make(map[Span][]child)
		put := func(c child) {
			if s, is := m.Spans.Of(c.event); is && s.Parent != 0 {
				key := Span{Trace: s.Trace, ID: s.Parent}
				want[key] = append(want[key], c)
			}
		}
		asked := make(map[int64]bool)
		for i := range list {
			if r := &list[i]; r.Kind == KindSpan {
				asked[r.Event] = true
				put(child{r.Begin, r.End, r.Client, r.Class, r.Event, i})
			}
		}
		for _, s := range slices.Concat(m.Ends, m.Inner) {
			if !asked[s.Event] {
				put(child{s.Begin, s.End, s.Row, s.Class, s.Event, -1})
			}
		}
		got := newChildren(m, list)
		for trace := range uint64(3) {
			for id := range uint64(11) {
				w := want[Span{Trace: trace, ID: id}]
				slices.SortStableFunc(w, func(a, b child) int { return cmp.Or(cmp.Compare(b.end, a.end), cmp.Compare(b.begin, a.begin)) })
				if g := got.of(trace, id); !slices.Equal(g, w) {
					t.Fatalf("below span %d of trace %d are %+v, want %+v", id, trace, g, w)
				}
			}
		}
	})
}

func TestRequestsOfSpansAreTheSlicesThatMessagesBeginAndEnd(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		list := m.Requests()
		if !slices.IsSortedFunc(list, func(a, b Request) int { return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.Event, b.Event)) }) {
			t.Fatalf("not in order of their begin: %+v", list)
		}
		last := func(event int64, of func(x *Message) int64) (x *Message) {
			for i := range m.Messages {
				if of(&m.Messages[i]) == event {
					x = &m.Messages[i]
				}
			}
			return x
		}
		want := make(map[int64]Request)
		for _, s := range m.Ends {
			there, back := last(s.Event, func(x *Message) int64 { return x.SentEvent }), last(s.Last, func(x *Message) int64 { return x.ReceivedEvent })
			if there == nil || back == nil || m.Hosts[there.To] != m.Hosts[back.From] {
				continue
			}
			served := slices.IndexFunc(m.Ends, func(x Slice) bool { return x.Event == there.ReceivedEvent })
			want[s.Event] = Request{Kind: KindSpan, Client: s.Row, Server: there.To, Class: s.Class, Begin: s.Begin, End: s.End, There: *there, Back: *back,
				Event: s.Event, Last: s.Last, Served: served, Messages: 2}
		}
		for _, r := range list {
			if r.Kind != KindSpan {
				continue
			}
			if r != want[r.Event] {
				t.Fatalf("request %+v, want %+v", r, want[r.Event])
			}
			delete(want, r.Event)
		}
		if len(want) > 0 {
			t.Fatalf("not listed: %+v", want)
		}
	})
}
