package perfetto

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// story is a timeline for tests: rows and classes by name, records as they come.
type story struct {
	trace.Schema
	records []trace.TimelineEvent
}

const start = 1_700_000_000_000_000_000

func (s *story) host(name string) int {
	for i, h := range s.Hosts {
		if h == name {
			return i
		}
	}
	s.Hosts = append(s.Hosts, name)
	return len(s.Hosts) - 1
}

func (s *story) row(host, name string, kind trace.StreamKind, id int64, parent int) int {
	s.host(host)
	s.Streams = append(s.Streams, trace.Stream{Name: name, Host: host, Kind: kind, ID: id, Parent: parent})
	return len(s.Streams) - 1
}

func (s *story) class(name string, fields ...trace.Field) int {
	for i := range s.Classes {
		if s.Classes[i].Name == name {
			return i
		}
	}
	s.Classes = append(s.Classes, trace.Class{Name: name, Fields: fields})
	return len(s.Classes) - 1
}

// add adds a record at so many ns after the start.
func (s *story) add(row int, at clock.HostTime, phase trace.Phase, slice uint64, class string, values ...trace.Value) *trace.TimelineEvent {
	t := start + at
	s.records = append(s.records, trace.TimelineEvent{
		Event: trace.Event{Time: t, Slice: slice, Stream: row, Class: s.class(class), Phase: phase},
		Host:  s.host(s.Streams[row].Host), Time: clock.TimelineTime(t), Low: clock.TimelineTime(t), High: clock.TimelineTime(t), Values: values,
	})
	return &s.records[len(s.records)-1]
}

// message adds an end of a message, an instant.
func (s *story) message(row int, at clock.HostTime, flow uint64, role trace.Role) *trace.TimelineEvent {
	r := s.add(row, at, trace.Instant, 0, "packet")
	r.Flow, r.Role = flow, role
	return r
}

// write returns the file and what the writer had to change.
func (s *story) write(t testing.TB) ([]byte, Tally) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, &s.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.records {
		if err := w.Write(&s.records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w.Tally()
}

func (s *story) save(t testing.TB) string {
	t.Helper()
	data, _ := s.write(t)
	path := filepath.Join(t.TempDir(), "timeline.pftrace")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
