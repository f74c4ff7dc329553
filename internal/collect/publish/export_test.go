package publish

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"meridian/clock"
	"meridian/trace"
)

// collectorStub is a collector: it reads requests by the official types.
type collectorStub struct {
	t       *testing.T
	mu      sync.Mutex
	answers []int // codes of the next answers; 200 when there is none
	refuse  uint64
	tries   int
	spans   map[string]*v1.Span // by name
	rows    map[string]string   // host and service by name of span
}

func (c *collectorStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("%s of %s", r.URL.Path, r.Header.Get("Content-Type"))
	}
	if len(c.answers) > 0 {
		code := c.answers[0]
		if c.answers = c.answers[1:]; code != 200 {
			w.WriteHeader(code)
			return
		}
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		c.t.Error(err)
		return
	}
	b, err := io.ReadAll(z)
	var x v1.TracesData
	if err == nil {
		err = proto.Unmarshal(b, &x)
	}
	if err != nil {
		c.t.Error(err)
		return
	}
	for _, rs := range x.ResourceSpans {
		origin := ""
		for _, a := range rs.Resource.Attributes {
			origin += a.Key + "=" + a.Value.GetStringValue() + " "
		}
		for _, s := range rs.ScopeSpans[0].Spans {
			if c.spans[s.Name] != nil {
				c.t.Errorf("span %s came twice", s.Name)
			}
			c.spans[s.Name], c.rows[s.Name] = s, origin
		}
	}
	if c.refuse > 0 {
		inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), c.refuse)
		inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), "too old")
		_, _ = w.Write(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner))
	}
}

func collecting(t *testing.T, answers ...int) (*collectorStub, string) {
	c := &collectorStub{t: t, answers: answers, spans: make(map[string]*v1.Span), rows: make(map[string]string)}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return c, s.URL
}

// exported runs an exporter until the queue is empty.
func exported(t *testing.T, e *Exporter) ExporterStats {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	for deadline := time.Now().Add(60 * time.Second); e.Stats().Queued > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", e.Stats())
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return e.Stats()
}

func TestSlicesBecomeSpansAtTimesOfTheTimelineWithTheirParents(t *testing.T) {
	t.Parallel()
	c, url := collecting(t)
	e := NewExporter(ExporterOptions{URL: url, Every: time.Millisecond})
	number := []trace.Field{{Name: "n", Type: trace.Type{Kind: trace.Int, Bits: 64}}}
	schema := &trace.Schema{Hosts: []string{"web", "db"}, Streams: []trace.Stream{{Name: "client", Host: "web", Parent: -1}, {Name: "server", Host: "db", Parent: -1}}}
	for _, name := range []string{"call", "handle", "query", "late", "mark"} {
		schema.Classes = append(schema.Classes, trace.Class{Name: name, Fields: number})
	}
	x := newSpans(e, "night", schema)
	put := func(at int64, stream, class int, phase trace.Phase, slice, flow uint64, role trace.Role) {
		x.Write(&trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at + 77), Stream: stream, Class: class, Phase: phase, Slice: slice, Flow: flow, Role: role},
			Time: clock.TimelineTime(at), Low: clock.TimelineTime(at - 3), High: clock.TimelineTime(at + 5), Bounded: true, Host: stream, Values: []trace.Value{trace.OfInt(at)}})
	}
	put(100, 0, 0, trace.Begin, 1, 0, trace.NoRole)   // call
	put(110, 0, 4, trace.Instant, 0, 7, trace.Sends)  // within it
	put(200, 1, 1, trace.Begin, 2, 7, trace.Receives) // handle
	put(210, 1, 2, trace.Begin, 0, 0, trace.NoRole)   // query
	put(220, 1, 2, trace.End, 0, 0, trace.NoRole)
	put(230, 1, 1, trace.End, 2, 0, trace.NoRole)
	put(300, 1, 3, trace.Begin, 3, 0, trace.NoRole) // late: the receipt is within it
	put(310, 1, 4, trace.Instant, 0, 7, trace.Receives)
	put(320, 1, 3, trace.End, 3, 0, trace.NoRole)
	put(400, 0, 0, trace.End, 1, 0, trace.NoRole)
	put(410, 0, 0, trace.End, 99, 0, trace.NoRole) // nothing began it
	if s := exported(t, e); s.Exported != 4 || s.Dropped != 0 {
		t.Fatalf("%+v", s)
	}
	call, handle, query, late := c.spans["call"], c.spans["handle"], c.spans["query"], c.spans["late"]
	if call.StartTimeUnixNano != 100 || call.EndTimeUnixNano != 400 || len(call.ParentSpanId) != 0 || len(call.TraceId) != 16 || len(call.SpanId) != 8 {
		t.Errorf("call: %v", call)
	}
	if !bytes.Equal(handle.TraceId, call.TraceId) || !bytes.Equal(handle.ParentSpanId, call.SpanId) || handle.StartTimeUnixNano != 200 || handle.EndTimeUnixNano != 230 {
		t.Errorf("handle is no child of call, whose message it begins with: %v", handle)
	}
	if !bytes.Equal(query.TraceId, call.TraceId) || !bytes.Equal(query.ParentSpanId, handle.SpanId) {
		t.Errorf("query is no child of handle, in which it is: %v", query)
	}
	if len(late.ParentSpanId) != 0 || len(late.Links) != 1 || !bytes.Equal(late.Links[0].SpanId, call.SpanId) || bytes.Equal(late.TraceId, call.TraceId) {
		t.Errorf("late has no link to call, whose message came within it: %v", late)
	}
	if want := "service.name=server host.name=db meridian.session=night "; c.rows["handle"] != want {
		t.Errorf("handle is of %s; want %s", c.rows["handle"], want)
	}
	attributes := map[string]int64{}
	for _, a := range handle.Attributes {
		attributes[a.Key] = a.Value.GetIntValue()
	}
	for key, want := range map[string]int64{"n": 200, "meridian.begin.low_ns": 197, "meridian.begin.high_ns": 205, "meridian.end.low_ns": 227, "meridian.end.high_ns": 235} {
		if attributes[key] != want {
			t.Errorf("%s is %d; want %d", key, attributes[key], want)
		}
	}
	if x.dropped != 1 || x.open != 0 || len(x.rows) != 0 {
		t.Errorf("%d dropped, %d open, %d rows", x.dropped, x.open, len(x.rows))
	}
}

func span(name string) hostSpan { return hostSpan{host: "web", span: &v1.Span{Name: name}} }

// patient waits for a collector on a busy machine: a request that is repeated counts.
var patient = &http.Client{Timeout: time.Minute}

func TestARequestIsRepeatedUntilTheCollectorTakesIt(t *testing.T) {
	t.Parallel()
	c, url := collecting(t, 503, 429, 502, 504, 200)
	e := NewExporter(ExporterOptions{URL: url, Every: time.Millisecond, Retry: time.Millisecond, Client: patient})
	e.add(span("a"))
	e.add(span("b"))
	if s := exported(t, e); s.Exported != 2 || s.Dropped != 0 || c.tries != 5 || len(c.spans) != 2 {
		t.Errorf("%+v after %d requests, %d spans", s, c.tries, len(c.spans))
	}
}

func TestSpansThatAreRefusedAreCountedAndNotRepeated(t *testing.T) {
	t.Parallel()
	c, url := collecting(t, 400)
	e := NewExporter(ExporterOptions{URL: url, Every: time.Millisecond, Batch: 2, Client: patient})
	for _, name := range []string{"a", "b", "c", "d"} {
		e.add(span(name))
	}
	c.refuse = 1
	if s := exported(t, e); s.Exported != 1 || s.Dropped != 3 || c.tries != 2 {
		t.Errorf("%+v after %d requests; want 2 refused by a code, 1 of the others by the answer", s, c.tries)
	}
}

func TestAFullQueueDropsAndCountsAndDoesNotWait(t *testing.T) {
	t.Parallel()
	e := NewExporter(ExporterOptions{URL: "http://192.0.2.1", Queue: 10}) // nobody runs it
	for range 25 {
		e.add(span("x"))
	}
	if s := e.Stats(); s.Queued != 10 || s.Dropped != 15 {
		t.Errorf("%+v", s)
	}
}
