package match

import (
	"math/rand/v2"
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func spanID(n int) trace.SpanID {
	return trace.SpanID{Trace: [16]byte{1}, Span: [8]byte{byte(n >> 16), byte(n >> 8), byte(n), 1}}
}

// spanMark is an ended span of a host; parent 0 is none.
func spanMark(host int32, kind trace.SpanKind, id, parent int, start, end clock.HostTime) trace.SpanMark {
	m := trace.SpanMark{ID: spanID(id), Start: start, End: end, StartStep: 1, EndStep: 1, Host: host, Stream: host, Resource: host, Kind: kind, Ended: true}
	if parent > 0 {
		m.Parent = spanID(parent)
	}
	return m
}

// joinSpans joins spans of hosts that have a clock each.
func joinSpans(spans ...trace.SpanMark) *SpanResult {
	return Spans([]SpanFile{{Marks: &trace.Marks{Hosts: []string{"a", "b", "c"}, Spans: spans,
		Resources: []trace.SpanResource{{Host: 0}, {Host: 1}, {Host: 2}}}, Clocks: []int{0, 1, 2}}})
}

// sharedMessages returns the messages of a kind.
func sharedMessages(r *SpanResult, kind SpanMessages) (all []trace.Message) {
	for _, c := range r.Channels {
		if c.Kind == kind {
			all = append(all, c.Messages...)
		}
	}
	return all
}

func TestSpansOfACallAreARequestAndAReply(t *testing.T) {
	for _, c := range []struct {
		name              string
		spans             []trace.SpanMark
		requests, replies int
		tally             SpanTally
	}{
		{"a call", []trace.SpanMark{spanMark(0, trace.ClientSpan, 1, 0, 10, 90), spanMark(1, trace.ServerSpan, 2, 1, 1030, 1060)}, 1, 1, SpanTally{Messages: 2}},
		{"both spans with one number, as Zipkin has them", []trace.SpanMark{spanMark(0, trace.ClientSpan, 1, 7, 10, 90), spanMark(1, trace.ServerSpan, 1, 7, 1030, 1060)}, 1, 1,
			SpanTally{Messages: 2}},
		{"a server that lasts longer than its client", []trace.SpanMark{spanMark(0, trace.ClientSpan, 1, 0, 10, 90), spanMark(1, trace.ServerSpan, 2, 1, 1030, 1200)}, 1, 0, SpanTally{Messages: 1}},
		{"one that lasts longer by no more than was cut", []trace.SpanMark{spanMark(0, trace.ClientSpan, 1, 0, 10, 90), spanMark(1, trace.ServerSpan, 2, 1, 1030, 1112)}, 1, 1, SpanTally{Messages: 2}},
		{"kinds are missing", []trace.SpanMark{spanMark(0, trace.UnspecifiedSpan, 1, 0, 10, 90), spanMark(1, trace.UnspecifiedSpan, 2, 1, 1030, 1060)}, 0, 0, SpanTally{Kindless: 1}},
		{"the client's kind is missing", []trace.SpanMark{spanMark(0, trace.InternalSpan, 1, 0, 10, 90), spanMark(1, trace.ServerSpan, 2, 1, 1030, 1060)}, 0, 0, SpanTally{Kindless: 1}},
		{"the client is in no file", []trace.SpanMark{spanMark(1, trace.ServerSpan, 2, 1, 1030, 1060)}, 0, 0, SpanTally{Alone: 1}},
		{"two servers of one client", []trace.SpanMark{spanMark(0, trace.ClientSpan, 1, 0, 10, 90), spanMark(1, trace.ServerSpan, 2, 1, 1030, 1060),
			spanMark(2, trace.ServerSpan, 3, 1, 30, 60)}, 2, 0, SpanTally{Messages: 2, Ambiguous: 2}},
		{"two clients with one number", []trace.SpanMark{spanMark(0, trace.ClientSpan, 1, 0, 10, 90), spanMark(2, trace.ClientSpan, 1, 0, 10, 90),
			spanMark(1, trace.ServerSpan, 2, 1, 1030, 1060)}, 0, 0, SpanTally{Ambiguous: 1}},
		{"on one clock", []trace.SpanMark{spanMark(0, trace.ClientSpan, 1, 0, 10, 90), spanMark(0, trace.ServerSpan, 2, 1, 30, 60)}, 0, 0, SpanTally{Local: 1}},
	} {
		r := joinSpans(c.spans...)
		if got, back := len(sharedMessages(r, Requests)), len(sharedMessages(r, Replies)); got != c.requests || back != c.replies || r.Tally != c.tally {
			t.Errorf("%s: %d requests, %d replies, %+v", c.name, got, back, r.Tally)
		}
	}
	local := spanMark(1, trace.ServerSpan, 2, 1, 1030, 1060)
	local.LocalParent = true
	if r := joinSpans(spanMark(0, trace.ClientSpan, 1, 0, 10, 90), local); r.Tally != (SpanTally{MarkedLocal: 1}) || len(r.Unjoined) != 2 {
		t.Errorf("a parent marked local: %+v, %v", r.Tally, r.Unjoined)
	}
}

func TestAConsumersEndAloneIsEvidence(t *testing.T) {
	r := joinSpans(spanMark(0, trace.ProducerSpan, 1, 0, 100, 110), spanMark(1, trace.ConsumerSpan, 2, 1, 20, 300))
	if got := sharedMessages(r, Handovers); len(got) != 1 || got[0] != (trace.Message{Sent: 100, Received: 300}) {
		t.Errorf("%v", got)
	}
}

// Where most of an operation's servers outlast their clients these do not wait, so the others' replies are none either.
func TestOperationsThatDoNotWaitHaveNoReplies(t *testing.T) {
	var spans []trace.SpanMark
	for i := range 40 {
		at := clock.HostTime(1000 * i)
		client, server := spanMark(0, trace.ClientSpan, 2*i+1, 0, at, at+100), spanMark(1, trace.ServerSpan, 2*i+2, 2*i+1, at+30, at+60)
		if client.Name = uint32(i % 2); i%2 == 1 {
			client.End = at + 20
			server.End = at + 31 + clock.HostTime(i)*5
		}
		spans = append(spans, client, server)
	}
	r := joinSpans(spans...)
	if p := r.Replies; len(p) != 1 || p[0].Refuted+p[0].Fallen != 20 || p[0].Fallen == 0 || len(sharedMessages(r, Replies)) != 20 {
		t.Errorf("%+v", p)
	}
}

// A name is refuted by parents and children that no single clock explains, and by nothing else.
func TestAHostNameOfTwoClocksIsRefuted(t *testing.T) {
	calls := func(ahead clock.HostTime, few int) *SpanResult {
		f := &trace.Marks{Hosts: []string{"x"}, Resources: []trace.SpanResource{
			{NamedBy: "host.name", Service: "front", Attributes: map[string]string{"host.name": "x", "k8s.pod.name": "p"}},
			{NamedBy: "host.name", Service: "back", Attributes: map[string]string{"host.name": "x", "k8s.pod.name": "q"}}}}
		for i := range 30 {
			at, by := clock.HostTime(10_000*i), ahead
			if few > 0 && i >= few {
				by = 0
			}
			client, server := spanMark(0, trace.ClientSpan, 2*i+1, 0, at, at+1000), spanMark(0, trace.ServerSpan, 2*i+2, 2*i+1, at+300+by, at+600+by)
			server.Stream, server.Resource = 1, 1
			f.Spans = append(f.Spans, client, server)
		}
		return Spans([]SpanFile{{Marks: f, Clocks: []int{0}}})
	}
	for _, c := range []struct {
		ahead   clock.HostTime
		few     int
		refuted bool
	}{{0, 0, false}, {-5000, 0, true}, {5000, 0, true}, {-5000, 2, false}, {-5000, 20, true}, {-200, 0, false}} {
		n := calls(c.ahead, c.few).Names
		if len(n) != 1 || n[0].Refuted != c.refuted || c.refuted && n[0].Attribute != "k8s.pod.name" || n[0].Pairs != 30 {
			t.Errorf("%d ns apart, %d calls: %+v", c.ahead, c.few, n)
		}
	}
}

// What delays look like: with a least one and a tail they show that servers end before their clients, and times without
// a tail do not.
func TestRepliesHaveTheShapeOfDelays(t *testing.T) {
	r := testseed.New(t)
	const worlds = 400
	for _, c := range []struct {
		name       string
		n          int
		step       int64
		delay      func(r *rand.Rand) float64
		atMost     int // of the worlds with DelayedReplies
		atLeast    int
		coarseness bool
	}{
		{"exponential", 100, 1, func(r *rand.Rand) float64 { return 1e5 + 5e4*r.ExpFloat64() }, worlds, worlds * 98 / 100, false},
		{"exponential, few", 20, 1, func(r *rand.Rand) float64 { return 1e5 + 5e4*r.ExpFloat64() }, worlds, worlds / 3, false},
		{"late, evenly", 100, 1, func(r *rand.Rand) float64 { return -3e5 - 2e5*r.Float64() }, worlds / 100, 0, false},
		{"late, evenly, few", 20, 1, func(r *rand.Rand) float64 { return -3e5 - 2e5*r.Float64() }, worlds / 50, 0, false},
		{"late, with a tail", 100, 1, func(r *rand.Rand) float64 { return -3e5 - 2e5*r.ExpFloat64() }, 0, 0, false},
		{"late, by what varies little", 60, 1, func(r *rand.Rand) float64 { return -3e5 + 2e4*r.NormFloat64() }, worlds / 50, 0, false},
		{"coarse", 100, 1_000_000, func(r *rand.Rand) float64 { return 1e5 + 5e4*r.ExpFloat64() - 1e6*r.Float64() }, 0, 0, true},
	} {
		delayed := 0
		for range worlds {
			drift := (r.Float64() - 0.5) * 1e-4
			replies := make([]timedReply, c.n)
			at := 0.0
			for i := range replies {
				at += 1e7 + 4e7*r.Float64()
				replies[i] = timedReply{clock.HostTime(at), 3e9 + drift*at + c.delay(r)}
			}
			switch shape := shapeOf(replies, c.step); {
			case c.coarseness != (shape == CoarseReplies):
				t.Fatalf("%s: shape %d", c.name, shape)
			case shape == DelayedReplies:
				delayed++
			}
		}
		if delayed < c.atLeast || delayed > c.atMost {
			t.Errorf("%s: %d of %d look like delays, want %d to %d", c.name, delayed, worlds, c.atLeast, c.atMost)
		}
	}
}
