package ctf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/filetest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// readBack reads the timeline that a Writer wrote at dir and returns a line for each record, in order of time, host by
// host: all that the writer was given, whatever shape it had in the file.
func readBack(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	for _, host := range filetest.Names(t, dir) {
		var w trace.Warnings
		tr, err := Open(filepath.Join(dir, host), &w)
		if err != nil {
			t.Fatal(err)
		}
		s := tr.Events()
		type class struct {
			trace.Class
			back *restorer
		}
		var classes []class
		for e := range eventtest.All(t, s) {
			for len(classes) < len(s.Classes()) {
				c, back := newRestorer(s.Classes()[len(classes)])
				classes = append(classes, class{c, back})
			}
			c := classes[e.Class]
			values := c.back.restore(s.Values())
			row := s.Streams()[e.Stream]
			r := trace.TimelineEvent{Event: e, Time: clock.TimelineTime(e.Time)}
			all = append(all, recordLine(tr.Host(), row, c.Class, &r, values))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if len(w.Lines()) > 0 {
			t.Errorf("%s: %q", host, w.Lines())
		}
	}
	slices.Sort(all)
	return all
}

// tracerFields are context fields that the writer added by itself.
var tracerFields = map[string]bool{"cpu_id": true, "recorded": true, "early": true, "late": true}

// recordLine says of a record all that must survive.
func recordLine(host string, row trace.Stream, c trace.Class, r *trace.TimelineEvent, values []trace.Value) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%020d %s/%s/%d/%d %s %d %d %d %d", uint64(r.Time)+1<<63, host, row.Name, row.Kind, row.ID, c.Name, r.Phase, r.Slice, r.Flow, r.Role)
	for i, f := range c.Fields {
		if i >= len(values) || values[i].Kind == trace.None || tracerFields[f.Name] {
			continue
		}
		fmt.Fprintf(&b, " %s:", f.Name)
		if i >= len(c.Fields)-c.Context {
			b.WriteString("context:")
		}
		valueLine(&b, &f.Type, &values[i])
	}
	return b.String()
}

func valueLine(b *bytes.Buffer, t *trace.Type, v *trace.Value) {
	fmt.Fprintf(b, "%s", t.Kind)
	if bits := t.Bits; t.Kind == trace.Int || t.Kind == trace.Uint || t.Kind == trace.Float {
		if bits == 0 {
			bits = 64
		}
		fmt.Fprintf(b, "%d", bits)
		if t.Base != 0 && t.Base != 10 {
			fmt.Fprintf(b, "/%d", t.Base)
		}
		if l := t.Label(v); l != "" {
			fmt.Fprintf(b, "(%q)", l)
		}
	}
	fmt.Fprintf(b, "=%s", v.Kind)
	switch v.Kind {
	case trace.Text, trace.Bytes:
		fmt.Fprintf(b, "%q", v.Data)
	case trace.Struct, trace.Array, trace.Variant:
		if v.Kind == trace.Variant {
			fmt.Fprintf(b, "%d", v.Bits)
		}
		b.WriteString("{")
		for i := range v.Items {
			x := t.Elem
			if v.Kind == trace.Struct {
				x = &t.Fields[i].Type
				b.WriteString(t.Fields[i].Name + ":")
			} else if v.Kind == trace.Variant {
				x = &t.Fields[v.Bits].Type
			}
			valueLine(b, x, &v.Items[i])
			b.WriteString(" ")
		}
		b.WriteString("}")
	case trace.None:
	default:
		fmt.Fprintf(b, "%x", v.Bits)
	}
}

func (l *timeline) lines() []string {
	var all []string
	for i := range l.records {
		r := &l.records[i]
		all = append(all, recordLine(l.schema.Hosts[r.Host], l.schema.Streams[r.Stream], l.schema.Classes[r.Class], r, r.Values))
	}
	slices.Sort(all)
	return all
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	dir := t.TempDir()
	n := 0
	testseed.Check(t, func(rt *rapid.T) {
		l := drawTimeline(rt, 0)
		n++
		at := filepath.Join(dir, fmt.Sprint(n))
		stats := l.write(t, at, WriterOptions{PacketSize: rapid.IntRange(1, 2000).Draw(rt, "packet")})
		if stats.Moved+stats.Misfits+stats.NULs != 0 {
			rt.Errorf("%+v", stats)
		}
		got, want := readBack(t, at), l.lines()
		os.RemoveAll(at)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				rt.Fatalf("record %d of %d and %d:\n got %s\nwant %s", i, len(got), len(want), strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
			}
		}
	})
}

func TestAbsentPartsAreReadBackAbsent(t *testing.T) {
	l := simple(trace.Stream{Name: "r", Parent: -1})
	number := trace.Type{Kind: trace.Uint, Bits: 8}
	pair := trace.Type{Kind: trace.Struct, Fields: []trace.Field{{Name: "a", Type: trace.Type{Kind: trace.Bool}}, {Name: "b", Type: trace.Type{Kind: trace.Array, Elem: &number}}}}
	l.schema.Classes[0].Fields = []trace.Field{{Name: "l", Type: trace.Type{Kind: trace.Array, Elem: &pair}},
		{Name: "c", Type: trace.Type{Kind: trace.Variant, Fields: []trace.Field{{Name: "n", Type: number}}}}, {Name: "stack", Type: trace.Type{Kind: trace.Array, Elem: &number}}}
	l.schema.Classes[0].Context = 1
	U, none, yes := trace.OfUint, trace.Value{}, trace.OfBool(true)
	for i, stack := range []trace.Value{arrayOf(), arrayOf(U(1), none), none} {
		l.add(clock.HostTime(3*i), 0, arrayOf(structOf(yes, arrayOf(U(2)))), choiceOf(0, U(3)), stack)
		l.add(clock.HostTime(3*i+1), 0, arrayOf(structOf(yes, arrayOf(none, U(2))), none, structOf(none, none)), choiceOf(0, none), stack)
		l.add(clock.HostTime(3*i+2), 0, none, choiceOf(0, U(3)), stack)
	}
	dir := filepath.Join(t.TempDir(), "out")
	l.write(t, dir, WriterOptions{})
	sameLines(t, readBack(t, dir), l.lines())
}
