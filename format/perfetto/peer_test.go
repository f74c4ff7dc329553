package perfetto

import (
	"math"
	"testing"

	"meridian/internal/traceprocessor"
	"meridian/trace"
)

func field(name string, kind trace.ValueKind) trace.Field {
	return trace.Field{Name: name, Type: trace.Type{Kind: kind}}
}

func structure(values ...trace.Value) trace.Value { return trace.Value{Kind: trace.Struct, Items: values} }
func array(values ...trace.Value) trace.Value     { return trace.Value{Kind: trace.Array, Items: values} }

// two is a timeline of two hosts with everything in it.
func two() *story {
	s := new(story)
	s.Method, s.Assumption = "envelope", "bounded wander"
	s.Hosts = []string{"web", "db"}
	s.class("request", field("path", trace.Text), field("cpu_id", trace.Uint))
	s.Classes[0].Context = 1
	s.Classes[0].Category = "http"
	s.class("return", field("status", trace.Int))
	state := trace.Field{Name: "state", Type: trace.Type{Kind: trace.Int, Labels: []trace.Label{{Name: "RUNNING", Low: 0, High: 0}}}}
	pair := trace.Type{Kind: trace.Struct, Fields: []trace.Field{field("host", trace.Text), field("port", trace.Uint)}}
	either := trace.Type{Kind: trace.Choice, Fields: []trace.Field{field("number", trace.Int), field("name", trace.Text)}}
	s.class("all", field("bool", trace.Bool), field("int", trace.Int), field("uint", trace.Uint), field("real", trace.Float),
		field("nan", trace.Float), field("text", trace.Text), field("bytes", trace.Bytes), state,
		trace.Field{Name: "address", Type: trace.Type{Kind: trace.Uint, Base: 16}},
		trace.Field{Name: "peer", Type: pair}, trace.Field{Name: "peers", Type: trace.Type{Kind: trace.Array, Elem: &pair}},
		trace.Field{Name: "either", Type: either}, field("absent", trace.Int))
	s.class("net", field("rx_bytes", trace.Uint), field("load", trace.Float), field("cpu_id", trace.Uint))
	s.Classes[len(s.Classes)-1].Context = 1
	s.class("clock bound", field("bound_ns", trace.Uint))
	s.class("packet")

	process := s.row("web", "nginx", trace.Process, 12, -1)
	worker := s.row("web", "worker", trace.Thread, 13, process)
	other := s.row("web", "worker", trace.Thread, 14, process) // the same name is another row
	s.row("db", "eth0", trace.Device, 2, -1)
	s.row("db", "", trace.CPU, 1, -1)
	s.row("db", "", trace.CPU, 0, -1)
	bounds := s.row("db", "bounds", trace.Bounds, 0, -1)
	messages := s.row("db", "messages", trace.Messages, 0, -1)
	eth0, cpu1, cpu0 := 3, 4, 5

	s.add(worker, 10, trace.Begin, 0, "request", trace.OfText("/"), trace.OfUint(3))
	s.add(other, 11, trace.Instant, 0, "packet")
	s.message(worker, 20, 1<<63|5, trace.Sends)
	s.add(worker, 21, trace.Begin, 0, "request", trace.OfText("/inner\x00\xff"), trace.OfUint(3))
	s.add(cpu1, 22, trace.Instant, 0, "all", trace.OfBool(true), trace.OfInt(-7), trace.OfUint(1<<64-1), trace.OfFloat(0.5),
		trace.OfFloat(math.NaN()), trace.OfText("tëxt"), trace.OfBytes([]byte{0xc0, 0xff}), trace.OfInt(0), trace.OfUint(0xbeef),
		structure(trace.OfText("a"), trace.OfUint(80)), array(structure(trace.OfText("b"), trace.OfUint(1)), structure(trace.OfText("c"))),
		trace.Value{Kind: trace.Choice, Bits: 1, Items: []trace.Value{trace.OfText("chosen")}})
	s.add(cpu0, 23, trace.Instant, 0, "packet")
	r := s.message(messages, 25, 1<<63|5, trace.Receives)
	r.Recorded, r.Low, r.High = r.Time+1_000_000, r.Time-3, r.Time+4
	s.add(bounds, 26, trace.Counter, 0, "clock bound", trace.OfUint(7))
	s.add(eth0, 27, trace.Counter, 0, "net", trace.OfUint(100), trace.OfFloat(0.25), trace.OfUint(1))
	s.add(eth0, 28, trace.Counter, 0, "net", trace.OfUint(200), trace.OfFloat(math.Inf(1)), trace.OfUint(1))
	s.add(worker, 30, trace.End, 0, "return", trace.OfInt(200))
	s.add(worker, 40, trace.End, 0, "return", trace.OfInt(404))
	return s
}

func TestTraceProcessorSeesEverything(t *testing.T) {
	answers := traceprocessor.Query(t, two().save(t),
		`SELECT name, (SELECT name FROM track p WHERE p.id = t.parent_id),
			extract_arg(source_arg_set_id, 'sibling_order_rank') FROM track t ORDER BY parent_id, 3`,
		`SELECT s.ts - 1700000000000000000, dur, s.name, category, depth, t.name FROM slice s JOIN track t ON t.id = track_id ORDER BY s.ts`,
		`SELECT t.name, u.ts - 1700000000000000000, value, c.unit FROM counter u JOIN counter_track c ON c.id = track_id
			JOIN track t ON t.id = track_id ORDER BY u.ts, t.name`,
		`SELECT a.key, value_type, display_value FROM args a JOIN slice s USING (arg_set_id) WHERE s.name = 'all' ORDER BY a.id`,
		`SELECT a.key, display_value FROM args a JOIN slice s USING (arg_set_id) WHERE s.name = 'request' ORDER BY s.ts, a.id`,
		`SELECT a.key, display_value FROM args a JOIN slice s USING (arg_set_id) WHERE s.name = 'packet' ORDER BY s.ts, a.id`,
		`SELECT o.ts - 1700000000000000000, i.ts - 1700000000000000000 FROM flow f JOIN slice o ON o.id = slice_out JOIN slice i ON i.id = slice_in`,
		`SELECT extract_arg(source_arg_set_id, 'description') FROM track WHERE name = 'web'`)
	for i, want := range []string{
		"web|NULL|0\ndb|NULL|1\n" +
			"nginx|web|671088640\nworker|nginx|805306384\nworker|nginx|805306400\n",
		"", "", "", "", "", "", "",
	} {
		if got := answers[i].String(); got != want {
			t.Errorf("answer %d:\n%s", i, got)
		}
	}
}
