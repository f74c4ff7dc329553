package ctf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/trace"
)

// write writes a timeline to dir.
func (l *timeline) write(t testing.TB, dir string, o WriterOptions) WriterStats {
	t.Helper()
	w, err := NewWriter(dir, l.schema, o)
	eventtest.Write(t, w, err, l.records)
	return w.Stats()
}

func (l *timeline) expected(bounds bool) []string {
	var all []string
	for i := range l.records {
		all = append(all, strings.Split(l.expectedLine(&l.records[i], bounds), "\n")...)
	}
	return all
}

func TestBabeltracePrintsEveryRecordAsItWasWritten(t *testing.T) {
	peer(t, "babeltrace2")
	for seed := range 40 {
		l := rapid.Custom(func(t *rapid.T) *timeline { return drawTimeline(t, 1) }).Example(seed)
		dir := filepath.Join(t.TempDir(), "out.ctf")
		stats := l.write(t, dir, WriterOptions{PacketSize: 1 << (seed % 12)})
		if want := (WriterStats{Events: uint64(len(l.records)), Packets: stats.Packets, Bytes: stats.Bytes}); stats != want {
			t.Errorf("seed %d: %+v", seed, stats)
		}
		sameLines(t, babeltrace(t, dir, "--clock-seconds", "--no-delta"), l.expected(l.schema.Method != ""))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// simple returns a timeline of one host, whose rows are given, and one class of one field, "x".
func simple(rows ...trace.Stream) *timeline {
	for i := range rows {
		rows[i].Host = "web"
	}
	return &timeline{schema: &trace.Schema{Hosts: []string{"web"}, Streams: rows,
		Classes: []trace.Class{{Name: "e", Fields: []trace.Field{{Name: "x", Type: trace.Type{Kind: trace.Uint, Bits: 32}}}}}}}
}

func (l *timeline) add(time clock.HostTime, row int, values ...trace.Value) {
	l.records = append(l.records, trace.TimelineEvent{Event: trace.Event{Time: time, Stream: row}, Time: clock.TimelineTime(time), Low: clock.TimelineTime(time), High: clock.TimelineTime(time), Bounded: true, Values: values})
}

func TestRowsBeyondTheMostShareOneStream(t *testing.T) {
	var rows []trace.Stream
	for i := range 300 {
		rows = append(rows, trace.Stream{Name: fmt.Sprint("thread ", i), Kind: trace.Thread, ID: int64(i), Parent: min(i-1, 0)})
	}
	rows[0].Parent = -1
	l := simple(rows...)
	for i := range 900 {
		l.add(clock.HostTime(i), i%300, trace.OfUint(uint64(i)))
	}
	dir := filepath.Join(t.TempDir(), "out")
	l.write(t, dir, WriterOptions{PacketSize: 4096})
	files, err := os.ReadDir(filepath.Join(dir, "web"))
	if err != nil || len(files) != 256+1+1 {
		t.Errorf("%d files, %v", len(files), err)
	}
	var got []string
	for i, line := range babeltrace(t, dir, "--no-delta") {
		name := fmt.Sprintf(`row = "thread %d", `, i%300)
		if !strings.Contains(line, name) {
			t.Fatalf("line %d is not of %s: %s", i, name, line)
		}
		_, value, _ := strings.Cut(line, "{ x = ")
		got = append(got, value)
	}
	var want []string
	for i := range 900 {
		want = append(want, fmt.Sprintf("%d }", i))
	}
	sameLines(t, got, want)
}

func TestARowWithoutEventsIsWrittenIfOthersBelongToIt(t *testing.T) {
	l := simple(trace.Stream{Name: "system", Parent: -1}, trace.Stream{Name: "nginx", Kind: trace.Process, Parent: 0},
		trace.Stream{Name: "alone", Parent: -1}, trace.Stream{Name: "worker", Kind: trace.Thread, Parent: 1})
	l.add(5, 3, trace.OfUint(1))
	dir := filepath.Join(t.TempDir(), "out")
	l.write(t, dir, WriterOptions{})
	for name, want := range map[string]bool{"system": true, "nginx": true, "worker": true, "alone": false} {
		info, err := os.Stat(filepath.Join(dir, "web", name))
		if got := err == nil && info.Size() > 0; got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	sameLines(t, babeltrace(t, dir, "--clock-seconds", "--no-delta"), l.expected(false))
}

func TestTimesBefore1970AndTheEndsOfTime(t *testing.T) {
	const least, most = -1 << 63, 1<<63 - 1
	for _, c := range []struct {
		times []clock.HostTime
		want  []string
		moved uint64
	}{
		{[]clock.HostTime{0, 1}, []string{"[0.000000000]", "[0.000000001]"}, 0},
		{[]clock.HostTime{-1, 0, 1}, []string{"[-0.000000001]", "[0.000000000]", "[0.000000001]"}, 0},
		{[]clock.HostTime{-2_000_000_000, 3}, []string{"[-2.000000000]", "[0.000000003]"}, 0},
		{[]clock.HostTime{most - 2, most - 1, most}, []string{"[9223372036.854775805]", "[9223372036.854775806]", "[9223372036.854775806]"}, 1},
		{[]clock.HostTime{-9223372036_000000000, 5}, []string{"[-9223372036.000000000]", "[0.000000005]"}, 0},
		{[]clock.HostTime{least, -9223372036_000000000}, []string{"[-9223372036.000000000]", "[-9223372036.000000000]"}, 1},
		{[]clock.HostTime{-1000_000000000, most}, []string{"[-1000.000000000]", "[9223371036.854775806]"}, 1},
		{[]clock.HostTime{9, 7, 11}, []string{"[0.000000009]", "[0.000000009]", "[0.000000011]"}, 1},
	} {
		l := simple(trace.Stream{Name: "r", Parent: -1})
		for _, at := range c.times {
			l.add(at, 0, trace.OfUint(0))
		}
		dir := filepath.Join(t.TempDir(), "out")
		var w trace.Warnings
		stats := l.write(t, dir, WriterOptions{Warnings: &w})
		var got []string
		for _, line := range babeltrace(t, dir, "--clock-seconds", "--no-delta") {
			got = append(got, strings.Fields(line)[0])
		}
		sameLines(t, got, c.want)
		if stats.Moved != c.moved || (len(w.Lines()) > 0) != (c.moved > 0) {
			t.Errorf("%d: %d moved, %q", c.times, stats.Moved, w.Lines())
		}
	}
}

func TestClassesAndRowsMayAppearWhileRecordsCome(t *testing.T) {
	l := simple(trace.Stream{Name: "first", Parent: -1})
	dir := filepath.Join(t.TempDir(), "out")
	w, err := NewWriter(dir, l.schema, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if i == 100 {
			l.schema.Hosts = append(l.schema.Hosts, "late")
		}
		l.schema.Classes = append(l.schema.Classes, trace.Class{Name: fmt.Sprint("class ", i), Fields: []trace.Field{{Name: fmt.Sprint("y", i), Type: trace.Type{Kind: trace.Text}}}})
		l.schema.Streams = append(l.schema.Streams, trace.Stream{Name: fmt.Sprint("row ", i), Host: l.schema.Hosts[i/100], Parent: -1})
		r := trace.TimelineEvent{Event: trace.Event{Stream: i + 1, Class: i + 1}, Time: clock.TimelineTime(i), Host: i / 100, Values: []trace.Value{trace.OfText("v")}}
		l.records = append(l.records, r)
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sameLines(t, babeltrace(t, dir, "--clock-seconds", "--no-delta"), l.expected(false))
}

func TestManySetsOfAbsentFieldsMakeFieldsOptional(t *testing.T) {
	l := simple(trace.Stream{Name: "r", Parent: -1})
	c := &l.schema.Classes[0]
	c.Fields = nil
	for i := range 70 {
		c.Fields = append(c.Fields, trace.Field{Name: fmt.Sprint("f", i), Type: trace.Type{Kind: trace.Uint, Bits: 16}})
	}
	var want []string
	for i := range 200 {
		values := make([]trace.Value, 70)
		text := ""
		for j := range values {
			if (i>>(j%8)+j)%3 != 0 {
				values[j] = trace.OfUint(uint64(j))
				text += fmt.Sprintf(" f%d=%d", j, j)
			}
		}
		l.add(clock.HostTime(i), 0, values...)
		want = append(want, text)
	}
	dir := filepath.Join(t.TempDir(), "out")
	l.write(t, dir, WriterOptions{})
	var got []string
	optional := 0
	for _, line := range babeltrace(t, dir) {
		_, fields, _ := strings.Cut(line, "}, {")
		text := ""
		for _, f := range strings.Split(strings.TrimSuffix(fields, " }"), ", ") {
			name, value, _ := strings.Cut(strings.TrimSpace(f), " = ")
			if strings.HasSuffix(name, "_present") {
				optional++
			} else if value = strings.Trim(value, "{ }"); value != "" {
				text += " " + name + "=" + value
			}
		}
		got = append(got, text)
	}
	sameLines(t, got, want)
	metadata, err := os.ReadFile(filepath.Join(dir, "web", "metadata"))
	if n := strings.Count(string(metadata), "event {"); err != nil || n > 200 || optional == 0 {
		t.Errorf("%d event classes, %d optional fields, %v", n, optional, err)
	}
}

func TestPartsOfStructuresMayBeAbsent(t *testing.T) {
	l := simple(trace.Stream{Name: "r", Parent: -1})
	number := trace.Type{Kind: trace.Uint, Bits: 8}
	pair := trace.Type{Kind: trace.Struct, Fields: []trace.Field{{Name: "a", Type: number}, {Name: "b", Type: trace.Type{Kind: trace.Array, Elem: &number}}}}
	l.schema.Classes[0].Fields = []trace.Field{{Name: "l", Type: trace.Type{Kind: trace.Array, Elem: &pair}}, {Name: "c", Type: trace.Type{Kind: trace.Variant, Fields: []trace.Field{{Name: "n", Type: number}}}}}
	U, none := trace.OfUint, trace.Value{}
	l.add(1, 0, arrayOf(structOf(U(1), arrayOf(U(2)))), choiceOf(0, U(3)))
	l.add(2, 0, arrayOf(structOf(U(1), arrayOf(none, U(2))), none, structOf(none)), choiceOf(0, none))
	l.add(3, 0, arrayOf(structOf(U(1), arrayOf(U(2)))), choiceOf(0, U(3)))
	dir := filepath.Join(t.TempDir(), "out")
	if stats := l.write(t, dir, WriterOptions{}); stats.Misfits != 0 {
		t.Errorf("%+v", stats)
	}
	there := func(v string) string {
		return `_value_present = ( "_present" : container = 1 ), value = { ` + v + ` }`
	}
	const gone = `_value_present = ( "_absent" : container = 0 ), value = { { } }`
	b := func(n int, items string) string {
		return fmt.Sprintf(`_b_present = ( "_present" : container = 1 ), b = { { _value_length = %d, value = [ %s ] } }`, n, items)
	}
	const a1 = `_a_present = ( "_present" : container = 1 ), a = { 1 }`
	choice := func(v string) string { return `_c_tag = ( "_n" : container = 0 ), c = { { ` + v + ` } }` }
	var got []string
	for _, line := range babeltrace(t, dir) {
		_, fields, _ := strings.Cut(line, "}, { ")
		got = append(got, fields)
	}
	full := `_l_length = 1, l = [ [0] = { ` + there("{ "+a1+", "+b(1, "[0] = { "+there("2")+" }")+" }") + ` } ], ` + choice(there("3")) + ` }`
	sameLines(t, got, []string{
		`_l_length = 1, l = [ [0] = { a = 1, _b_length = 1, b = [ [0] = 2 ] } ], _c_tag = ( "_n" : container = 0 ), c = { 3 } }`,
		`_l_length = 3, l = [ [0] = { ` + there("{ "+a1+", "+b(2, "[0] = { "+gone+" }, [1] = { "+there("2")+" }")+" }") + ` }, [1] = { ` + gone + ` }, [2] = { ` +
			there(`{ _a_present = ( "_absent" : container = 0 ), a = { { } }, _b_present = ( "_absent" : container = 0 ), b = { { } } }`) + ` } ], ` + choice(gone) + ` }`,
		full,
	})
}

func TestNamesOfPhasesAreNeverMistaken(t *testing.T) {
	for _, c := range []struct {
		name, category string
		phase          trace.Phase
		want, uri      string
	}{
		{"gc", "", trace.Instant, "gc", ""}, {"gc", "c", trace.Instant, "gc", "meridian:category:c"},
		{"gc", "", trace.Begin, "gc:begin", ""}, {"gc", "", trace.End, "gc:end", ""}, {"gc", "", trace.Counter, "gc:counter", ""},
		{"req:begin", "", trace.Instant, "req:begin", "meridian:instant:"}, {"req:end", "c", trace.Instant, "req:end", "meridian:instant:c"},
		{"req:begin", "c", trace.Begin, "req:begin:begin", "meridian:category:c"}, {"x:instant", "", trace.Instant, "x:instant", ""},
		{"x:instant", "", trace.End, "x:instant:end", ""}, {"", "", trace.Begin, ":begin", ""}, {"x", "", 77, "x", ""},
		{":counter", "", trace.Instant, ":counter", "meridian:instant:"},
	} {
		if name, uri := eventName(&trace.Class{Name: c.name, Category: c.category}, c.phase); name != c.want || uri != c.uri {
			t.Errorf("%q, phase %d: %q, %q", c.name, c.phase, name, uri)
		}
	}
}

// An instant event named like the begin of a slice, beside that slice, is read back as what it was, and others see its name.
func TestInstantEventsKeepANameThatEndsLikeAPhase(t *testing.T) {
	l := simple(trace.Stream{Name: "row", Parent: -1})
	names := []string{"req:begin", "req:end", "req", "n:counter"}
	l.schema.Classes = nil
	for _, n := range names {
		l.schema.Classes = append(l.schema.Classes, trace.Class{Name: n, Category: "c"})
	}
	for i, e := range []trace.Event{{Class: 0}, {Class: 1}, {Class: 2, Phase: trace.Begin}, {Class: 2, Phase: trace.End}, {Class: 3}, {Class: 0, Phase: trace.Begin}} {
		e.Time = clock.HostTime(i + 1)
		l.records = append(l.records, trace.TimelineEvent{Event: e, Time: clock.TimelineTime(e.Time)})
	}
	dir := filepath.Join(t.TempDir(), "out")
	l.write(t, dir, WriterOptions{})
	found, err := Find(dir)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	tr, err := Open(found[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	s := tr.Events()
	defer s.Close()
	var got []string
	for e := (trace.Event{}); s.Next(&e) == nil; {
		c := s.Classes()[e.Class]
		got = append(got, fmt.Sprint(c.Category, " ", c.Name, " ", e.Phase))
	}
	var want []string
	for _, r := range l.records {
		want = append(want, fmt.Sprint("c ", names[r.Class], " ", r.Phase))
	}
	sameLines(t, got, want)
	var seen []string
	for _, line := range babeltrace(t, dir, "--no-delta") {
		fields := strings.Fields(line)
		seen = append(seen, strings.TrimSuffix(fields[2], ":"))
	}
	sameLines(t, seen, []string{"req:begin", "req:end", "req:begin", "req:end", "n:counter", "req:begin:begin"})
}

func TestMemoryIsBoundedWhateverTheRows(t *testing.T) {
	var rows []trace.Stream
	for i := range 200 {
		rows = append(rows, trace.Stream{Name: fmt.Sprint(i), Parent: -1})
	}
	l := simple(rows...)
	w, err := NewWriter(filepath.Join(t.TempDir(), "out"), l.schema, WriterOptions{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r := trace.TimelineEvent{Values: []trace.Value{trace.OfUint(1)}}
	for i := range 300_000 {
		r.Time, r.Stream = clock.TimelineTime(i), i%200
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, f := range w.hosts[0].files {
			held += f.w.Buffered()
			if i%1000 > 0 {
				break
			}
		}
		if held > 1<<20+1<<16 {
			t.Fatalf("%d bytes", held)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if s := w.Stats(); s.Events != 300_000 || s.Packets > 3000 {
		t.Errorf("%+v", s)
	}
}

func TestRecordsThatTheSchemaDoesNotHaveAreErrors(t *testing.T) {
	for _, e := range []trace.TimelineEvent{{Host: 1}, {Host: -1}, {Event: trace.Event{Stream: 1}}, {Event: trace.Event{Class: -1}}} {
		dir := filepath.Join(t.TempDir(), "out")
		w, err := NewWriter(dir, simple(trace.Stream{Name: "r", Parent: -1}).schema, WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(&e); err == nil || !strings.Contains(err.Error(), "which the schema lacks") {
			t.Error(err)
		}
		if err := w.Close(); err == nil {
			t.Error("closed as if nothing had happened")
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}
