package csv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/format/internal/table"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

func write(t eventtest.Fataler, l *trace.Schema, records []trace.TimelineEvent, o Options) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, l, o)
	eventtest.Write(t, w, err, records)
	return out.Bytes()
}

func small() (*trace.Schema, []trace.TimelineEvent) {
	l := &trace.Schema{Hosts: []string{"web", "=cmd|' /C calc'!A0"}, Streams: []trace.Stream{{Name: "nginx 12", Kind: trace.Thread}},
		Classes: []trace.Class{{Name: "-2+3", Category: "net", Fields: []trace.Field{
			{Name: "len", Type: trace.Type{Kind: trace.Int}}, {Name: "ptr", Type: trace.Type{Kind: trace.Uint, Base: 16}},
			{Name: "@SUM(1)", Type: trace.Type{Kind: trace.Text}}}}}}
	r := trace.TimelineEvent{Event: trace.Event{Time: -5, Phase: trace.Begin, Slice: 4, Flow: 1 << 63, Role: trace.Sends},
		Time: 1_700_000_000_000_000_001, Bounded: true, Low: 1_700_000_000_000_000_000, High: 1_700_000_000_000_000_002,
		Values: []trace.Value{trace.OfInt(-7), trace.OfUint(255), trace.OfText("a\"b\r\nc")}}
	l.Maps = []trace.HostMap{{Component: 3, Map: new(clock.Map)}}
	s := r
	s.Map, s.Host, s.Values = -1, 1, []trace.Value{{}, {}, trace.OfText("'=x")}
	return l, []trace.TimelineEvent{r, s}
}

func TestTableIsAsPromised(t *testing.T) {
	l, records := small()
	const want = `time,time_ns,low_ns,high_ns,recorded_ns,host,row,row_kind,event,category,phase,slice,flow,role,component,len,ptr,'@SUM(1),fields
2023-11-14T22:13:20.000000001Z,1700000000000000001,1700000000000000000,1700000000000000002,-5,web,nginx 12,thread,'-2+3,net,begin,4,9223372036854775808,sends,3,-7,255,"a""b` + "\r\n" + `c",
2023-11-14T22:13:20.000000001Z,1700000000000000001,1700000000000000000,1700000000000000002,-5,'=cmd|' /C calc'!A0,nginx 12,thread,'-2+3,net,begin,4,9223372036854775808,sends,,,,''=x,
`
	if got := string(write(t, l, records, Options{})); got != want {
		t.Errorf("got\n%s\nnot\n%s", got, want)
	}
	if got := string(write(t, l, records, Options{Raw: true})); strings.Contains(got, "'-2+3") || !strings.Contains(got, ",=cmd|") {
		t.Errorf("raw is not as it was:\n%s", got)
	}
	if got := string(write(t, l, records, Options{Columns: -1})); !strings.Contains(got, `"{""len"":-7,""ptr"":255,""@SUM(1)"":""a\""b\u000d\u000ac""}"`) {
		t.Errorf("without columns the fields are not in the last one:\n%s", got)
	}
}

// clean is what a text becomes in any table.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func TestAnyRecordComesBackAndNoTextRunsInASpreadsheet(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		l, records := eventtest.Draw(t)
		out := write(t, l, records, Options{})
		// encoding/csv reads CR LF inside of quotes as LF: both sides are compared without CR.
		lines, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
		if err != nil || len(lines) != len(records)+1 {
			t.Fatalf("%d lines, %v", len(lines), err)
		}
		width := len(lines[0])
		layout := table.New(l, mostColumns)
		if width != len(table.Fixed)+len(layout.Columns)+1 {
			t.Fatalf("%d columns", width)
		}
		for i, line := range lines[1:] {
			r := &records[i]
			if at, err := time.Parse(time.RFC3339Nano, line[0]); err != nil || clock.TimelineTime(at.UnixNano()) != r.Time {
				t.Fatalf("time %q, %v", line[0], err)
			}
			cells := map[int]string{2: "", 3: "", 14: "", 1: strconv.FormatInt(int64(r.Time), 10), 4: strconv.FormatInt(int64(r.Event.Time), 10)}
			if r.Bounded {
				cells[2], cells[3] = strconv.FormatInt(int64(r.Low), 10), strconv.FormatInt(int64(r.High), 10)
			}
			if r.Map >= 0 {
				cells[14] = strconv.Itoa(l.Maps[r.Map].Component)
			}
			for k, want := range cells {
				if line[k] != want {
					t.Fatalf("%s is %q, not %q", lines[0][k], line[k], want)
				}
			}
			layout.Place(r)
			names := table.RowOf(l, r)
			texts := map[int]string{5: names.Host, 6: names.Row, 8: names.Event, 9: names.Category, width - 1: string(layout.Rest)}
			for k, c := range layout.Cells {
				at := len(table.Fixed) + k
				if c.Value == nil {
					if line[at] != "" {
						t.Fatalf("%q where nothing is", line[at])
					}
				} else if text, plain := c.AppendText(nil); plain {
					if line[at] != string(text) {
						t.Fatalf("number %q, not %q", line[at], text)
					}
				} else {
					texts[at] = string(text)
				}
			}
			for k, want := range texts {
				got := line[k]
				if got != "" && strings.ContainsAny(got[:1], "=+-@\t\r\n") {
					t.Fatalf("%q would run", got)
				}
				if strings.ReplaceAll(strings.TrimPrefix(got, "'"), "\r", "") != strings.ReplaceAll(clean(want), "\r", "") {
					t.Fatalf("%q came back as %q", want, got)
				}
			}
		}
	})
}

type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.room {
		return 0, io.ErrShortWrite
	}
	f.room -= len(b)
	return len(b), nil
}

func TestAFullDiskIsToldOnceAndForAll(t *testing.T) {
	l, records := small()
	w, err := NewWriter(&full{100}, l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if err = w.Write(&records[0]); err != nil {
			break
		}
	}
	if !errors.Is(err, io.ErrShortWrite) || !errors.Is(w.Close(), io.ErrShortWrite) || !strings.HasPrefix(err.Error(), "csv: ") {
		t.Errorf("%v, then %v", err, w.Close())
	}
}

func TestALineCostsNoMemory(t *testing.T) {
	l, records := small()
	records[0].Values[2] = trace.OfText("plain")
	w, _ := NewWriter(io.Discard, l, Options{})
	if n := testing.AllocsPerRun(1000, func() { w.Write(&records[0]) }); n > 1 {
		t.Errorf("%v allocations a line", n)
	}
}

func BenchmarkWrite(b *testing.B) {
	l, records := small()
	w, _ := NewWriter(io.Discard, l, Options{})
	for b.Loop() {
		w.Write(&records[0])
	}
}

var _ trace.Sink = (*Writer)(nil)

func TestAWriterWithoutASchemaIsRefused(t *testing.T) {
	eventtest.RefusesNilSchema(t, "csv", func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s, Options{}) })
}

func TestUnknownIndicesAndWritesAfterCloseAreRefused(t *testing.T) {
	eventtest.RefusesUnknownIndices(t, func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s, Options{}) })
}

func TestAddressesAreWrittenAsAddressesInCellsAndInTheRest(t *testing.T) {
	l, events := eventtest.Headers()
	lines := strings.Split(string(write(t, l, events, Options{})), "\n")
	for i, want := range []string{
		"network_header.ipv4.saddr,network_header.ipv4.daddr,network_header.ipv6.flow_lbl,network_header.ipv6.saddr,network_header.ipv6.daddr,address_ipv4,fields",
		",192.168.0.7,10.0.2.255,,,,,", `,,,"[1, 2, 3]",2001:db8::12,::1,,`, ",,,,,,10.0.0.1,",
	} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("%s, want %s", lines[i], want)
		}
	}
	late := &trace.Schema{Hosts: l.Hosts, Streams: l.Streams} // classes that come later have no columns
	var out bytes.Buffer
	w, err := NewWriter(&out, late, Options{})
	late.Classes = l.Classes
	eventtest.Write(t, w, err, events[2:])
	if want := `,"{""address_ipv4"":""10.0.0.1""}"` + "\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s, want %s", out.String(), want)
	}
}
