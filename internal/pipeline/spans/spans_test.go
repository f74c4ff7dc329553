package spans

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/clock"
	"meridian/internal/testseed"
)

func id(n int) []byte { return []byte{0, 0, 0, 0, 0, 0, byte(n >> 8), byte(n)} }

func traceOf(n int) []byte { return append(make([]byte, 8), id(n)...) }

func attribute(s *v1.Span, key string) *common.AnyValue {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return kv.Value
		}
	}
	return nil
}

// fixed is a clock that is late by an offset, known to within a reach to both sides.
func fixed(number int, offset, reach int64) *Clock {
	return &Clock{Number: number, Aligned: true, Place: func(t clock.HostTime) Place {
		at := clock.TimelineTime(int64(t) - offset)
		return Place{at, at - clock.TimelineTime(reach), at + clock.TimelineTime(reach), true}
	}}
}

func TestChildrenComeIntoTheirParentsWhereBoundsAllowIt(t *testing.T) {
	const client, server, producer, consumer, internal = v1.Span_SPAN_KIND_CLIENT, v1.Span_SPAN_KIND_SERVER, v1.Span_SPAN_KIND_PRODUCER, v1.Span_SPAN_KIND_CONSUMER, v1.Span_SPAN_KIND_INTERNAL
	failed := &v1.Status{Code: v1.Status_STATUS_CODE_ERROR}
	for _, x := range []struct {
		name               string
		parent, child      v1.Span_SpanKind
		status             *v1.Status
		same               bool     // one clock
		reach              [2]int64 // of the parent's bounds, and of the child's
		p, c, wantP, wantC [2]uint64
		outside            bool
	}{
		{"within", client, server, nil, false, [2]int64{5, 5}, [2]uint64{100, 200}, [2]uint64{110, 190}, [2]uint64{100, 200}, [2]uint64{110, 190}, false},
		{"the child's start moves", client, server, nil, false, [2]int64{5, 5}, [2]uint64{100, 200}, [2]uint64{97, 190}, [2]uint64{100, 200}, [2]uint64{100, 190}, false},
		{"the child's end moves", client, server, nil, false, [2]int64{0, 5}, [2]uint64{100, 200}, [2]uint64{110, 204}, [2]uint64{100, 200}, [2]uint64{110, 200}, false},
		{"the parent's end moves where the child's is sure", client, server, nil, false, [2]int64{5, 0}, [2]uint64{100, 200}, [2]uint64{110, 204}, [2]uint64{100, 204}, [2]uint64{110, 204}, false},
		{"the parent's start moves where the child's is sure", client, server, nil, false, [2]int64{5, 0}, [2]uint64{100, 200}, [2]uint64{96, 190}, [2]uint64{96, 200}, [2]uint64{96, 190}, false},
		{"both move", client, server, nil, false, [2]int64{5, 5}, [2]uint64{100, 200}, [2]uint64{93, 190}, [2]uint64{98, 200}, [2]uint64{98, 190}, false},
		{"beyond both bounds", client, server, nil, false, [2]int64{5, 5}, [2]uint64{100, 200}, [2]uint64{89, 190}, [2]uint64{100, 200}, [2]uint64{89, 190}, true},
		{"a short child before its parent", client, server, nil, false, [2]int64{0, 9}, [2]uint64{100, 200}, [2]uint64{92, 94}, [2]uint64{100, 200}, [2]uint64{100, 100}, false},
		{"a client that failed", client, server, failed, false, [2]int64{5, 5}, [2]uint64{100, 200}, [2]uint64{97, 204}, [2]uint64{100, 200}, [2]uint64{100, 204}, false},
		{"a consumer may end later", producer, consumer, nil, false, [2]int64{5, 5}, [2]uint64{100, 200}, [2]uint64{97, 900}, [2]uint64{100, 200}, [2]uint64{100, 900}, false},
		{"no message", internal, internal, nil, false, [2]int64{5, 5}, [2]uint64{100, 200}, [2]uint64{97, 204}, [2]uint64{100, 200}, [2]uint64{97, 204}, false},
		{"of one clock, outside as recorded", client, server, nil, true, [2]int64{5, 5}, [2]uint64{100, 200}, [2]uint64{97, 204}, [2]uint64{100, 200}, [2]uint64{97, 204}, false},
	} {
		p := &v1.Span{TraceId: traceOf(1), SpanId: id(1), Kind: x.parent, Status: x.status, StartTimeUnixNano: x.p[0] + 2000, EndTimeUnixNano: x.p[1] + 2000}
		c := &v1.Span{TraceId: traceOf(1), SpanId: id(2), ParentSpanId: id(1), Kind: x.child, StartTimeUnixNano: x.c[0] + 2000, EndTimeUnixNano: x.c[1] + 2000}
		clocks := []*Clock{fixed(0, 2000, x.reach[0]), fixed(1, 2000, x.reach[1])}
		if x.same {
			clocks[1].Number = 0
		}
		resources := []*v1.ResourceSpans{{ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{c}}}}, {ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{p}}}}}
		tally := Correct(resources, func(rs *v1.ResourceSpans) *Clock {
			if rs == resources[0] {
				return clocks[1]
			}
			return clocks[0]
		})
		gotP, gotC := [2]uint64{p.StartTimeUnixNano, p.EndTimeUnixNano}, [2]uint64{c.StartTimeUnixNano, c.EndTimeUnixNano}
		if gotP != x.wantP || gotC != x.wantC || attribute(c, outsideParent).GetBoolValue() != x.outside || tally.Outside != map[bool]int64{true: 1}[x.outside] || tally.Written != 2 {
			t.Errorf("%s: parent %v, child %v, %+v", x.name, gotP, gotC, tally)
		}
		if low, high := attribute(c, beginLow).GetIntValue(), attribute(c, beginHigh).GetIntValue(); low != int64(x.c[0])-x.reach[1] || high != int64(x.c[0])+x.reach[1] {
			t.Errorf("%s: bounds %d, %d", x.name, low, high)
		}
		if attribute(c, beginRecorded).GetIntValue() != int64(x.c[0])+2000 || attribute(c, endRecorded).GetIntValue() != int64(x.c[1])+2000 {
			t.Errorf("%s: recorded times are lost", x.name)
		}
	}
}

// Trees of calls between clocks, whose true times nest and whose estimates are anywhere within bounds that hold: all children come into their parents, and no time
// leaves its bounds. The truth is a placement that satisfies everything, so one must be found.
func TestWhereATruePlacementExistsAllChildrenLieWithinTheirParents(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		const reach = 50
		n := rapid.IntRange(1, 12).Draw(t, "spans")
		places := make(map[clock.HostTime]Place) // by a stamp that is unique, in the order of the truth
		place := func(truth, more int64) uint64 {
			low, high := truth-rapid.Int64Range(0, reach).Draw(t, "low"), truth+rapid.Int64Range(0, reach).Draw(t, "high")
			mid := rapid.Int64Range(low, high).Draw(t, "mid")
			stamp := clock.HostTime(64*truth + more)
			places[stamp] = Place{clock.TimelineTime(mid), clock.TimelineTime(low), clock.TimelineTime(high), true}
			return uint64(stamp)
		}
		all, parents := make([]*v1.Span, n), make([]int, n)
		truth, resources, numbers := make([][2]int64, n), make([]*v1.ResourceSpans, n), make(map[*v1.ResourceSpans]int)
		for i := range n { // clients call servers on hosts of their own, which are clients of others
			s := &v1.Span{TraceId: traceOf(1), SpanId: id(i + 1), Kind: v1.Span_SPAN_KIND_CLIENT}
			within, number := [2]int64{1000, 2000}, 0
			if i > 0 {
				p := rapid.IntRange(0, i-1).Draw(t, "parent")
				parents[i], within, s.ParentSpanId, number = p, truth[p], id(p+1), numbers[resources[p]]
				if all[p].Kind == v1.Span_SPAN_KIND_CLIENT {
					s.Kind, number = v1.Span_SPAN_KIND_SERVER, i
				}
			}
			begin := rapid.Int64Range(within[0], within[1]).Draw(t, "begin")
			truth[i] = [2]int64{begin, rapid.Int64Range(begin, within[1]).Draw(t, "end")}
			s.StartTimeUnixNano, s.EndTimeUnixNano = place(truth[i][0], int64(i)), place(truth[i][1], int64(63-i))
			all[i], resources[i] = s, &v1.ResourceSpans{ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{s}}}}
			numbers[resources[i]] = number
		}
		tally := Correct(resources, func(rs *v1.ResourceSpans) *Clock {
			return &Clock{Number: numbers[rs], Aligned: true, Place: func(at clock.HostTime) Place { return places[at] }}
		})
		if tally.Written != int64(n) {
			t.Fatalf("%+v", tally)
		}
		for i, s := range all {
			begin, end := int64(s.StartTimeUnixNano), int64(s.EndTimeUnixNano)
			if begin > end || begin < attribute(s, beginLow).GetIntValue() || begin > attribute(s, beginHigh).GetIntValue() ||
				end < attribute(s, endLow).GetIntValue() || end > attribute(s, endHigh).GetIntValue() {
				t.Fatalf("span %d from %d to %d leaves its bounds: %v", i, begin, end, s.Attributes)
			}
			if p := all[parents[i]]; begin < int64(p.StartTimeUnixNano) || end > int64(p.EndTimeUnixNano) {
				t.Fatalf("span %d lies outside of its parent", i)
			}
		}
		if tally.Outside > 0 {
			t.Fatalf("%d spans are outside", tally.Outside)
		}
	})
}

func TestSpansThatHaveNoPlaceStay(t *testing.T) {
	same := fixed(0, 0, 5)
	circle := []*v1.Span{
		{TraceId: traceOf(1), SpanId: id(1), ParentSpanId: id(2), StartTimeUnixNano: 10, EndTimeUnixNano: 20},
		{TraceId: traceOf(1), SpanId: id(2), ParentSpanId: id(1), StartTimeUnixNano: 5, EndTimeUnixNano: 25},
		{TraceId: traceOf(1), SpanId: id(3), ParentSpanId: id(3), StartTimeUnixNano: 7, EndTimeUnixNano: 6},
		{TraceId: traceOf(1), SpanId: id(4), StartTimeUnixNano: 8},
		{TraceId: traceOf(1), SpanId: id(5)},
		{TraceId: traceOf(1), SpanId: id(6), StartTimeUnixNano: 8, EndTimeUnixNano: 1 << 63},
	}
	var before []*v1.Span
	for _, s := range circle {
		before = append(before, proto.CloneOf(s))
	}
	rs := []*v1.ResourceSpans{{ScopeSpans: []*v1.ScopeSpans{{Spans: circle}}}}
	tally := Correct(rs, func(*v1.ResourceSpans) *Clock { return same })
	if tally != (Tally{Written: 4, Timeless: 2}) || len(rs[0].ScopeSpans[0].Spans) != 4 {
		t.Errorf("%+v", tally)
	}
	for i, s := range rs[0].ScopeSpans[0].Spans {
		if s.StartTimeUnixNano != before[i].StartTimeUnixNano || s.EndTimeUnixNano != before[i].EndTimeUnixNano {
			t.Errorf("span %d: %v", i, s)
		}
	}
}

func TestEventsKeepTheirPlaceWithinTheirSpan(t *testing.T) {
	p := &v1.Span{TraceId: traceOf(1), SpanId: id(1), Kind: v1.Span_SPAN_KIND_CLIENT, StartTimeUnixNano: 100, EndTimeUnixNano: 200}
	c := &v1.Span{TraceId: traceOf(1), SpanId: id(2), ParentSpanId: id(1), Kind: v1.Span_SPAN_KIND_SERVER, StartTimeUnixNano: 97, EndTimeUnixNano: 150,
		Events: []*v1.Span_Event{{TimeUnixNano: 98}, {TimeUnixNano: 120}, {TimeUnixNano: 90}, {}}}
	rs := []*v1.ResourceSpans{{ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{p}}}}, {ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{c}}}}}
	Correct(rs, func(x *v1.ResourceSpans) *Clock {
		if x == rs[0] {
			return fixed(0, 0, 0)
		}
		return fixed(1, 0, 5)
	})
	for i, want := range []uint64{100, 120, 90, 0} {
		if got := c.Events[i].TimeUnixNano; got != want {
			t.Errorf("event %d at %d, want %d", i, got, want)
		}
	}
}

func TestAgainCorrectedSpansHaveEachAttributeOnce(t *testing.T) {
	s := &v1.Span{TraceId: traceOf(1), SpanId: id(1), StartTimeUnixNano: 100, EndTimeUnixNano: 200}
	rs := []*v1.ResourceSpans{{ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{s}}}}}
	unknown := &Clock{Aligned: true, Several: true, Component: 1, Place: func(t clock.HostTime) Place { return Place{Time: clock.TimelineTime(t)} }}
	for range 2 {
		Correct(rs, func(*v1.ResourceSpans) *Clock { return fixed(0, 0, 5) })
		Correct(rs, func(*v1.ResourceSpans) *Clock { return unknown })
	}
	seen := make(map[string]int)
	for _, kv := range s.Attributes {
		seen[kv.Key]++
	}
	if len(seen) != 4 || seen[unbounded] != 1 || seen[component] != 1 || seen[beginRecorded] != 1 || seen[endRecorded] != 1 {
		t.Errorf("%v", seen)
	}
	if attribute(s, beginLow) != nil {
		t.Error("bounds of before are left")
	}
}
