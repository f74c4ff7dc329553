package perfetto

import (
	"errors"
	"io"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/trace"
)

// tracksOf returns the tracks of a trace, the last word about each, as "name < parent < ... ".
func tracksOf(t testing.TB, data []byte) string {
	t.Helper()
	all := map[uint64]*node{}
	for _, p := range packets(t, data) {
		if d := p.get("track_descriptor"); d != nil {
			all[d.uint("uuid")] = d
		}
	}
	var out strings.Builder
	for uuid := uint64(1); all[uuid] != nil; uuid++ {
		for d := all[uuid]; d != nil; d = all[d.uint("parent_uuid")] {
			if d.get("name") == nil {
				break
			}
			out.WriteString(strings.Trim(d.get("name").value, `"`) + " < ")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestRowsLieBelowTheirParentsAndHosts(t *testing.T) {
	s := newStory()
	for i, x := range []trace.Stream{
		{Name: "child", Host: "a", Parent: 1},
		{Name: "parent", Host: "a", Parent: -1},
		{Name: "own parent", Host: "a", Parent: 2},
		{Name: "ring 1", Host: "a", Parent: 4},
		{Name: "ring 2", Host: "a", Parent: 3},
		{Name: "of no row", Host: "a", Parent: 99},
		{Name: "of another host's row", Host: "b", Parent: 1},
		{Name: "of an unknown host", Host: "", Parent: -1},
	} {
		s.Streams = append(s.Streams, x)
		if x.Host != "" {
			s.Host(x.Host)
		}
		r := s.Add(i, clock.HostTime(i), trace.Instant, 0, "i")
		r.Host = max(0, len(s.Hosts)-1)
		if x.Host == "" {
			s.Hosts = s.Hosts[:2]
			r.Host = 1
		}
	}
	data, _ := s.write(t)
	want := "a < \nb < \nparent < a < \nchild < parent < a < \nown parent < a < \nring 2 < a < \nring 1 < ring 2 < a < \n" +
		"of no row < a < \nof another host's row < b < \nof an unknown host < b < \n"
	if got := tracksOf(t, data); got != want {
		t.Errorf("tracks\n%s, not\n%s", got, want)
	}
}

func TestSchemaMayGrowAndNamesMayComeLate(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Host: "a", Kind: trace.Thread, ID: 5, Parent: -1}}, Classes: []trace.Class{{}}}
	var out strings.Builder
	w, err := NewWriter(&out, l)
	if err != nil {
		t.Fatal(err)
	}
	write := func(r trace.TimelineEvent) {
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	write(trace.TimelineEvent{})
	l.Hosts = append(l.Hosts, "b")
	l.Streams = append(l.Streams, trace.Stream{Name: "new", Host: "b", Parent: -1})
	l.Classes = append(l.Classes, trace.Class{Name: "grown"})
	write(trace.TimelineEvent{Host: 1, Event: trace.Event{Stream: 1, Class: 1}})
	l.Streams[0].Name = "late"
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := tracksOf(t, []byte(out.String())); got != "a < \nlate < a < \nb < \nnew < b < \n" {
		t.Errorf("tracks\n%s", got)
	}
}

func TestTimelineBeforeTheEpochIsMovedByWholeSeconds(t *testing.T) {
	const second = 1_000_000_000
	for _, test := range []struct {
		first clock.HostTime
		shift int64
	}{{-1, second}, {-second, second}, {-second - 1, 2 * second}, {0, 0}, {1, 0}} {
		s := newStory()
		s.Row("h", "r", trace.Thread, 1, -1)
		s.Add(0, test.first-start, trace.Instant, 0, "i")
		s.Add(0, 7-start, trace.Instant, 0, "i")
		data, tally := s.write(t)
		if tally.Shift != test.shift {
			t.Errorf("first at %d: moved by %d", test.first, tally.Shift)
		}
		all := packets(t, data)
		if got := int64(all[len(all)-1].uint("timestamp")); got != 7+test.shift {
			t.Errorf("first at %d: 7 is at %d", test.first, got)
		}
	}
}

func TestInvalidEventsAreRefused(t *testing.T) {
	open := func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s) }
	eventtest.RefusesNilSchema(t, "perfetto", open)
	eventtest.RefusesInvalidEvents(t, open)
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFailureToWriteIsReported(t *testing.T) {
	s := two()
	w, err := NewWriter(full{}, &s.Schema)
	if err != nil {
		t.Fatal(err)
	}
	w.chunk = 1
	if err := w.Write(&s.Events[0]); !errors.Is(err, errFull) {
		t.Errorf("Write: %v", err)
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close: %v", err)
	}
}

func TestTraceWithoutRecordsHasItsHosts(t *testing.T) {
	s := newStory()
	s.Hosts = []string{"a", ""}
	data, _ := s.write(t)
	if got := tracksOf(t, data); got != "a < \nhost 2 < \n" {
		t.Errorf("tracks %s", got)
	}
}

func TestLengthsOfEverySizeAreWritten(t *testing.T) {
	for n := range 17_000 {
		if n != 0 && (n < 60 || n > 140) && (n < 16_330 || n > 16_390) {
			continue // lengths of one, two and three bytes, of all messages around the text
		}
		s := newStory()
		s.Row("h", "r", trace.Thread, 1, -1)
		s.Class("i", eventtest.Field("text", trace.Text))
		long := strings.Repeat("x", n)
		s.Add(0, 0, trace.Begin, 1, "i", trace.OfText(long))
		s.Add(0, 1, trace.End, 1, "i", trace.OfText(long))
		data, _ := s.write(t)
		if d := draw(t, data); len(d) != 1 || d[0].end != start+1 || strings.Count(string(data), long) < 2 {
			t.Fatalf("texts of %d bytes: %v", n, d)
		}
	}
}

func TestRecordsAreWrittenWithoutAllocation(t *testing.T) {
	s := newStory()
	s.AddCalls(10_000)
	w, err := NewWriter(io.Discard, &s.Schema)
	if err != nil {
		t.Fatal(err)
	}
	w.chunk = 1 << 14
	eventtest.AllocatesLittle(t, func(i int) {
		r := &s.Events[i%len(s.Events)]
		r.Time += start
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		r.Time -= start
	})
}

func BenchmarkWrite(b *testing.B) {
	s := newStory()
	s.AddCalls(100_000)
	size := 0
	for b.Loop() {
		out := counter(0)
		w, err := NewWriter(&out, &s.Schema)
		eventtest.Write(b, w, err, s.Events)
		size = int(out)
	}
	eventtest.ReportRate(b, len(s.Events), size)
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
