package chrome

import (
	"testing"

	"meridian/internal/eventtest"
	"meridian/internal/traceprocessor"
)

func TestTraceProcessorSeesEverything(t *testing.T) {
	answers := traceprocessor.Query(t, twoHosts().save(t),
		`SELECT pid, name, extract_arg(arg_set_id, 'process_sort_index_hint') FROM process WHERE pid > 0 ORDER BY pid`,
		`SELECT t.name, p.name, tid > 1000000 FROM thread t JOIN process p USING (upid) WHERE tid > p.pid ORDER BY tid`,
		`SELECT s.ts - 123456000, dur, s.name, category, depth, coalesce(h.name, p.name)
			FROM slice s LEFT JOIN thread_track tt ON tt.id = track_id LEFT JOIN thread h USING (utid)
			LEFT JOIN process_track pt ON pt.id = track_id LEFT JOIN process p ON p.upid = pt.upid ORDER BY s.ts`,
		`SELECT t.name, c.ts - 123456000, value FROM counter c JOIN track t ON t.id = track_id ORDER BY c.ts, t.name`,
		`SELECT a.key, value_type, display_value FROM args a JOIN slice s USING (arg_set_id) WHERE s.name = 'all' ORDER BY a.id`,
		`SELECT s.ts - 123456000, a.key, display_value FROM args a JOIN slice s USING (arg_set_id) WHERE s.name = 'request' AND key != 'args.path' ORDER BY s.ts, a.id`,
		`SELECT s.ts - 123456000, a.key, display_value FROM args a JOIN slice s USING (arg_set_id) WHERE s.name = 'packet' ORDER BY s.ts, a.id`,
		`SELECT o.ts - 123456000, i.ts - 123456000, o.name, i.name FROM flow f JOIN slice o ON o.id = slice_out JOIN slice i ON i.id = slice_in`)
	for i, want := range []string{
		"1|web|0\n2|db|1\n",
		"nginx / worker|web|1\neth0|db|1\ncpu 1|db|1\nbounds|db|1\nmessages|db|1\n",
		"10|30|request|http|0|nginx / worker\n20|0|packet|NULL|1|nginx / worker\n21|9|request|http|1|nginx / worker\n" +
			"22|0|all|NULL|0|cpu 1\n25|0|packet|NULL|0|messages\n50|2|request|http|0|db\n51|86400000000002|request|http|0|db\n",
		"clock bound bound_ns|26|7\neth0 net load|27|0.25\neth0 net rx_bytes|27|100\neth0 net rx_bytes|28|200\n",
		"args.bool|bool|true\nargs.int|int|-9223372036854775808\nargs.uint|string|18446744073709551615\nargs.real|real|0.5\n" +
			"args.nan|string|NaN\nargs.text|string|tëxt\nargs.bytes|string|c0ff\nargs.state|string|RUNNING\nargs.peer.host|string|a\n" +
			"args.peer.port|int|80\nargs.peers[0].host|string|b\nargs.peers[0].port|int|1\nargs.either|string|chosen\n",
		"10|args.cpu_id|3\n10|args.status|404\n21|args.cpu_id|3\n21|args.status|200\n21|args.end_recorded_ns|1700000000123456029\n" +
			"50|args.status|1\n51|args.status|2\n",
		"25|args.recorded_ns|1700000000124456025\n25|args.may_be_earlier_ns|3\n25|args.may_be_later_ns|4\n",
		"20|25|packet|packet\n",
	} {
		if got := answers[i].String(); got != want {
			t.Errorf("answer %d is\n%s, not\n%s", i, got, want)
		}
	}
}

func TestOneArrowForEachMessageFromSenderToReceiver(t *testing.T) {
	const inverted = 5
	s := newStory()
	want := s.Traffic(2000, inverted, 123_456_000)
	if _, tally := s.write(t); tally.Inverted != inverted {
		t.Errorf("%d messages arrive before they were sent, not %d", tally.Inverted, inverted)
	}
	got := traceprocessor.Query(t, s.save(t), `
		SELECT o.ts, i.ts, op.name, ip.name FROM flow JOIN slice o ON o.id = slice_out JOIN slice i ON i.id = slice_in
		JOIN thread_track ot ON ot.id = o.track_id JOIN thread_track it ON it.id = i.track_id
		JOIN thread oh ON oh.utid = ot.utid JOIN thread ih ON ih.utid = it.utid
		JOIN process op ON op.upid = oh.upid JOIN process ip ON ip.upid = ih.upid WHERE o.dur = 0 AND i.dur = 0`)[0].String()
	eventtest.SameLines(t, got, want)
}
