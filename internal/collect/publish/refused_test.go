package publish

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"meridian/clock"
	"meridian/trace"
)

func TestAPublisherNeedsADirectoryAndNamesOfSessions(t *testing.T) {
	t.Parallel()
	for says, o := range map[string]Options{"missing directory": {}, "../night": {Dir: t.TempDir(), Sessions: []string{"day", "../night"}}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// A subscriber is told why it gets nothing, by code and by words; a list is a list though nothing is followed.
func TestSubscribersOfWhatIsNotFollowedAreToldSo(t *testing.T) {
	t.Parallel()
	r, url := served(t, 8)
	get := func(method, path string) (int, string, string) {
		q, err := http.NewRequestWithContext(t.Context(), method, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(b), answer.Header.Get("Content-Type")
	}
	for _, test := range []struct {
		method, path string
		code         int
		says         string
	}{
		{"GET", "/sessions/.x/events", http.StatusBadRequest, "session"},
		{"GET", "/sessions/day/events", http.StatusNotFound, `"day" is not followed`},
		{"HEAD", "/sessions/night/events", http.StatusOK, ""},
		{"GET", "/nothing", http.StatusNotFound, ""},
	} {
		if code, text, _ := get(test.method, test.path); code != test.code || !strings.Contains(text, test.says) {
			t.Errorf("%s %s: %d %s", test.method, test.path, code, text)
		}
	}
	var list []State
	code, text, kind := get("GET", "/sessions")
	if err := json.Unmarshal([]byte(text), &list); err != nil || code != 200 || kind != "application/json" || len(list) != 1 || list[0].Session != "night" {
		t.Errorf("%d %s: %s, %v", code, kind, text, err)
	}
	p := r.t.p
	p.http.streams.Store(maxStreams)
	if code, text, _ := get("GET", "/sessions/night/events"); code != http.StatusServiceUnavailable || !strings.Contains(text, "subscribers are here already") {
		t.Errorf("one subscriber more than there may be: %d %s", code, text)
	}
	if n := p.http.streams.Load(); n != maxStreams {
		t.Errorf("%d subscribers after it", n)
	}
	empty, err := New(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	empty.Handler("", nil).ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/sessions", nil))
	if strings.TrimSpace(w.Body.String()) != "[]" {
		t.Errorf("no session: %s", w.Body)
	}
}

// Slices are numbered by who records them: one may end on another row of its host, end without a beginning, or be open without end.
func TestSlicesEndWhereverTheyBeganAndSpansAreBounded(t *testing.T) {
	t.Parallel()
	c, url := collecting(t)
	e := NewExporter(ExporterOptions{URL: url, Every: time.Millisecond})
	schema := &trace.Schema{Hosts: []string{"web", "db"}, Streams: []trace.Stream{{Name: "a", Host: "web", Parent: -1}, {Name: "b", Host: "web", Parent: -1}, {Name: "c", Host: "db", Parent: -1}},
		Classes: []trace.Class{{Name: "moved"}, {Name: "deep"}}}
	x := newSpans(e, "night", schema)
	put := func(at int64, stream, class int, phase trace.Phase, slice uint64) {
		x.Write(&trace.TimelineEvent{Event: trace.Event{Stream: stream, Class: class, Phase: phase, Slice: slice}, Time: clock.TimelineTime(at), Host: stream / 2})
	}
	put(10, 0, 0, trace.Begin, 7)
	put(15, 2, 0, trace.End, 7) // of another host: it is none of these
	put(20, 1, 0, trace.End, 7)
	put(30, 1, 0, trace.End, 0) // nothing is open
	if x.dropped != 2 || x.open != 0 {
		t.Errorf("%d dropped, %d open", x.dropped, x.open)
	}
	for i := range maxDepth + 5 {
		put(int64(100+i), 2, 1, trace.Begin, 0)
	}
	if x.dropped != 7 || x.open != maxDepth {
		t.Errorf("%d dropped, %d open", x.dropped, x.open)
	}
	if s := exported(t, e); s.Exported != 1 || c.spans["moved"].StartTimeUnixNano != 10 || c.spans["moved"].EndTimeUnixNano != 20 {
		t.Errorf("%+v: %v", s, c.spans["moved"])
	}
}

// What waits for the end of its message is bounded: the oldest is forgotten first.
func TestMessagesThatNobodyReceivesAreForgotten(t *testing.T) {
	t.Parallel()
	x := newSpans(NewExporter(ExporterOptions{URL: "http://127.0.0.1:1"}), "night", &trace.Schema{Hosts: []string{"web"}, Streams: []trace.Stream{{Name: "a", Host: "web", Parent: -1}}, Classes: []trace.Class{{Name: "call"}}})
	put := func(phase trace.Phase, flow uint64) {
		x.Write(&trace.TimelineEvent{Event: trace.Event{Phase: phase, Flow: flow, Role: trace.Sends}})
	}
	put(trace.Begin, 0)
	for flow := uint64(1); flow <= maxSent+3; flow++ {
		put(trace.Instant, flow)
	}
	if _, old := x.sent[3]; len(x.sent) != maxSent || len(x.flows) != maxSent || old {
		t.Errorf("%d messages, %d numbers", len(x.sent), len(x.flows))
	}
}

func TestFieldsBecomeAttributesOfTheirKind(t *testing.T) {
	t.Parallel()
	fields := func(kinds ...trace.ValueKind) (all []trace.Field) {
		for _, k := range kinds {
			all = append(all, trace.Field{Name: "f\xff", Type: trace.Type{Kind: k, Bits: 64}})
		}
		return all
	}
	values := []trace.Value{{}, trace.OfInt(-3), trace.OfUint(7), trace.OfUint(math.MaxUint64), trace.OfFloat(0.5), trace.OfBool(true), trace.OfText("x"), trace.OfInt(9)}
	class := &trace.Class{Fields: fields(trace.Int, trace.Int, trace.Uint, trace.Uint, trace.Float, trace.Bool, trace.Text)}
	var got []string
	for _, a := range new(spans).attributes(nil, class, values) {
		if a.Key != "f\ufffd" {
			t.Errorf("key %q", a.Key)
		}
		got = append(got, strings.ReplaceAll(a.Value.String(), " ", ""))
	}
	if want := "int_value:-3 int_value:7 string_value:\"18446744073709551615\" double_value:0.5 bool_value:true string_value:\"x\""; strings.Join(got, " ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, " "), want)
	}
}

// What a collector answers decides which spans count as lost: whatever the bytes, not more than it was sent.
func TestDamagedAnswersOfACollectorRefuseNothing(t *testing.T) {
	t.Parallel()
	inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), math.MaxUint64)
	other := protowire.AppendFixed64(protowire.AppendTag(nil, 9, protowire.Fixed64Type), 1)
	whole := append(bytes.Clone(other), protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)...)
	for cut := range len(whole) + 1 {
		e := NewExporter(ExporterOptions{URL: "http://127.0.0.1:1"})
		e.accepted(whole[:cut], 5)
		if s, all := e.Stats(), cut == len(whole); s.Exported+s.Dropped != 5 || (s.Dropped == 5) != all {
			t.Errorf("%d of %d bytes: %+v", cut, len(whole), s)
		}
	}
}

// A collector that asks for time gets it, and the spans stay; one that is not there costs none before the end.
func TestACollectorThatAsksForTimeIsNotAskedMeanwhile(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer s.Close()
	e := NewExporter(ExporterOptions{URL: s.URL})
	if after, err := e.post(t.Context(), nil, 1); after != 7*time.Second || err == nil {
		t.Errorf("again after %v: %v", after, err)
	}
	s.Close()
	if _, err := e.post(t.Context(), nil, 1); err == nil || !strings.Contains(err.Error(), errAgain.Error()) {
		t.Errorf("a collector that is away: %v", err)
	}
	if _, err := NewExporter(ExporterOptions{URL: "://"}).post(t.Context(), nil, 1); err == nil || strings.Contains(err.Error(), errAgain.Error()) {
		t.Errorf("an address that is none: %v", err)
	}
}
