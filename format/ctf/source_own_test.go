package ctf

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// markedTimeline is a small one with all that a record can say of itself.
func markedTimeline() (*trace.Schema, []trace.TimelineEvent) {
	number := func(name string) trace.Field {
		return trace.Field{Name: name, Type: trace.Type{Kind: trace.Int, Bits: 32, Base: 10}}
	}
	text := trace.Field{Name: "what", Type: trace.Type{Kind: trace.Text}}
	truth := trace.Field{Name: "true", Type: trace.Type{Kind: trace.Bool}}
	l := &trace.Schema{
		Hosts: []string{"web"},
		Streams: []trace.Stream{
			{Name: "CPU 3", Host: "web", Kind: trace.CPU, ID: 3, Parent: -1},
			{Name: "server", Host: "web", Kind: trace.Process, ID: 77, Parent: -1},
			{Name: "worker", Host: "web", Kind: trace.Thread, ID: 78, Parent: 1},
			{Name: "eth0", Host: "web", Kind: trace.Device, ID: -2, Parent: -1},
		},
		Classes: []trace.Class{
			{Name: "call", Category: "rpc", Fields: []trace.Field{number("size"), text, truth, number("vtid")}, Context: 1},
			{Name: "odd:begin", Fields: []trace.Field{number("size")}},
			{Name: "load", Fields: []trace.Field{number("size")}},
		},
	}
	var records []trace.TimelineEvent
	add := func(e trace.Event, values ...trace.Value) {
		e.Time = clock.HostTime(1_700_000_000_000_000_000 + int64(len(records))*1000)
		records = append(records, trace.TimelineEvent{Event: e, Time: clock.TimelineTime(e.Time), Low: clock.TimelineTime(e.Time), High: clock.TimelineTime(e.Time), Values: values})
	}
	for range 5 {
		add(trace.Event{Stream: 0, Phase: trace.Begin, Slice: 5}, trace.OfInt(-1), trace.OfText("a"), trace.OfBool(true), trace.OfInt(9))
		add(trace.Event{Stream: 0, Phase: trace.End, Slice: 5}, trace.OfInt(-2), trace.Value{}, trace.OfBool(false), trace.OfInt(9))
		add(trace.Event{Stream: 2, Flow: 1 << 63, Role: trace.Sends}, trace.Value{}, trace.OfText("b"), trace.Value{}, trace.OfInt(8))
		add(trace.Event{Stream: 2, Flow: 17, Role: trace.Receives}, trace.OfInt(1), trace.OfText(""), trace.OfBool(true), trace.OfInt(8))
		add(trace.Event{Stream: 3, Class: 1}, trace.OfInt(4))
		add(trace.Event{Stream: 3, Class: 2, Phase: trace.Counter}, trace.OfInt(99))
	}
	return l, records
}

func TestATimelineOfMeridianIsReadBackWithItsRowsPhasesAndMarks(t *testing.T) {
	for _, rows := range []int{0, 1} { // each row a stream; all but the first in one
		t.Run(fmt.Sprint("rows ", rows), func(t *testing.T) {
			l, records := markedTimeline()
			dir := filepath.Join(t.TempDir(), "out")
			(&timeline{schema: l, records: records}).write(t, dir, WriterOptions{Rows: rows})
			var said trace.Warnings
			tr, err := Open(filepath.Join(dir, "web"), &said)
			if err != nil {
				t.Fatal(err)
			}
			s := tr.Events()
			defer s.Close()
			for i := range records {
				want := &records[i]
				var e trace.Event
				if err := s.Next(&e); err != nil {
					t.Fatal(err)
				}
				values := s.Values()
				class := s.Classes()[e.Class]
				row := s.Streams()[e.Stream]
				wantRow, wantClass := l.Streams[want.Stream], l.Classes[want.Class]
				if row.Name != wantRow.Name || row.Kind != wantRow.Kind || row.ID != wantRow.ID {
					t.Fatalf("record %d: row %+v, want %+v", i, row, wantRow)
				}
				if wantRow.Parent >= 0 {
					if row.Parent < 0 || s.Streams()[row.Parent].Name != l.Streams[wantRow.Parent].Name {
						t.Fatalf("record %d: parent %d of %+v", i, row.Parent, s.Streams())
					}
				}
				if e.Time != want.Event.Time || e.Phase != want.Phase || e.Slice != want.Slice || e.Flow != want.Flow || e.Role != want.Role {
					t.Fatalf("record %d: %+v, want %+v", i, e, want.Event)
				}
				if class.Name != wantClass.Name || class.Category != wantClass.Category {
					t.Fatalf("record %d: class %+v, want %+v", i, class, wantClass)
				}
				for k, f := range wantClass.Fields {
					at := -1
					for n := range class.Fields {
						if class.Fields[n].Name == f.Name {
							at = n
						}
					}
					if at < 0 || at >= len(values) || !reflect.DeepEqual(class.Fields[at].Type, f.Type) {
						t.Fatalf("record %d: no field %s in %+v", i, f.Name, class)
					}
					got, want := values[at], want.Values[k]
					if got.Kind != want.Kind || got.Bits != want.Bits || string(got.Data) != string(want.Data) {
						t.Fatalf("record %d: %s is %+v, want %+v", i, f.Name, got, want)
					}
				}
			}
			var e trace.Event
			if err := s.Next(&e); err == nil {
				t.Error("one event too many")
			}
			if len(said.Lines()) > 0 {
				t.Error(said.Lines())
			}
			calls := 0
			for _, c := range s.Classes() {
				if c.Name == "call" {
					calls++
				}
			}
			if calls > 2 { // on a processor's row there is cpu_id too
				t.Errorf("%d classes of one name: %+v", calls, s.Classes())
			}
		})
	}
}

func TestChannelsOfOneProcessorAreOneRow(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	dir := writeTrace(t, smallTSDL, smallStream(t, m, 10, 4096, false, 0), smallStream(t, m, 10, 4096, false, 1), smallStream(t, m, 10, 4096, false, 1))
	tr, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := tr.Events()
	defer s.Close()
	var e trace.Event
	last, n := clock.HostTime(0), 0
	for ; s.Next(&e) == nil; n++ {
		if e.Time < last {
			t.Fatal("out of order")
		}
		last = e.Time
		if want := uint64(s.Streams()[e.Stream].ID); s.Reader().Packet().CPU != want || s.Streams()[e.Stream].Kind != trace.CPU {
			t.Fatalf("row %+v", s.Streams()[e.Stream])
		}
	}
	if n != 30 || len(s.Streams()) != 2 {
		t.Errorf("%d events, rows %+v", n, s.Streams())
	}
}
