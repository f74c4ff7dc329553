package ctf

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"meridian/trace"
)

// programs returns the metadata of a trace of so many programs, of which each declares the same, but for the last event of those of which odd is true.
func programs(n int, odd func(int) bool) string {
	var b strings.Builder
	b.WriteString("/* CTF 1.8 */\ntypealias integer { size = 64; align = 8; } := u64;\ntypealias integer { size = 16; align = 8; } := u16;\n" +
		"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u64 stream_id; }; };\n")
	for i := range n {
		fmt.Fprintf(&b, "stream { id = %d; packet.context := struct { u64 content_size; u64 packet_size; }; event.header := struct { u64 timestamp; u16 id; }; };\n", i)
		for k := range 10 {
			field := fmt.Sprint("_field", k)
			if k == 9 && odd(i) {
				field = fmt.Sprint("_odd", i)
			}
			fmt.Fprintf(&b, "event { name = \"program:event %d\"; id = %d; stream_id = %d; model.emf.uri = \"meridian:category:x\"; fields := struct { u64 %s; string _text; enum : u16 { \"a\" = 0, \"b\" = 1 } _kind; }; };\n", k, k, i, field)
		}
	}
	return b.String()
}

func TestEqualStreamClassesAreTheSameMemoryAndOthersAreNot(t *testing.T) {
	text := programs(6, func(i int) bool { return i%3 == 2 })
	var w trace.Warnings
	m, err := ParseMetadata([]byte(text), "metadata", &w)
	if err != nil || len(w.Lines()) > 0 {
		t.Fatal(err, w.Lines())
	}
	for i := range m.Streams {
		c := &m.Streams[i]
		if c.ID != uint64(i) || len(c.Events) != 10 {
			t.Fatalf("class %d has the number %d and %d events", i, c.ID, len(c.Events))
		}
		want := "field9"
		if i%3 == 2 {
			want = fmt.Sprint("odd", i)
		}
		if got := c.Events[9].Payload.Fields[0].Name; got != want {
			t.Errorf("class %d: %q, not %q", i, got, want)
		}
		if same := &c.Events[0] == &m.Streams[0].Events[0]; same != (i%3 != 2) {
			t.Errorf("class %d shares its events: %v", i, same)
		}
	}
	// What is appended to one class is no other's.
	m.Streams[1].Events = append(m.Streams[1].Events, EventClass{ID: 99})
	m.Streams[0].Events = append(m.Streams[0].Events, EventClass{ID: 98})
	if id := m.Streams[1].Events[10].ID; id != 99 {
		t.Errorf("event %d", id)
	}
	// Printed and read again nothing is different.
	m.Streams[0].Events, m.Streams[1].Events = m.Streams[0].Events[:10], m.Streams[1].Events[:10]
	var out bytes.Buffer
	if err := m.WriteTSDL(&out); err != nil {
		t.Fatal(err)
	}
	again, err := ParseMetadata(out.Bytes(), "metadata", &w)
	if err != nil || len(again.Streams) != len(m.Streams) {
		t.Fatal(err)
	}
	for i := range m.Streams {
		if !reflect.DeepEqual(m.Streams[i].Events, again.Streams[i].Events) {
			t.Errorf("the events of class %d are not the same", i)
		}
	}
}

func TestAStreamClassThatIsLikeOthersCostsSomeHundredBytes(t *testing.T) {
	const n = 400
	text := []byte(programs(n, func(int) bool { return false }))
	before := heap()
	var w trace.Warnings
	m, err := parseGrowing(text, "metadata", &w)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlan(m, "metadata", &w)
	if err != nil {
		t.Fatal(err)
	}
	each := (heap() - before) / n
	t.Logf("%d bytes for each of %d classes, of %d in the text", each, n, len(text)/n)
	if each > 1500 {
		t.Errorf("%d bytes a class", each)
	}
	if len(p.list) != n || p.list[7].class != &m.Streams[7] || p.list[7].number != 7 {
		t.Errorf("%d plans", len(p.list))
	}
	runtime.KeepAlive(text)
	runtime.KeepAlive(m)
}
