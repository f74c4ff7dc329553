package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/format/internal/table"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

var _ trace.Sink = (*Writer)(nil)

func write(t eventtest.Fataler, l *trace.Schema, records []trace.TimelineEvent, o Options) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, l, o)
	eventtest.Write(t, w, err, records)
	return out.Bytes()
}

// read returns all rows as the library's reader finds them, each as its columns' values.
func read(t interface{ Fatal(...any) }, file []byte) (*parquet.File, [][]parquet.Value) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]parquet.Value
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		for batch := make([]parquet.Row, 10); ; {
			n, err := rows.ReadRows(batch)
			for _, row := range batch[:n] {
				all = append(all, row.Clone())
			}
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		rows.Close()
	}
	return f, all
}

func TestAnyRecordComesBack(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		l, records := eventtest.Draw(t)
		f, rows := read(t, write(t, l, records, Options{}))
		if len(rows) != len(records) {
			t.Fatalf("%d rows of %d", len(rows), len(records))
		}
		layout := table.New(l, mostColumns)
		names := append([]string{}, table.Fixed...)
		for _, c := range layout.Columns {
			names = append(names, c.Name)
		}
		names = append(names, table.Rest)
		for i, path := range f.Schema().Columns() {
			if len(path) != 1 || path[0] != names[i] {
				t.Fatalf("column %d is %q, not %q", i, path, names[i])
			}
		}
		clean := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
		for i, row := range rows {
			r := &records[i]
			n := table.RowOf(l, r)
			layout.Place(r)
			var component any
			if r.Map >= 0 {
				component = int64(l.Maps[r.Map].Component)
			}
			want := []any{int64(r.Time), int64(r.Time), int64(r.Low), int64(r.High), int64(r.Event.Time), clean(n.Host), clean(n.Row), n.Kind, clean(n.Event),
				clean(n.Category), n.Phase, int64(r.Slice), int64(r.Flow), n.Role, component}
			for k := range 2 {
				if want[11+k] == int64(0) {
					want[11+k] = nil
				}
			}
			if !r.Bounded {
				want[2], want[3] = nil, nil
			}
			for k, c := range layout.Cells {
				switch {
				case c.Value == nil:
					want = append(want, nil)
				case layout.Columns[k].Kind == table.Boolean:
					want = append(want, c.Value.Bool())
				case layout.Columns[k].Kind == table.Integer:
					want = append(want, c.Value.Int())
				case layout.Columns[k].Kind == table.Real:
					v, _ := c.Value.Number()
					want = append(want, v)
				default:
					text, _ := c.AppendText(nil)
					want = append(want, clean(string(text)))
				}
			}
			want = append(want, any(nil))
			if len(layout.Rest) > 0 {
				want[len(want)-1] = string(layout.Rest)
			}
			for k, v := range row {
				var got any
				switch {
				case v.IsNull():
				case v.Kind() == parquet.Boolean:
					got = v.Boolean()
				case v.Kind() == parquet.Int64:
					got = v.Int64()
				case v.Kind() == parquet.Double:
					got = v.Double()
					if w, ok := want[k].(float64); ok && math.IsNaN(w) && math.IsNaN(v.Double()) {
						continue
					}
				default:
					got = string(v.ByteArray())
				}
				if got != want[k] {
					t.Fatalf("%s is %v, not %v", names[k], got, want[k])
				}
			}
		}
	})
}

// busy is a timeline of many records and two classes, with a field that is an integer here and a fraction there.
func busy(n int) (*trace.Schema, func(i int) *trace.TimelineEvent) {
	l := &trace.Schema{Title: "busy", Method: "envelope", Assumption: "bounded wander", Hosts: []string{"web", "db"},
		Streams: []trace.Stream{{Name: "nginx 12", Host: "web", Kind: trace.Thread}, {Name: "CPU 0", Host: "db", Kind: trace.CPU}},
		Classes: []trace.Class{
			{Name: "request", Fields: []trace.Field{{Name: "len", Type: trace.Type{Kind: trace.Uint}},
				{Name: "ip.ttl", Type: trace.Type{Kind: trace.Int}}, {Name: "url", Type: trace.Type{Kind: trace.Text}}}},
			{Name: "load", Fields: []trace.Field{{Name: "len", Type: trace.Type{Kind: trace.Float}}}},
		}}
	var r trace.TimelineEvent
	url := trace.OfText("/index.html")
	values := [][]trace.Value{{trace.OfUint(0), trace.OfInt(64), url}, {trace.OfFloat(0)}}
	return l, func(i int) *trace.TimelineEvent {
		r = trace.TimelineEvent{Event: trace.Event{Class: i % 2, Stream: i % 2}, Time: clock.TimelineTime(1_700_000_000e9 + int64(i)*1000), Host: i % 2, Values: values[i%2]}
		r.Bounded = true
		r.Low, r.High, r.Event.Time = r.Time-50, r.Time+50, clock.HostTime(r.Time)+clock.HostTime(i)
		if i%2 == 0 {
			r.Values[0] = trace.OfUint(uint64(i))
			r.Flow, r.Role = uint64(i)+1, trace.Sends
		} else {
			r.Values[0] = trace.OfFloat(float64(i) + 0.5)
		}
		return &r
	}
}

func writeBusy(t testing.TB, w io.Writer, n int) {
	l, record := busy(n)
	p, err := NewWriter(w, l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := p.Write(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRowGroupsAreBoundedAndMetadataSaysTheMethod(t *testing.T) {
	const n = 300_000
	var out bytes.Buffer
	writeBusy(t, &out, n)
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if f.NumRows() != n || len(f.RowGroups()) != 3 {
		t.Errorf("%d rows in %d groups", f.NumRows(), len(f.RowGroups()))
	}
	for _, g := range f.RowGroups() {
		if g.NumRows() > groupRows+batchRows {
			t.Errorf("a group of %d rows", g.NumRows())
		}
	}
	for key, want := range map[string]string{"meridian.title": "busy", "meridian.method": "envelope", "meridian.assumption": "bounded wander"} {
		if got, _ := f.Lookup(key); got != want {
			t.Errorf("%s is %q", key, got)
		}
	}
	if perRow := float64(out.Len()) / n; perRow > 30 {
		t.Errorf("%.1f bytes a row", perRow)
	}
}

func TestHugeTextsEndRowGroupsEarly(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Host: "a"}}, Classes: []trace.Class{{Fields: []trace.Field{{Name: "t", Type: trace.Type{Kind: trace.Text}}}}}}
	records := make([]trace.TimelineEvent, 600)
	for i := range records {
		records[i].Values = []trace.Value{trace.OfText(fmt.Sprint(i) + strings.Repeat("x", 256<<10))}
	}
	out := write(t, l, records, Options{})
	f, err := parquet.OpenFile(bytes.NewReader(out), int64(len(out)))
	if err != nil || len(f.RowGroups()) < 4 {
		t.Errorf("%v, %d groups", err, len(f.RowGroups()))
	}
}

func TestAFullDiskIsTold(t *testing.T) {
	l, record := busy(1)
	p, err := NewWriter(full{}, l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Write(record(0))
	if err := p.Close(); !errors.Is(err, io.ErrShortWrite) || !strings.HasPrefix(err.Error(), "parquet: ") {
		t.Errorf("%v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func BenchmarkWrite(b *testing.B) {
	writeBusy(b, io.Discard, b.N)
}

func TestAWriterWithoutASchemaIsRefused(t *testing.T) {
	eventtest.RefusesNilSchema(t, "parquet", func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s, Options{}) })
}

func TestUnknownIndicesAndWritesAfterCloseAreRefused(t *testing.T) {
	eventtest.RefusesUnknownIndices(t, func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s, Options{}) })
}
