package chrome

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// story is a timeline for tests.
type story struct{ eventtest.Story }

const storyStart = 1_700_000_000_123_456_000

func newStory() *story { return &story{eventtest.Story{Start: storyStart}} }

// write returns the file and what the writer had to change.
func (s *story) write(t eventtest.Fataler) ([]byte, Tally) {
	var out bytes.Buffer
	w, err := NewWriter(&out, &s.Schema)
	eventtest.Write(t, w, err, s.Events)
	return out.Bytes(), w.Tally()
}

func (s *story) save(t testing.TB) string {
	data, _ := s.write(t)
	return eventtest.Save(t, "timeline.json", data)
}

// twoHosts is a timeline with everything in it.
func twoHosts() *story {
	s := newStory()
	s.Title, s.Method, s.Assumption = "two hosts", "envelope", "bounded wander"
	s.Hosts = []string{"web", "db"}
	s.DeclareClasses()
	worker := s.Row("web", "worker", trace.Thread, 13, 1)
	s.Row("web", "nginx", trace.Process, 12, -1)
	eth0 := s.Row("db", "eth0", trace.Device, 2, -1)
	cpu := s.Row("db", "", trace.CPU, 1, -1)
	bounds := s.Row("db", "bounds", trace.Bounds, 0, -1)
	messages := s.Row("db", "messages", trace.Messages, 0, -1)

	s.Add(worker, 10, trace.Begin, 0, "request", trace.OfText("/"), trace.OfUint(3))
	s.Message(worker, 20, 1<<63|5, trace.Sends)
	s.Add(worker, 21, trace.Begin, 0, "request", trace.OfText("/</script>\u2028\x00\xff\"\\\n"), trace.OfUint(3))
	s.Add(cpu, 22, trace.Instant, 0, "all", trace.OfBool(true), trace.OfInt(math.MinInt64), trace.OfUint(1<<64-1), trace.OfFloat(0.5),
		trace.OfFloat(math.NaN()), trace.OfText("tëxt"), trace.OfBytes([]byte{0xc0, 0xff}), trace.OfInt(0), trace.Value{},
		trace.Value{Kind: trace.Struct, Items: []trace.Value{trace.OfText("a"), trace.OfUint(80)}},
		trace.Value{Kind: trace.Array, Items: []trace.Value{{Kind: trace.Struct, Items: []trace.Value{trace.OfText("b"), trace.OfUint(1)}}, {Kind: trace.Struct}}},
		trace.Value{Kind: trace.Variant, Bits: 1, Items: []trace.Value{trace.OfText("chosen")}})
	r := s.Message(messages, 25, 1<<63|5, trace.Receives)
	r.Event.Time, r.Low, r.High = clock.HostTime(r.Time+1_000_000), r.Time-3, r.Time+4
	s.Add(bounds, 26, trace.Counter, 0, "clock bound", trace.OfUint(7))
	s.Add(eth0, 27, trace.Counter, 0, "net", trace.OfUint(100), trace.OfFloat(0.25), trace.OfUint(1))
	s.Add(eth0, 28, trace.Counter, 0, "net", trace.OfUint(200), trace.OfFloat(math.Inf(1)), trace.OfUint(1))
	r = s.Add(worker, 30, trace.End, 0, "return", trace.OfInt(200))
	r.Event.Time--
	s.Add(worker, 40, trace.End, 0, "return", trace.OfInt(404))
	s.Add(messages, 50, trace.Begin, 9, "request", trace.OfText("a"))
	s.Add(messages, 51, trace.Begin, 8, "request", trace.OfText("b"))
	s.Add(messages, 52, trace.End, 9, "return", trace.OfInt(1))
	s.Add(messages, 86_400_000_000_053, trace.End, 8, "return", trace.OfInt(2)) // a day later
	return s
}

// eventsOf reads a file with an implementation of JSON that is not ours.
func eventsOf(t interface{ Fatal(...any) }, data []byte) (file map[string]any, events []map[string]any) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&file); err != nil {
		t.Fatal(err, string(data))
	}
	for _, e := range file["traceEvents"].([]any) {
		events = append(events, e.(map[string]any))
	}
	return file, events
}

func TestFileIsJSONThatHarmsNoPage(t *testing.T) {
	data, tally := twoHosts().write(t)
	file, events := eventsOf(t, data)
	if got := fmt.Sprintf("%v %v", file["baseTimeNanoseconds"], file["otherData"]); got !=
		"1700000000000000000 map[assumption:bounded wander method:envelope origin_ns:1700000000000000000 title:two hosts writer:meridian]" {
		t.Error(got)
	}
	if bytes.Contains(data, []byte("</")) || bytes.Contains(data, []byte("\u2028")) || bytes.Contains(data, []byte("NaN,")) {
		t.Errorf("%s", data)
	}
	if tally != (Tally{Records: 14, NoNumber: 1}) {
		t.Errorf("%+v", tally)
	}
	found := false
	for _, e := range events {
		if args, ok := e["args"].(map[string]any); ok && args["path"] == "/</script>\u2028\uFFFD\uFFFD\"\\\n" {
			found = true
		}
	}
	if !found {
		t.Error("a text has changed")
	}
}

func TestSlicesThatNobodyBeganOrEndedAreCounted(t *testing.T) {
	s := newStory()
	s.AddUnpaired()
	data, tally := s.write(t)
	if tally.LoneEnds != 2 || tally.Open != 4 {
		t.Errorf("%+v", tally)
	}
	_, events := eventsOf(t, data)
	got := ""
	for _, e := range events {
		if ph := e["ph"].(string); strings.Contains("BEbe", ph) {
			got += fmt.Sprint(ph, e["name"], e["ts"], " ")
		}
	}
	if want := "Bn123456.002 ba123456.003 ea123456.004 bb123456.004 bc123456.005 ec123456.009 eb123456.009 En123456.009 "; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestInvalidEventsAreRefusedAndFailuresReported(t *testing.T) {
	open := func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s) }
	eventtest.RefusesNilSchema(t, "chrome", open)
	eventtest.RefusesInvalidEvents(t, open)
	eventtest.ReportsFailure(t, open)
}

func TestTimelineBeforeTheEpochKeepsItsTimes(t *testing.T) {
	for _, at := range []clock.HostTime{-1, -1_000_000_000, -1_000_000_001, 0, 999} {
		s := newStory()
		s.Row("h", "r", trace.Thread, 1, -1)
		s.Add(0, at-storyStart, trace.Instant, 0, "i")
		data, _ := s.write(t)
		file, events := eventsOf(t, data)
		base, err := file["baseTimeNanoseconds"].(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		var us, ns int64
		if _, err := fmt.Sscanf(string(events[len(events)-1]["ts"].(json.Number)), "%d.%03d", &us, &ns); err != nil {
			t.Fatal(err)
		}
		if clock.HostTime(base+us*1000)+clock.HostTime(ns) != at || us < 0 {
			t.Errorf("%d is %d + %d.%03d", at, base, us, ns)
		}
	}
}

func TestAnyTextIsQuotedAsJSON(t *testing.T) {
	testseed.Check(t, func(rt *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "bytes")
		var got string
		if err := json.Unmarshal(appendText(nil, raw), &got); err != nil {
			rt.Fatal(err)
		}
		want := strings.ReplaceAll(strings.Join(strings.Split(string([]rune(string(raw))), ""), ""), "\x00", "\uFFFD")
		if got != want {
			rt.Fatalf("%q is %q", raw, got)
		}
		if string(appendText(nil, string(raw))) != string(appendText(nil, raw)) {
			rt.Fatal("strings and bytes differ")
		}
	})
}

func TestRecordsAreWrittenWithoutAllocation(t *testing.T) {
	s := newStory()
	s.AddCalls(10_000)
	w, err := NewWriter(io.Discard, &s.Schema)
	if err != nil {
		t.Fatal(err)
	}
	eventtest.AllocatesLittle(t, func(i int) {
		if err := w.Write(&s.Events[i%len(s.Events)]); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	s := newStory()
	s.AddCalls(100_000)
	size := 0
	for b.Loop() {
		data, _ := s.write(b)
		size = len(data)
	}
	eventtest.ReportRate(b, len(s.Events), size)
}
