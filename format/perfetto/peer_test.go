package perfetto

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/traceprocessor"
	"meridian/trace"
)

func structure(values ...trace.Value) trace.Value {
	return trace.Value{Kind: trace.Struct, Items: values}
}
func array(values ...trace.Value) trace.Value { return trace.Value{Kind: trace.Array, Items: values} }

// two is a timeline of two hosts with everything in it.
func two() *story {
	s := newStory()
	s.Method, s.Assumption = "envelope", "bounded wander"
	s.Hosts = []string{"web", "db"}
	s.DeclareClasses()

	process := s.Row("web", "nginx", trace.Process, 12, -1)
	worker := s.Row("web", "worker", trace.Thread, 13, process)
	other := s.Row("web", "worker", trace.Thread, 14, process) // the same name is another row
	s.Row("db", "eth0", trace.Device, 2, -1)
	s.Row("db", "", trace.CPU, 1, -1)
	s.Row("db", "", trace.CPU, 0, -1)
	bounds := s.Row("db", "bounds", trace.Bounds, 0, -1)
	messages := s.Row("db", "messages", trace.Messages, 0, -1)
	eth0, cpu1, cpu0 := 3, 4, 5

	s.Add(worker, 10, trace.Begin, 0, "request", trace.OfText("/"), trace.OfUint(3))
	s.Add(other, 11, trace.Instant, 0, "packet")
	s.Message(worker, 20, 1<<63|5, trace.Sends)
	s.Add(worker, 21, trace.Begin, 0, "request", trace.OfText("/inner\x00\xff"), trace.OfUint(3))
	s.Add(cpu1, 22, trace.Instant, 0, "all", trace.OfBool(true), trace.OfInt(-7), trace.OfUint(1<<64-1), trace.OfFloat(0.5),
		trace.OfFloat(math.NaN()), trace.OfText("tëxt"), trace.OfBytes([]byte{0xc0, 0xff}), trace.OfInt(0), trace.OfUint(0xbeef),
		structure(trace.OfText("a"), trace.OfUint(80)), array(structure(trace.OfText("b"), trace.OfUint(1)), structure(trace.OfText("c"))),
		trace.Value{Kind: trace.Variant, Bits: 1, Items: []trace.Value{trace.OfText("chosen")}})
	s.Add(cpu0, 23, trace.Instant, 0, "packet")
	r := s.Message(messages, 25, 1<<63|5, trace.Receives)
	r.Event.Time, r.Low, r.High = clock.HostTime(r.Time+1_000_000), r.Time-3, r.Time+4
	s.Add(bounds, 26, trace.Counter, 0, "clock bound", trace.OfUint(7))
	s.Add(eth0, 27, trace.Counter, 0, "net", trace.OfUint(100), trace.OfFloat(0.25), trace.OfUint(1))
	s.Add(eth0, 28, trace.Counter, 0, "net", trace.OfUint(200), trace.OfFloat(math.Inf(1)), trace.OfUint(1))
	s.Add(worker, 30, trace.End, 0, "return", trace.OfInt(200))
	s.Add(worker, 40, trace.End, 0, "return", trace.OfInt(404))
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
		`SELECT extract_arg(source_arg_set_id, 'description') FROM track WHERE name = 'web'`,
		`SELECT abs_time_str(min(ts)) FROM slice`)
	for i, want := range []string{
		"web|NULL|0\ndb|NULL|1\n" + // hosts, in the schema's order
			"nginx|web|671088640\nworker|nginx|805306384\nworker|nginx|805306400\n" +
			"bounds|db|96\nmessages|db|134217840\ncpu 0|db|268435456\ncpu 1|db|268435472\neth0|db|536870960\n" +
			"clock bound|bounds|32\nnet rx_bytes|eth0|24\nnet load|eth0|25\n",
		"10|30|request|http|0|worker\n11|0|packet|NULL|0|worker\n20|0|packet|NULL|1|worker\n21|9|request|http|1|worker\n" +
			"22|0|all|NULL|0|cpu 1\n23|0|packet|NULL|0|cpu 0\n25|0|packet|NULL|0|messages\n",
		"clock bound|26|7|ns\nnet load|27|0.25|NULL\nnet rx_bytes|27|100|bytes\nnet rx_bytes|28|200|bytes\n",
		"debug.bool|bool|true\ndebug.int|int|-7\ndebug.uint|uint|18446744073709551615\ndebug.real|real|0.5\ndebug.nan|string|NaN\n" +
			"debug.text|string|tëxt\ndebug.bytes|string|c0ff\ndebug.state|string|RUNNING\ndebug.address|pointer|0xbeef\n" +
			"debug.peer.host|string|a\ndebug.peer.port|uint|80\ndebug.peers[0].host|string|b\ndebug.peers[0].port|uint|1\n" +
			"debug.peers[1].host|string|c\ndebug.either|string|chosen\n",
		"debug.path|/\ndebug.cpu_id|3\ndebug.status|404\ndebug.path|/inner\uFFFD\uFFFD\ndebug.cpu_id|3\ndebug.status|200\n",
		"debug.recorded_ns|1700000000001000025\ndebug.may_be_earlier_ns|3\ndebug.may_be_later_ns|4\n",
		"20|25\n",
		"clocks by: envelope; bounds hold under: bounded wander\n",
		"2023-11-14T22:13:20.000000010\n", // the viewer can show the time of day
	} {
		if got := answers[i].String(); got != want {
			t.Errorf("answer %d is\n%s, not\n%s", i, got, want)
		}
	}
}

func TestOneArrowForEachMessageFromSenderToReceiver(t *testing.T) {
	const inverted = 5
	s := newStory()
	want := s.Traffic(3000, inverted, 0)
	if _, tally := s.write(t); tally.Inverted != inverted {
		t.Errorf("%d messages arrive before they were sent, not %d", tally.Inverted, inverted)
	}
	got := traceprocessor.Query(t, s.save(t), `
		SELECT o.ts - 1700000000000000000, i.ts - 1700000000000000000, oh.name, ih.name
		FROM flow JOIN slice o ON o.id = slice_out JOIN slice i ON i.id = slice_in
		JOIN track ot ON ot.id = o.track_id JOIN track it ON it.id = i.track_id
		JOIN track oh ON oh.id = ot.parent_id JOIN track ih ON ih.id = it.parent_id
		WHERE o.dur = 0 AND i.dur = 0`,
		`SELECT count(*) FROM slice WHERE extract_arg(arg_set_id, 'debug.received_before_sent')`)
	eventtest.SameLines(t, got[0].String(), want)
	if n := got[1].Rows[0][0]; n != fmt.Sprint(inverted) {
		t.Errorf("%s sends are marked as late", n)
	}
}

func TestTraceProcessorNestsWhatOverlapsAsRecorded(t *testing.T) {
	s := newStory()
	row := s.Row("h", "row", trace.Thread, 1, -1)
	random := rand.New(rand.NewPCG(3, 4))
	var all []span
	for i := range 200 {
		begin := clock.HostTime(random.Int64N(900))
		all = append(all, span{fmt.Sprintf("s%03d", i), begin, begin + 1 + clock.HostTime(random.Int64N(90))})
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	s.spans(row, all)
	var want strings.Builder
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.name, b.name) })
	for _, x := range all {
		fmt.Fprintf(&want, "%s|%d|%d\n", x.name, x.begin, int64(x.end-x.begin))
	}
	got := traceprocessor.Query(t, s.save(t), `SELECT name, ts - 1700000000000000000, dur FROM slice ORDER BY name`)[0].String()
	if got != want.String() {
		t.Errorf("slices are\n%s, not\n%s", got, want.String())
	}
}
