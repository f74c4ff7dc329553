// Package eventtest is what tests of what reads and writes events share: it builds and draws timelines, gives them to a writer, and reads
// sources to their end.
package eventtest

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// Fataler is a testing.TB or a rapid.T.
type Fataler interface{ Fatal(...any) }

// All yields the events of a source; Values are asked of the source while an event is at hand.
func All(t Fataler, s trace.Source) iter.Seq[trace.Event] {
	return func(yield func(trace.Event) bool) {
		for {
			var e trace.Event
			if err := s.Next(&e); err == io.EOF {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			if !yield(e) {
				return
			}
		}
	}
}

// Write gives events to a new writer, whose constructor returned err, and closes it.
func Write(t Fataler, w trace.Sink, err error, events []trace.TimelineEvent) {
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := w.Write(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// Save writes data to a file of that name in a directory of the test's own, and returns its path.
func Save(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Story is a timeline that a test tells event by event, with rows and classes by name.
type Story struct {
	trace.Schema
	Start  clock.HostTime
	Events []trace.TimelineEvent
}

// Field returns a field.
func Field(name string, kind trace.ValueKind) trace.Field {
	return trace.Field{Name: name, Type: trace.Type{Kind: kind}}
}

// Host returns the index of a host, which is added where it is new.
func (s *Story) Host(name string) int {
	i := slices.Index(s.Hosts, name)
	if i < 0 {
		i = len(s.Hosts)
		s.Hosts = append(s.Hosts, name)
	}
	return i
}

// Row adds a stream.
func (s *Story) Row(host, name string, kind trace.StreamKind, id int64, parent int) int {
	s.Host(host)
	s.Streams = append(s.Streams, trace.Stream{Name: name, Host: host, Kind: kind, ID: id, Parent: parent})
	return len(s.Streams) - 1
}

// Class returns the index of a class, which is added with those fields where it is new.
func (s *Story) Class(name string, fields ...trace.Field) int {
	for i := range s.Classes {
		if s.Classes[i].Name == name {
			return i
		}
	}
	s.Classes = append(s.Classes, trace.Class{Name: name, Fields: fields})
	return len(s.Classes) - 1
}

// Add adds an event so many ns after the start; the result is valid until the next call.
func (s *Story) Add(row int, at clock.HostTime, phase trace.Phase, slice uint64, class string, values ...trace.Value) *trace.TimelineEvent {
	t := s.Start + at
	s.Events = append(s.Events, trace.TimelineEvent{
		Event: trace.Event{Time: t, Slice: slice, Stream: row, Class: s.Class(class), Phase: phase},
		Host:  s.Host(s.Streams[row].Host), Time: clock.TimelineTime(t), Low: clock.TimelineTime(t), High: clock.TimelineTime(t), Values: values,
	})
	return &s.Events[len(s.Events)-1]
}

// Message adds an end of a message, an instant.
func (s *Story) Message(row int, at clock.HostTime, flow uint64, role trace.Role) *trace.TimelineEvent {
	r := s.Add(row, at, trace.Instant, 0, "packet")
	r.Flow, r.Role = flow, role
	return r
}

// Sort orders the events by time.
func (s *Story) Sort() {
	slices.SortStableFunc(s.Events, func(a, b trace.TimelineEvent) int { return cmp.Compare(a.Time, b.Time) })
}

// DeclareClasses adds classes with fields of every kind: "request" and "return" of a slice, "all", the counters "net" and
// "clock bound", and "packet".
func (s *Story) DeclareClasses() {
	s.Class("request", Field("path", trace.Text), Field("cpu_id", trace.Uint))
	s.Classes[0].Context = 1
	s.Classes[0].Category = "http"
	s.Class("return", Field("status", trace.Int))
	state := trace.Field{Name: "state", Type: trace.Type{Kind: trace.Int, Labels: []trace.Label{{Name: "RUNNING", Low: 0, High: 0}}}}
	pair := trace.Type{Kind: trace.Struct, Fields: []trace.Field{Field("host", trace.Text), Field("port", trace.Uint)}}
	either := trace.Type{Kind: trace.Variant, Fields: []trace.Field{Field("number", trace.Int), Field("name", trace.Text)}}
	s.Class("all", Field("bool", trace.Bool), Field("int", trace.Int), Field("uint", trace.Uint), Field("real", trace.Float),
		Field("nan", trace.Float), Field("text", trace.Text), Field("bytes", trace.Bytes), state,
		trace.Field{Name: "address", Type: trace.Type{Kind: trace.Uint, Base: 16}},
		trace.Field{Name: "peer", Type: pair}, trace.Field{Name: "peers", Type: trace.Type{Kind: trace.Array, Elem: &pair}},
		trace.Field{Name: "either", Type: either}, Field("absent", trace.Int))
	s.Class("net", Field("rx_bytes", trace.Uint), Field("load", trace.Float), Field("cpu_id", trace.Uint))
	s.Classes[len(s.Classes)-1].Context = 1
	s.Class("clock bound", Field("bound_ns", trace.Uint))
	s.Class("packet")
}

// Traffic adds messages between three hosts a, b and c, with stamps so coarse that many are equal and arrivals may stand
// before their sends; the first few arrive before they were sent. It returns the arrows that are to be drawn, sorted, each
// "FROM_NS|TO_NS|FROM_HOST|TO_HOST", with origin added to the times after the start.
func (s *Story) Traffic(messages, inverted int, origin clock.HostTime) (arrows []string) {
	var rows []int
	for _, host := range []string{"a", "b", "c"} {
		rows = append(rows, s.Row(host, "messages", trace.Messages, 0, -1))
	}
	phases := []trace.Phase{trace.Instant, trace.Begin, trace.End}
	random := rand.New(rand.NewPCG(1, 2))
	for _, i := range random.Perm(messages) {
		from := random.IntN(3)
		to := (from + 1 + random.IntN(2)) % 3
		sent := clock.HostTime(random.Int64N(500))
		received := sent + clock.HostTime(random.Int64N(3))
		first, second := from, to
		if i < inverted {
			sent, received = sent+3, sent
			first, second = to, from
		}
		r := s.Message(rows[to], received, uint64(i+1)<<40|7, trace.Receives)
		r.Phase, r.Slice = phases[i%3], uint64(i/3+1)
		r = s.Message(rows[from], sent, uint64(i+1)<<40|7, trace.Sends)
		r.Phase, r.Slice = phases[i%3], uint64(i/3+1)
		arrows = append(arrows, fmt.Sprintf("%d|%d|%s|%s", origin+min(sent, received), origin+max(sent, received), s.Hosts[first], s.Hosts[second]))
	}
	s.Sort()
	slices.Sort(arrows)
	return arrows
}

// SameLines compares sorted lines with those of a text in any order.
func SameLines(t testing.TB, text string, want []string) {
	t.Helper()
	got := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(got)
	if slices.Equal(got, want) {
		return
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%d lines, want %d; the first that differs is %s, want %s", len(got), len(want), got[i], want[i])
		}
	}
	t.Fatalf("%d lines, want %d", len(got), len(want))
}
