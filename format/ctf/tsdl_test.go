package ctf

import (
	"strings"
	"testing"

	"meridian/trace"
)

const tsdlTypes = `/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 16; signed = false; } := uint16_t;
typealias integer { size = 32; align = 32; signed = true; } := int;
typealias integer { size = 64; align = 8; } := unsigned long;
`

const tsdlTrace = `trace { major = 1; minor = 8; byte_order = le; };
clock { name = mono; freq = 1000000000; offset = 12; };
`

// parseWhole reads metadata that must be whole.
func parseWhole(t *testing.T, text string) *Metadata {
	t.Helper()
	var w trace.Warnings
	m, err := ParseMetadata([]byte(text), "metadata", &w)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range w.Lines() {
		t.Error("warning:", line)
	}
	return m
}

func TestEveryDeclarationMeansWhatTheSpecificationSays(t *testing.T) {
	for _, c := range []struct{ name, fields, want string }{
		{"defaults", `integer { size = 8; } a; integer { size = 5; } b; string c;
			floating_point { exp_dig = 8; mant_dig = 24; } d;`,
			"{a:u8@8 b:u5 c:string8@8 d:f32(8+24)}@8"},
		{"integer", `integer { size = 0x20; align = 040; signed = 1; byte_order = network; base = hex; } a;
			integer { size = 64u; signed = true; base = "x"; encoding = none; byte_order = native; } b;
			integer { size = 7; base = oct; } c; integer { size = 3; base = 'b'; } d; integer { size = 8; base = 2; encoding = UTF8; } e;`,
			"{a:i32beb16@32 b:i64b16@8 c:u7b8 d:u3b2 e:u8b2e1@8}@32"},
		{"names of types", `uint8_t a, b[2]; unsigned long c; const unsigned long const d; int e;`,
			"{a:u8@8 b:u8@8[2]@8 c:u64@8 d:u64@8 e:i32@32}@32"},
		{"pointer", `typealias integer { size = 64; align = 64; base = 16; } := void *; void *p; const void * const q;`,
			"{p:u64b16@64 q:u64b16@64}@64"},
		{"typedef", `typedef uint8_t four[4], one; four a; one b; typedef struct { uint8_t x; } box; box c[2];`,
			"{a:u8@8[4]@8 b:u8@8 c:{x:u8@8}@8[2]@8}@8"},
		{"typealias of anything", `typealias struct { uint8_t x; } align(64) := box; typealias uint8_t [3] := three; typealias uint16_t := short;
			box a; three b; short c;`, "{a:{x:u8@8}@64 b:u8@8[3]@8 c:u16@16}@64"},
		{"underscores", `uint8_t _a; uint8_t __b; uint8_t c[_a]; uint8_t d[a]; uint8_t e[_b];`,
			"{a:u8@8>0 _b:u8@8>1 c:u8@8[<0]@8 d:u8@8[<0]@8 e:u8@8[<1]@8}@8"},
		{"arrays of arrays", `uint8_t n; uint16_t a[2][n][3];`, "{n:u8@8>0 a:u16@16[3]@16[<0]@16[2]@16}@16"},
		{"enumeration", `enum : uint8_t { a, b, c = 5, d, e = 8 ... 10, f, "g h" = 0xff, a = 7 } x;
			enum sign : int { minus = -3 ... -1, zero, plus = +1 } y; enum sign z;`,
			`{x:u8(a=[0,7] b=[1] c=[5] d=[6] e=[8..10] f=[11] g h=[255])@8 ` +
				`y:i32(minus=[-3..-1] zero=[0] plus=[1])@32 z:i32(minus=[-3..-1] zero=[0] plus=[1])@32}@32`},
		{"enumeration in an int", `enum { a, b } x;`, "{x:i32(a=[0] b=[1])@32}@32"},
		{"largest", `enum : unsigned long { all = 0 ... 0xFFFFFFFFFFFFFFFF } x;`, "{x:u64(all=[0..18446744073709551615])@8}@8"},
		{"variant", `enum : uint8_t { a = 1, b = 2 ... 3, c = 9 } t; variant <t> { uint8_t a; string b; uint16_t other; } v;`,
			"{t:u8(a=[1] b=[2..3] c=[9])@8>0 v:<0|[1]a:u8@8|[2..3]b:string8@8|[]other:u16@16}@8"},
		{"variants with names", `variant either { uint8_t a; string b; }; typealias variant { uint8_t b; } := only;
			enum : uint8_t { _a, b } t; variant either <t> v; struct { only <t> w; } s;`,
			"{t:u8(_a=[0] b=[1])@8>0 v:<0|[0]a:u8@8|[1]b:string8@8 s:{w:<0|[1]b:u8@8}}@8"},
		{"inner scopes first", `uint8_t n; struct { uint16_t n; struct { uint8_t a[n]; } in; } s; uint8_t b[n];`,
			"{n:u8@8>1 s:{n:u16@16>0 in:{a:u8@8[<0]@8}@8}@16 b:u8@8[<1]@8}@16"},
		{"only what is before", `uint8_t n; struct { uint8_t a[n]; uint16_t n; } s;`,
			"{n:u8@8>0 s:{a:u8@8[<0]@8 n:u16@16}@16}@16"},
		{"down a path", `struct { uint8_t n; struct { uint8_t m; } in; } s; uint8_t a[s.n]; uint8_t b[s.in.m]; uint8_t c[event.fields.s.n];`,
			"{s:{n:u8@8>0 in:{m:u8@8>1}@8}@8 a:u8@8[<0]@8 b:u8@8[<1]@8 c:u8@8[<0]@8}@8"},
		{"the one being made", `struct { uint8_t n; uint8_t a[event.fields.s.n]; } s;`, "{s:{n:u8@8>0 a:u8@8[<0]@8}@8}@8"},
		{"uses apart", `struct pair { uint8_t n; uint8_t a[n]; }; struct pair p; struct pair q; struct pair r[2];`,
			"{p:{n:u8@8>0 a:u8@8[<0]@8}@8 q:{n:u8@8>1 a:u8@8[<1]@8}@8 r:{n:u8@8>2 a:u8@8[<2]@8}@8[2]@8}@8"},
		{"lengths from the environment", `uint8_t a[env.size];`, "{a:u8@8[7]@8}@8"},
		{"comments", "uint8_t /* no; */ a; // nor; this }\n uint8_t b;", "{a:u8@8 b:u8@8}@8"},
		{"alignment", `struct { uint8_t a; } align(32) s; struct align_me { struct { uint16_t a; } b; } t;`,
			"{s:{a:u8@8}@32 t:{b:{a:u16@16}@16}@16}@32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parseWhole(t, tsdlTypes+tsdlTrace+"env { size = 7; };\nstream { };\nevent { name = e; fields := struct {\n"+c.fields+"\n}; };")
			if len(m.Streams[0].Events) == 0 {
				return
			}
			if got := dumpType(m.Streams[0].Events[0].Payload); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

const lttngLike = tsdlTypes + `
trace {
	major = 1; minor = 8;
	uuid = "5d079bb9-28f0-6648-8bcf-390bb7f31523";
	byte_order = be;
	packet.header := struct { integer { size = 32; } magic; uint8_t uuid[16]; uint16_t stream_id; unsigned long stream_instance_id; };
};
env { hostname = "h\"\x41\101\n"; tracer_major = 2; below = -5; };
clock {
	name = "monotonic"; uuid = "5a71a43c-1390-4365-9baf-111c565e78c3"; description = "Monotonic Clock";
	freq = 1000; precision = 3; offset_s = -4; offset = 77; absolute = TRUE;
};
typealias integer { size = 27; align = 1; map = clock.monotonic.value; } := uint27_clock;
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := uint64_clock;
struct packet_context {
	uint64_clock timestamp_begin; uint64_clock timestamp_end;
	unsigned long content_size; unsigned long packet_size; unsigned long packet_seq_num;
	unsigned long events_discarded; uint16_t cpu_id;
};
struct event_header_compact {
	enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct { uint27_clock timestamp; } compact;
		struct { uint16_t id; uint64_clock timestamp; } extended;
	} v;
} align(32);
stream {
	id = 3; name = "chan";
	event.header := struct event_header_compact;
	packet.context := struct packet_context;
	event.context := struct { uint8_t _n; uint64_clock _since; };
};
event {
	name = "sched:switch"; id = 12; stream_id = 3; loglevel = 13; model.emf.uri = "http://example.com";
	context := struct { uint8_t _m; };
	fields := struct {
		uint8_t _a[stream.event.context._n]; uint8_t _b[event.context.m]; uint8_t _c[stream.packet.context.cpu_id];
		uint8_t _d[trace.packet.header.stream_id]; uint8_t _e[m]; variant <stream.event.header.id> { uint8_t compact; } _f;
	};
};
event { name = bare; id = 13; stream_id = 3; };
callsite { name = bare; func = "f"; file = "a.c"; line = 3; };
`

func TestTraceOfLTTngIsResolvedWithRolesByName(t *testing.T) {
	want := `1.8 5d079bb928f066488bcf390bb7f31523 true slots 5
env {Name:hostname Text:h"AA
 Number:0 IsText:true}
env {Name:tracer_major Text: Number:2 IsText:false}
env {Name:below Text: Number:-5 IsText:false}
clock {Name:monotonic Description:Monotonic Clock UUID:5a71a43c-1390-4365-9baf-111c565e78c3 Frequency:1000 Precision:3 OffsetSeconds:-4 Offset:77 Absolute:true Epoch:true}
packet header {magic:u32be@8!1 uuid:u8be@8[16]@8!2 stream_id:u16be@16!3>4 stream_instance_id:u64be@8!4}@16
stream 3 "chan" clock 0
  packet {timestamp_begin:u64be@8~0!5 timestamp_end:u64be@8~0!6 content_size:u64be@8!7 packet_size:u64be@8!8 packet_seq_num:u64be@8!10 events_discarded:u64be@8!9 cpu_id:u16be@16!11>3}@16
  header {id:u5be(compact=[0..30] extended=[31])!12>0 v:<0|[0..30]compact:{timestamp:u27be~0!13}|[31]extended:{id:u16be@16!12 timestamp:u64be@8~0!13}@16}@32
  context {n:u8be@8>1 since:u64be@8~0}@8
  event 12 "sched:switch" ns "" level 13 true uri "http://example.com" attributes []
    context {m:u8be@8>2}@8
    payload {a:u8be@8[<1]@8 b:u8be@8[<2]@8 c:u8be@8[<3]@8 d:u8be@8[<4]@8 e:u8be@8[<2]@8 f:<0|[0..30]compact:u8be@8}@8
  event 13 "bare" ns "" level 0 false uri "" attributes []
    context none
    payload none
`
	if got := dumpAll(parseWhole(t, lttngLike)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatOneStreamNeedNotSay(t *testing.T) {
	m := parseWhole(t, tsdlTypes+"trace { byte_order = le; };\nevent { name = e; };")
	if len(m.Streams) != 1 || m.Streams[0].ID != 0 || len(m.Streams[0].Events) != 1 || m.Streams[0].Clock != -1 {
		t.Errorf("got %s", dumpAll(m))
	}
	m = parseWhole(t, tsdlTypes+tsdlTrace+"stream { id = 4; event.header := struct { uint8_t id; uint16_t timestamp; }; }; event { name = e; id = 1; };")
	if c := m.Streams[0]; len(c.Events) != 1 || c.Clock != 0 || c.EventHeader.Fields[1].Type.Role != Stamp {
		t.Errorf("a stamp without a clock is not of the only clock: %s", dumpAll(m))
	}
	m = parseWhole(t, tsdlTypes+"trace { byte_order = le; };\nstream { event.header := struct { uint16_t timestamp; }; };")
	if len(m.Clocks) != 1 || m.Clocks[0].Frequency != 1e9 {
		t.Errorf("a trace without a clock does not count nanoseconds: %s", dumpAll(m))
	}
}

func TestErrorsSayTheLine(t *testing.T) {
	whole := tsdlTypes + tsdlTrace + "stream { };\n"
	for _, c := range []struct{ text, want string }{
		{"", "metadata:1: no trace block"},
		{tsdlTypes + "trace {\n\tbyte_order = middle;\n};", `metadata:7: unknown byte_order "middle"`},
		{"trace { major = 2; byte_order = le; };", "metadata:1: unsupported CTF version 2.8"},
		{tsdlTypes + "trace {\n byte_order = le;\n packet.header := struct { foo_t x; };\n};", `metadata:8: undeclared type "foo_t"`},
		{tsdlTypes + tsdlTrace + "strfam { };\nevent { name = e; };", "metadata:8: "},
		{tsdlTypes + tsdlTrace + "stream { x };\nevent { name = e; };", "metadata:8: "},
		{whole + "clock { freq = 1; };", "metadata:9: clock without a name"},
		{tsdlTypes + tsdlTrace + "stream {\n event.header := struct { uint8_t a[\nn]; };\n};", `metadata:9: invalid field reference: length "n" is not an earlier field`},
	} {
		var w trace.Warnings
		_, err := ParseMetadata([]byte(c.text), "metadata", &w)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// declaredEvents reads metadata and returns the names of the first stream's events and the warnings, a line each.
func declaredEvents(t *testing.T, text string) (names, warnings string) {
	t.Helper()
	var w trace.Warnings
	m, err := ParseMetadata([]byte(text), "metadata", &w)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Streams[0].Events {
		names += e.Name
	}
	return names, strings.Join(w.Lines(), "\n")
}

func TestOneBadDeclarationCostsOnlyItself(t *testing.T) {
	for _, c := range []struct{ name, bad, want string }{
		{"brace lost", "event {\n\tname = \"bad\"; id = 1;\n\tfields := struct {\n\t\tuint8_t a;\n\t;\n};\n", "expected \"=\""},
		{"brace too many", "event {\n\tname = \"bad\"; id = 1; } }\n};\n", ""},
		{"quote lost", "event {\n\tname = \"bad; id = 1;\n};\n", "unterminated string literal"},
		{"unknown type", "event {\n\tname = \"bad\"; id = 1; fields := struct { nothing x; };\n};\n", `undeclared type "nothing"`},
		{"no such length", "event {\n\tname = \"bad\"; id = 1; fields := struct { uint8_t x[y]; };\n};\n", `length "y" is not an earlier field`},
		{"length is text", "event {\n\tname = \"bad\"; id = 1; fields := struct { string y; uint8_t x[y]; };\n};\n", `length "y" is not an integer`},
		{"tag is no enumeration", "event {\n\tname = \"bad\"; id = 1; fields := struct { uint8_t y; variant <y> { uint8_t z; } v; };\n};\n", `selector "y" is not an enumeration`},
		{"no tag", "event {\n\tname = \"bad\"; id = 1; fields := struct { variant { uint8_t z; } v; };\n};\n", "variant without a tag"},
		{"control characters", "event {\n\tname = \"bad\"; \x01\x02 id = 1;\n};\n", "unexpected character"},
		{"comment without end", "event {\n\tname = \"bad\"; id = 1; /* \n};\n", "unterminated comment"},
		{"same id", "event { name = \"bad\"; id = 0; };\n", "duplicate event class id 0"},
		{"no such stream", "event { name = \"bad\"; id = 1; stream_id = 99; };\n", "undeclared stream class 99"},
		{"number too large", "event { name = \"bad\"; id = 99999999999999999999; };\n", "exceeds 64 bits"},
		{"size", "event { name = \"bad\"; id = 1; fields := struct { integer { size = 65; } a; }; };\n", "invalid size 65 (1 to 64)"},
		{"alignment", "event { name = \"bad\"; id = 1; fields := struct { uint8_t a; } align(3); };\n", "powers of two"},
		{"type that is bad", "typealias integer { size = 0; } := bad_t;\n", "invalid size 0"},
		{"env", "env { a = ; };\n", "expected a value"},
		{"missing part", "event { name = \"a\"; fields := struct { ui\n\x1a\n8_t a; };\n};\n", "is missing here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, lines := declaredEvents(t, tsdlTypes+tsdlTrace+"stream { };\nevent { name = \"a\"; id = 0; };\n"+c.bad+
				"event {\n\tname = \"b\"; id = 2; fields := struct { uint8_t x; };\n};\nevent { name = \"c\"; id = 3; };\n")
			if names != "abc" || lines == "" || !strings.Contains(lines, c.want) {
				t.Errorf("events %q, warnings %s", names, lines)
			}
		})
	}
}

func TestUnknownEntriesAreWarnings(t *testing.T) {
	var w trace.Warnings
	m, err := ParseMetadata([]byte(tsdlTypes+tsdlTrace+"stream { colour = red; };\nevent { name = e; weight = 3; fields := struct { integer { size = 8; fancy = 1; } a; }; };"), "metadata", &w)
	if err != nil || len(m.Streams[0].Events) != 1 || len(w.Lines()) != 3 {
		t.Errorf("%v, %q", err, w.Lines())
	}
}
