package ctf

import (
	"strings"
	"testing"

	"meridian/trace"
)

const jsonBegin = "\x1e{\"type\":\"preamble\",\"version\":2}\n\x1e{\"type\":\"trace-class\"}\n"

// u8Class is a field class of one byte, with more members if given.
func u8Class(more string) string {
	return `{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian","alignment":8` + more + `}`
}

func members(list ...string) string { return "[" + strings.Join(list, ",") + "]" }

func member(name, class string) string { return `{"name":"` + name + `","field-class":` + class + `}` }

func TestEveryFieldClassMeansWhatTheSpecificationSays(t *testing.T) {
	ranges := `"selector-field-ranges":[[1,2],[5,5]]`
	for _, c := range []struct{ name, members, want string }{
		{"bits", members(
			member("a", `{"type":"fixed-length-bit-array","length":16,"byte-order":"big-endian"}`),
			member("b", `{"type":"fixed-length-bit-map","length":3,"byte-order":"little-endian","flags":{"x":[[1,1]]}}`),
			member("c", `{"type":"fixed-length-boolean","length":8,"byte-order":"little-endian","alignment":8}`)),
			"{a:bits16be b:bits3 c:bool8@8}@8"},
		{"integers", members(
			member("a", `{"type":"fixed-length-signed-integer","length":48,"byte-order":"big-endian","alignment":32,"preferred-display-base":16}`),
			member("b", `{"type":"fixed-length-unsigned-integer","length":5,"byte-order":"little-endian","mappings":{"z":[[3,4],[9,9]],"a":[[0,0]]}}`),
			member("c", `{"type":"variable-length-signed-integer","mappings":{"m":[[-4,-1]]}}`),
			member("d", `{"type":"variable-length-unsigned-integer"}`),
			member("e", `{"type":"fixed-length-unsigned-enumeration","length":64,"byte-order":"little-endian","mappings":{"all":[[0,18446744073709551615]]}}`)),
			"{a:i48beb16@32 b:u5(z=[3..4,9] a=[0]) c:vi0(m=[-4..-1])@8 d:vu0@8 e:u64(all=[0..18446744073709551615])}@32"},
		{"bit order", members(
			member("a", `{"type":"fixed-length-bit-array","length":16,"byte-order":"big-endian","bit-order":"first-to-last"}`),
			member("b", `{"type":"fixed-length-bit-array","length":16,"byte-order":"big-endian","bit-order":"last-to-first"}`),
			member("c", `{"type":"fixed-length-bit-array","length":16,"byte-order":"little-endian","bit-order":"first-to-last"}`),
			member("d", `{"type":"fixed-length-bit-array","length":16,"byte-order":"little-endian","bit-order":"last-to-first"}`)),
			"{a:bits16berev b:bits16be c:bits16 d:bits16rev}"},
		{"floats", members(
			member("a", `{"type":"fixed-length-floating-point-number","length":32,"byte-order":"little-endian","alignment":32}`),
			member("b", `{"type":"fixed-length-floating-point-number","length":128,"byte-order":"big-endian"}`)),
			"{a:f32(8+24)@32 b:f128be(15+113)}@32"},
		{"text", members(
			member("a", `{"type":"null-terminated-string"}`), member("b", `{"type":"null-terminated-string","encoding":"utf-16le"}`),
			member("c", `{"type":"static-length-string","length":9}`), member("n", u8Class("")),
			member("d", `{"type":"dynamic-length-string","encoding":"utf-32be","length-field-location":{"path":["n"]}}`)),
			"{a:string8e1@8 b:string16e4@8 c:text1[9]@8 n:u8@8>0 d:text5[<0]@8}@8"},
		{"blobs", members(member("a", `{"type":"static-length-blob","length":5,"media-type":"image/png"}`), member("n", u8Class("")),
			member("b", `{"type":"dynamic-length-blob","length-field-location":{"origin":"event-record-payload","path":["n"]}}`)),
			"{a:blob[5]image/png@8 n:u8@8>0 b:blob[<0]@8}@8"},
		{"structures and arrays", members(
			member("s", `{"type":"structure","minimum-alignment":64}`),
			member("a", `{"type":"static-length-array","length":32,"minimum-alignment":32,"element-field-class":{"type":"fixed-length-boolean","length":1,"byte-order":"little-endian"}}`),
			member("n", u8Class("")),
			member("b", `{"type":"dynamic-length-array","length-field-location":["n"],"element-field-class":"u16"}`)),
			"{s:{}@64 a:bool1[32]@32 n:u8@8>0 b:u16@16[<0]@16}@64"},
		{"optional", members(member("f", `{"type":"fixed-length-boolean","length":8,"byte-order":"little-endian"}`), member("n", u8Class("")),
			member("a", `{"type":"optional","selector-field-location":{"path":["f"]},"field-class":"u16"}`),
			member("b", `{"type":"optional","selector-field-location":{"path":["n"]},`+ranges+`,"field-class":"u16"}`)),
			"{f:bool8>0 n:u8@8>1 a:<0?[1..18446744073709551615]u16@16 b:<1?[1..2,5]u16@16}@8"},
		{"variant", members(member("n", `{"type":"variable-length-signed-integer"}`),
			member("v", `{"type":"variant","selector-field-location":{"origin":"event-record-payload","path":["n"]},"options":[
				{"selector-field-ranges":[[-3,-1]],"field-class":"u16","name":"_x"},
				{"selector-field-ranges":[[4,4]],"field-class":{"type":"null-terminated-string"}}]}`)),
			"{n:vi0@8>0 v:<0|[-3..-1]_x:u16@16|[4]:string8e1@8}@8"},
		{"up and down", members(member("_n", u8Class("")), member("s", `{"type":"structure","member-classes":`+members(
			member("_n", `"u16"`), member("t", `{"type":"structure","member-classes":`+members(
				member("a", `{"type":"dynamic-length-blob","length-field-location":{"path":[null,null,"_n"]}}`),
				member("b", `{"type":"dynamic-length-blob","length-field-location":{"path":[null,"_n"]}}`),
				member("c", `{"type":"dynamic-length-blob","length-field-location":{"origin":"event-record-payload","path":["s","_n"]}}`))+`}`))+`}`)),
			"{_n:u8@8>0 s:{_n:u16@16>1 t:{a:blob[<0]@8 b:blob[<1]@8 c:blob[<1]@8}@8}@16}@16"},
		{"length in an option of a variant", members(member("n", u8Class("")),
			member("v", `{"type":"variant","selector-field-location":{"path":["n"]},"options":[
				{"selector-field-ranges":[[0,0]],"field-class":"u16"},{"selector-field-ranges":[[1,1]],"field-class":{"type":"variable-length-unsigned-integer"}}]}`),
			member("a", `{"type":"dynamic-length-blob","length-field-location":{"path":["v"]}}`)),
			"{n:u8@8>0 v:<0|[0]:u16@16>1|[1]:vu0@8>1 a:blob[<1]@8}@8"},
		{"length in a structure in an option", members(member("n", u8Class("")),
			member("v", `{"type":"variant","selector-field-location":{"path":["n"]},"options":[
				{"selector-field-ranges":[[0,0]],"field-class":{"type":"structure","member-classes":`+members(member("l", `"u16"`),
				member("x", `{"type":"dynamic-length-blob","length-field-location":{"origin":"event-record-payload","path":["v","l"]}}`))+`}},
				{"selector-field-ranges":[[1,1]],"field-class":{"type":"structure","member-classes":`+members(member("l", u8Class("")),
				member("x", `{"type":"dynamic-length-blob","length-field-location":{"path":["l"]}}`))+`}}]}`),
			member("a", `{"type":"dynamic-length-blob","length-field-location":{"path":["v","l"]}}`)),
			"{n:u8@8>0 v:<0|[0]:{l:u16@16>1 x:blob[<1]@8}@16|[1]:{l:u8@8>1 x:blob[<1]@8}@8 a:blob[<1]@8}@8"},
		{"within an element", members(member("r", `{"type":"static-length-array","length":2,"element-field-class":{"type":"structure","member-classes":`+
			members(member("l", u8Class("")), member("x", `{"type":"dynamic-length-blob","length-field-location":{"origin":"event-record-payload","path":["r","l"]}}`))+`}}`)),
			"{r:{l:u8@8>0 x:blob[<0]@8}@8[2]@8}@8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parseWhole(t, jsonBegin+
				"\x1e"+`{"type":"field-class-alias","name":"short","field-class":{"type":"fixed-length-unsigned-integer","length":16,"byte-order":"little-endian","alignment":16}}`+
				"\x1e"+`{"type":"field-class-alias","name":"u16","field-class":"short"}`+
				"\x1e"+`{"type":"data-stream-class"}`+
				"\x1e"+`{"type":"event-record-class","payload-field-class":{"type":"structure","member-classes":`+c.members+`}}`)
			if len(m.Streams[0].Events) == 0 {
				return
			}
			if got := dumpType(m.Streams[0].Events[0].Payload); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

const fragmentsWhole = "\x1e" + `{"type":"preamble","version":2,"uuid":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}
` + "\x1e" + `{"type":"field-class-alias","name":"u64-ts","field-class":{"type":"fixed-length-unsigned-integer","length":64,"alignment":8,"byte-order":"little-endian","roles":["default-clock-timestamp"]}}
` + "\x1e" + `{"type":"trace-class","environment":{"host\u006eame":"h\ud83d\ude00","tracer_major":2},
 "packet-header-field-class":{"type":"structure","member-classes":[
  {"name":"the magic!","field-class":{"type":"fixed-length-unsigned-integer","length":32,"byte-order":"little-endian","roles":["packet-magic-number"]}},
  {"name":"id","field-class":{"type":"static-length-blob","length":16,"roles":["metadata-stream-uuid"]}},
  {"name":"c","field-class":{"type":"variable-length-unsigned-integer","roles":["data-stream-class-id"]}},
  {"name":"s","field-class":{"type":"variable-length-unsigned-integer","roles":["data-stream-id"]}}]}}
` + "\x1e" + `{"type":"clock-class","id":"k","name":"mono","frequency":1000,"origin":"unix-epoch","offset-from-origin":{"seconds":-7,"cycles":30},"precision":4,"description":"d","uid":"u"}
` + "\x1e" + `{"type":"clock-class","id":"l","frequency":5}
` + "\x1e" + `{"type":"data-stream-class","id":7,"name":"chan","default-clock-class-id":"k",
 "packet-context-field-class":{"type":"structure","member-classes":[
  {"name":"b","field-class":"u64-ts"},
  {"name":"e","field-class":{"type":"variable-length-unsigned-integer","roles":["packet-end-default-clock-timestamp"]}},
  {"name":"cs","field-class":{"type":"variable-length-unsigned-integer","roles":["packet-content-length"]}},
  {"name":"ps","field-class":{"type":"variable-length-unsigned-integer","roles":["packet-total-length"]}},
  {"name":"d","field-class":{"type":"variable-length-unsigned-integer","roles":["discarded-event-record-counter-snapshot"]}},
  {"name":"q","field-class":{"type":"variable-length-unsigned-integer","roles":["packet-sequence-number"]}},
  {"name":"cpu_id","field-class":{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian"}}]},
 "event-record-header-field-class":{"type":"structure","member-classes":[
  {"name":"id","field-class":{"type":"fixed-length-unsigned-integer","length":5,"byte-order":"little-endian","roles":["event-record-class-id"]}},
  {"name":"v","field-class":{"type":"variant","selector-field-location":{"path":["id"]},"options":[
   {"name":"compact","selector-field-ranges":[[0,30]],"field-class":{"type":"structure","member-classes":[
    {"name":"timestamp","field-class":{"type":"fixed-length-unsigned-integer","length":27,"byte-order":"little-endian","roles":["default-clock-timestamp"]}}]}},
   {"name":"extended","selector-field-ranges":[[31,31]],"field-class":{"type":"structure","member-classes":[
    {"name":"timestamp","field-class":"u64-ts"}]}}]}}]},
 "event-record-common-context-field-class":{"type":"structure","member-classes":[{"name":"t","field-class":"u64-ts"}]}}
` + "\x1e" + `{"type":"event-record-class","data-stream-class-id":7,"id":3,"name":"e","namespace":"ns",
 "specific-context-field-class":{"type":"structure","member-classes":[{"name":"n","field-class":{"type":"variable-length-unsigned-integer"}}]},
 "payload-field-class":{"type":"structure","member-classes":[
  {"name":"x","field-class":{"type":"dynamic-length-blob","length-field-location":{"origin":"event-record-specific-context","path":["n"]}}},
  {"name":"y","field-class":{"type":"dynamic-length-blob","length-field-location":{"origin":"packet-context","path":["cpu_id"]}}}]},
 "attributes":{"lttng.org,2009":{"log-level":"debug:line","emf-uri":"http://e"},"mine":{"n":3,"deep":{"a":1}},"flag":true}}
`

func TestTraceOfCTF2IsResolvedWithRolesInFull(t *testing.T) {
	want := `2.0 0102030405060708090a0b0c0d0e0f10 false slots 3
env {Name:hostname Text:h😀 Number:0 IsText:true}
env {Name:tracer_major Text: Number:2 IsText:false}
clock {Name:mono Description:d UUID:u Frequency:1000 Precision:4 OffsetSeconds:-7 Offset:30 Absolute:true Epoch:true}
clock {Name:l Description: UUID: Frequency:5 Precision:0 OffsetSeconds:0 Offset:0 Absolute:false Epoch:false}
packet header {the magic!:u32!1 id:blob[16]@8!2 c:vu0@8!3 s:vu0@8!4}@8
stream 7 "chan" clock 0
  packet {b:u64@8~0!5 e:vu0@8~0!6 cs:vu0@8!7 ps:vu0@8!8 d:vu0@8!9 q:vu0@8!10 cpu_id:u8!11>2}@8
  header {id:u5!12>0 v:<0|[0..30]compact:{timestamp:u27~0!13}|[31]extended:{timestamp:u64@8~0!13}@8}
  context {t:u64@8}@8
  event 3 "e" ns "ns" level 13 true uri "http://e" attributes [{mine/n  3 false} {flag true 0 true}]
    context {n:vu0@8>1}@8
    payload {x:blob[<1]@8 y:blob[<2]@8}@8
`
	if got := dumpAll(parseWhole(t, fragmentsWhole)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSeparatorsMayBeMissing(t *testing.T) {
	want := dumpAll(parseWhole(t, fragmentsWhole))
	if got := dumpAll(parseWhole(t, strings.ReplaceAll(fragmentsWhole, "\x1e", " "))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOneBadFragmentCostsOnlyItself(t *testing.T) {
	event := func(more string) string { return "\x1e{\"type\":\"event-record-class\",\"id\":1" + more + "}\n" }
	blob := func(location string) string {
		return event(`,"payload-field-class":{"type":"structure","member-classes":` + members(member("n", `{"type":"null-terminated-string"}`),
			member("b", `{"type":"dynamic-length-blob","length-field-location":`+location+`}`)) + `}`)
	}
	for _, c := range []struct{ name, bad, want string }{
		{"not JSON", "\x1e{\"type\":\n", "JSON"},
		{"cut short", "\x1e{\"type\":\"event-record-class\",\"na", "unterminated string"},
		{"number", event(`,"data-stream-class-id":-1`), "data-stream-class-id is not an integer"},
		{"unknown type of fragment", "\x1e{\"type\":\"poem\"}\n", "unknown type"},
		{"unknown type of class", event(`,"payload-field-class":{"type":"matrix"}`), "unknown field class type \"matrix\""},
		{"no structure", event(`,"payload-field-class":{"type":"null-terminated-string"}`), "is not a structure"},
		{"alias that is not there", event(`,"payload-field-class":"p"`), `undeclared field class alias "p"`},
		{"too wide", event(`,"payload-field-class":{"type":"structure","member-classes":[{"name":"a","field-class":{"type":"fixed-length-unsigned-integer","length":65,"byte-order":"big-endian"}}]}`), "65 bits"},
		{"length is text", blob(`{"path":["n"]}`), "is not an integer"},
		{"no such field", blob(`{"path":["m"]}`), "is not an earlier field"},
		{"above the root", blob(`{"path":[null,"m"]}`), "is not an earlier field"},
		{"path to nowhere", blob(`{"path":[]}`), "empty or invalid path"},
		{"unknown origin", blob(`{"origin":"sun","path":["n"]}`), `unknown field location origin "sun"`},
		{"same id", "\x1e{\"type\":\"event-record-class\",\"id\":0}\n", "duplicate event class id 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, lines := declaredEvents(t, jsonBegin+"\x1e{\"type\":\"data-stream-class\"}\n\x1e{\"type\":\"event-record-class\",\"name\":\"a\"}\n"+c.bad+
				"\x1e{\"type\":\"event-record-class\",\"name\":\"b\",\"id\":2}\n")
			if names != "ab" || !strings.Contains(lines, c.want) {
				t.Errorf("events %q, warnings %s", names, lines)
			}
		})
	}
}

func TestWhatTheRestDependsOnIsAnError(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\x1e{\"type\":\"trace-class\"}", "metadata:1: the first metadata fragment is not a preamble"},
		{"\x1e{\"type\":\"preamble\",\"version\":3}", "metadata:1: unsupported CTF version 3"},
		{"\x1e{\"type\":\"preamble\",\n\"version\":2,\n\"extensions\":{\"my.tracer\":{\"piano\":1}}}", `metadata:3: unsupported CTF 2 extension "my.tracer/piano"`},
		{"\x1e{\"type\":\"preamble\"", "metadata:1: JSON"},
		{jsonBegin + "\x1e{\"cut in an escape\\", "metadata:3: no data stream class"},
		{jsonBegin, "metadata:3: no data stream class"},
		{jsonBegin + "\x1e{\"type\":\"clock-class\",\"id\":\"a\"}", "metadata:3: frequency is missing"},
		{"\x1e{\"type\":\"preamble\",\"version\":2}\x1e{\"type\":\"trace-class\",\"packet-header-field-class\":3}", "metadata:1: "},
	} {
		var w trace.Warnings
		_, err := ParseMetadata([]byte(c.text), "metadata", &w)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}
