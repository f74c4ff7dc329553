package otlp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/fuzztest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// shown is everything a file gives, as text.
func shown(t eventtest.Fataler, f *File) string {
	var b strings.Builder
	s := f.Events()
	for e := range eventtest.All(t, s) {
		row, class := s.Streams()[e.Stream], s.Classes()[e.Class]
		fmt.Fprintf(&b, "%d %s/%s pid %d %c %s:%s flow %d role %d", e.Time, row.Host, row.Name, row.ID, ".()#"[e.Phase], class.Category, class.Name, e.Flow, e.Role)
		for i, v := range s.Values() {
			if v.Kind != trace.None {
				fmt.Fprintf(&b, " %s=%s", class.Fields[i].Name, v.Append(nil, &class.Fields[i].Type))
			}
		}
		b.WriteByte('\n')
	}
	m := f.Marks()
	for _, x := range m.Marks {
		fmt.Fprintf(&b, "mark %d %x %s row %d role %d\n", x.Time, x.Key, m.Hosts[x.Host], x.Stream, x.Role)
	}
	return b.String()
}

func parse(data []byte) (*File, []string, error) {
	var w trace.Warnings
	f, err := read(bytes.NewReader(data), "f", Options{}, &w)
	return f, w.Lines(), err
}

// spanJSON is one span as a collector writes it.
func spanJSON(id, parent, more string) string {
	pad := func(id string) string {
		if id == "" {
			return id
		}
		return strings.Repeat("0", 16-len(id)) + id
	}
	return `{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"` + pad(id) + `","parentSpanId":"` + pad(parent) + `","name":"op",` + more + `}`
}

func requestJSON(host string, spans ...string) string {
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}},{"key":"host.name","value":{"stringValue":"` + host + `"}}]},` +
		`"scopeSpans":[{"scope":{"name":"lib"},"spans":[` + strings.Join(spans, ",") + `]}]}]}` + "\n"
}

const times = `"startTimeUnixNano":"1544712660000000123","endTimeUnixNano":1544712661000000456`

func key(id, what string) trace.Key {
	tr, _ := hex.DecodeString("5b8efff798038103d269b633813fc60c")
	sp, _ := hex.DecodeString(id)
	return trace.KeyOf("span", string(tr), string(sp), what)
}

func TestClientAndServerAreARequestAndAReply(t *testing.T) {
	const c, s = "eee19b7ec3c1b174", "eee19b7ec3c1b175"
	start, end := clock.HostTime(1544712660000000123), clock.HostTime(1544712661000000456)
	for _, x := range []struct {
		name, span string
		want       []trace.Mark
	}{
		{"client", spanJSON(c, "", `"kind":3,`+times), []trace.Mark{
			{Time: start, Key: key(c, "request"), Role: trace.Sends}, {Time: end, Key: key(c, "reply"), Role: trace.Receives}}},
		{"server", spanJSON(s, c, `"kind":"SPAN_KIND_SERVER",`+times), []trace.Mark{
			{Time: start, Key: key(c, "request"), Role: trace.Receives}, {Time: end, Key: key(c, "reply"), Role: trace.Sends}}},
		{"a client that failed", spanJSON(c, "", `"kind":3,"status":{"code":2},`+times), []trace.Mark{{Time: start, Key: key(c, "request"), Role: trace.Sends}}},
		{"a client that failed, by name", spanJSON(c, "", `"kind":3,"status":{"code":"STATUS_CODE_ERROR"},`+times), []trace.Mark{{Time: start, Key: key(c, "request"), Role: trace.Sends}}},
		{"a client without an end", spanJSON(c, "", `"kind":3,"startTimeUnixNano":"1544712660000000123"`), []trace.Mark{{Time: start, Key: key(c, "request"), Role: trace.Sends}}},
		{"a server of its own process", spanJSON(s, c, `"kind":2,"flags":256,`+times), nil},
		{"a server of another process", spanJSON(s, c, `"kind":2,"flags":768,`+times), []trace.Mark{
			{Time: start, Key: key(c, "request"), Role: trace.Receives}, {Time: end, Key: key(c, "reply"), Role: trace.Sends}}},
		{"a server that nobody called", spanJSON(s, "", `"kind":2,`+times), nil},
		{"internal", spanJSON(s, c, `"kind":1,`+times), nil},
		{"producer", spanJSON(c, "", `"kind":4,`+times), []trace.Mark{{Time: start, Key: key(c, "message"), Role: trace.Sends}}},
		{"consumer", spanJSON(s, c, `"kind":5,`+times), []trace.Mark{{Time: end, Key: key(c, "message"), Role: trace.Receives}}},
		{"a consumer that waited", spanJSON(s, c, `"kind":5,"attributes":[{"key":"messaging.operation.type","value":{"stringValue":"receive"}}],`+times),
			[]trace.Mark{{Time: end, Key: key(c, "message"), Role: trace.Receives}}},
		{"a consumer with a link", spanJSON(s, "", `"kind":5,"links":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"`+c+`"}],`+times),
			[]trace.Mark{{Time: end, Key: key(c, "message"), Role: trace.Receives}}},
		{"one that ends before it starts", spanJSON(c, "", `"kind":3,"startTimeUnixNano":"9","endTimeUnixNano":"8"`), nil},
	} {
		f, warnings, err := parse([]byte(requestJSON("h", x.span)))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if got := f.Marks().Marks; !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: got %+v, want %+v", x.name, got, x.want)
		}
		if early := x.name == "one that ends before it starts"; early != (len(warnings) == 1) {
			t.Errorf("%s: %q", x.name, warnings)
		}
	}
}

func TestTheHostIsTheBestNameThatTheResourceHas(t *testing.T) {
	names := []string{"host.name", "k8s.pod.name", "host.id", "service.instance.id", "service.name"}
	for i := range names {
		list := ""
		for j := len(names) - 1; j >= i; j-- {
			list += `,{"key":"` + names[j] + `","value":{"stringValue":"` + names[j] + `!"}}`
		}
		f, _, err := parse([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[` + spanJSON("01", "", times) + `]}],"resource":{"attributes":[` + list[1:] + `]}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Marks().Hosts; len(got) != 1 || got[0] != names[i]+"!" {
			t.Errorf("%v: %q", names[i:], got)
		}
		if row := f.Events().Streams()[0]; row.Host != names[i]+"!" || row.Name != "service.name!" {
			t.Errorf("%+v", row)
		}
	}
}

// data draws exports that every way of writing can hold.
func data(t *rapid.T) *v1.TracesData {
	text := func(label string) string {
		return rapid.SampledFrom([]string{"", "a", "GET /ä\"\\", "x\ny"}).Draw(t, label)
	}
	attributes := func() (list []*common.KeyValue) {
		for i := range rapid.IntRange(0, 3).Draw(t, "attributes") {
			v := &common.AnyValue{}
			switch rapid.IntRange(0, 3).Draw(t, "type") {
			case 0:
				v.Value = &common.AnyValue_StringValue{StringValue: text("value")}
			case 1:
				v.Value = &common.AnyValue_IntValue{IntValue: rapid.Int64().Draw(t, "value")}
			case 2:
				v.Value = &common.AnyValue_DoubleValue{DoubleValue: rapid.Float64().Draw(t, "value")}
			case 3:
				v.Value = &common.AnyValue_BoolValue{BoolValue: rapid.Bool().Draw(t, "value")}
			}
			list = append(list, &common.KeyValue{Key: fmt.Sprint("key", i), Value: v})
		}
		return list
	}
	id := func(n int) []byte {
		b := make([]byte, n)
		b[n-1] = byte(rapid.IntRange(0, 9).Draw(t, "id"))
		return b
	}
	at := func() uint64 { return uint64(rapid.Int64Range(1, 2e18).Draw(t, "time")) }
	d := &v1.TracesData{}
	for range rapid.IntRange(1, 3).Draw(t, "resources") {
		rs := &v1.ResourceSpans{Resource: &resourcev1.Resource{Attributes: []*common.KeyValue{
			{Key: "host.name", Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: text("host")}}}}}}
		ss := &v1.ScopeSpans{Scope: &common.InstrumentationScope{Name: text("scope")}}
		for range rapid.IntRange(1, 4).Draw(t, "spans") {
			s := &v1.Span{TraceId: id(16), SpanId: id(8), ParentSpanId: id(8), Name: text("name"), Kind: v1.Span_SpanKind(rapid.IntRange(0, 5).Draw(t, "kind")),
				StartTimeUnixNano: at(), EndTimeUnixNano: at(), Attributes: attributes(), Flags: uint32(rapid.SampledFrom([]int{0, 256, 768}).Draw(t, "flags")),
				Status: &v1.Status{Code: v1.Status_StatusCode(rapid.IntRange(0, 2).Draw(t, "status")), Message: text("message")}}
			for range rapid.IntRange(0, 2).Draw(t, "events") {
				s.Events = append(s.Events, &v1.Span_Event{TimeUnixNano: at(), Name: text("event"), Attributes: attributes()})
			}
			for range rapid.IntRange(0, 2).Draw(t, "links") {
				s.Links = append(s.Links, &v1.Span_Link{TraceId: id(16), SpanId: id(8)})
			}
			ss.Spans = append(ss.Spans, s)
		}
		rs.ScopeSpans = append(rs.ScopeSpans, ss)
		d.ResourceSpans = append(d.ResourceSpans, rs)
	}
	return d
}

func frame(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }

// The truth is protobuf's own encoders: whatever they write of one export gives the same events and marks.
func TestEveryWayOfWritingSaysTheSame(t *testing.T) {
	compress, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	testseed.Check(t, func(t *rapid.T) {
		d := data(t)
		wire, err := proto.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		camel, err := protojson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		snake, err := protojson.MarshalOptions{UseProtoNames: true, UseEnumNumbers: true, Multiline: true}.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var lines, frames []byte
		for _, rs := range d.ResourceSpans {
			one := &v1.TracesData{ResourceSpans: []*v1.ResourceSpans{rs}}
			line, _ := protojson.Marshal(one)
			lines = append(append(lines, line...), '\n')
			b, _ := proto.Marshal(one)
			frames = append(frames, frame(b)...)
		}
		f, _, err := parse(wire)
		if err != nil {
			t.Fatal(err)
		}
		want := shown(t, f)
		for name, b := range map[string][]byte{"wire": wire, "camel": camel, "snake": snake, "lines": lines, "frames": frames,
			"array": []byte("[" + string(camel) + "]"), "result": []byte(`{"result":` + string(camel) + "}"),
			"Tempo's first API":  bytes.Replace(camel, []byte(`"resourceSpans"`), []byte(`"batches"`), 1),
			"Tempo's second API": []byte(`{"trace":` + string(camel) + `,"metrics":{"inspectedBytes":"10"}}`),
			"zstd":               frame(compress.EncodeAll(wire, nil)), "json in frames": frame(camel)} {
			if !Recognises(b) {
				t.Fatalf("%s is not recognised: %q", name, b)
			}
			f, _, err := parse(b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := shown(t, f); got != want {
				t.Fatalf("%s: got\n%s\nwant\n%s", name, got, want)
			}
		}
	})
}

// Tempo is the JSON of Grafana Tempo's two APIs, whose numbers of traces and spans are base64.
const (
	tempoSpan = `{"traceId":"W47/95gDgQPSabYzgT/GDA==","spanId":"7uGbfsPBsXQ=","name":"op","kind":"SPAN_KIND_CLIENT",` +
		`"startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000","status":{"code":"STATUS_CODE_OK"}}`
	tempoBatch = `[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"scopeSpans":[{"scope":{},"spans":[` + tempoSpan + `]}]}]`
)

func TestTempoAnswersAreRead(t *testing.T) {
	for _, x := range []struct{ name, text, gap string }{
		{"first API", `{"batches":` + tempoBatch + `}`, ""},
		{"first API of Tempo 1", strings.NewReplacer("scopeSpans", "instrumentationLibrarySpans", "scope", "instrumentationLibrary").Replace(`{"batches":` + tempoBatch + `}`), ""},
		{"second API", `{"trace":{"resourceSpans":` + tempoBatch + `},"metrics":{}}`, ""},
		{"second API, complete", `{"trace":{"resourceSpans":` + tempoBatch + `},"metrics":{},"status":"COMPLETE"}`, ""},
		{"second API, partial", `{"trace":{"resourceSpans":` + tempoBatch + `},"metrics":{},"status":"PARTIAL","message":"too large"}`, "Tempo returned only a part of the trace"},
		{"several traces, one a line", `{"batches":` + tempoBatch + "}\n" + `{"trace":{"resourceSpans":[]}}`, ""},
	} {
		if !Recognises([]byte(x.text)) {
			t.Errorf("%s: not recognised", x.name)
		}
		var w trace.Warnings
		f, err := read(strings.NewReader(x.text), "f", Options{}, &w)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if m := f.Marks(); len(m.Marks) != 2 || m.Marks[0].Key != key("eee19b7ec3c1b174", "request") {
			t.Errorf("%s: %+v", x.name, m.Marks)
		}
		if got := w.Gaps(); !strings.Contains(got, x.gap) || (got == "") != (x.gap == "") {
			t.Errorf("%s: %q", x.name, got)
		}
	}
}

func TestListsAndStructuresAreText(t *testing.T) {
	d := &v1.TracesData{ResourceSpans: []*v1.ResourceSpans{{ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{{StartTimeUnixNano: 5, Attributes: []*common.KeyValue{
		{Key: "list", Value: &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{
			{Value: &common.AnyValue_IntValue{IntValue: 1}}, {Value: &common.AnyValue_StringValue{StringValue: "x"}}, {}}}}}},
		{Key: "map", Value: &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: []*common.KeyValue{
			{Key: "b", Value: &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte("hi")}}}}}}}},
	}}}}}}}}
	b, err := proto.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(t, f); !strings.Contains(got, `list=[1,"x",null] map={"b":"aGk="}`) {
		t.Error(got)
	}
}

func TestSoundPartsOfDamagedFilesAreUsed(t *testing.T) {
	a := requestJSON("h", spanJSON("01", "", `"kind":3,`+times), spanJSON("02", "", `"kind":3,`+times))
	b := requestJSON("h", spanJSON("03", "", `"kind":3,`+times))
	for _, x := range []struct {
		name, text, warning string
		marks               int
	}{
		{"a broken line", a + `{"resourceSpans":[{}!!` + "\n" + b, "f: broken lines of JSON, of which the rest is left out (the line at offset 587, broken at 607)", 6},
		{"cut short", a + b[:len(b)-7], "f: cut short, what came before is used (at offset 973)", 6},
		{"cut within a span", a + b[:len(b)-8], "f: spans left out: broken, no time, or one out of range (of the resource at offset 605)|" +
			"f: cut short, what came before is used (at offset 972)", 4},
		{"a broken span", strings.Replace(a, `02",`, `02",,`, 1), "f: spans left out: broken, no time, or one out of range (of the resource at offset 18)", 2},
		{"a time too large", strings.Replace(a, `"1544712660000000123"`, `"9944712660000000123"`, 1), "f: spans left out: broken, no time, or one out of range (of the resource at offset 18)", 2},
		{"metrics between", a + `{"resourceMetrics":[{"a":1}]}` + "\n" + b, "", 6},
		{"twice", a + a, "f: spans written more than once, used once (2 times)", 4},
	} {
		f, warnings, err := parse([]byte(x.text))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if got := strings.Join(warnings, "|"); got != x.warning || len(f.Marks().Marks) != x.marks {
			t.Errorf("%s: %d marks, %q", x.name, len(f.Marks().Marks), got)
		}
	}
}

// Every byte of a small file turned over, and every cut of it: an answer, whatever it is.
func TestDamageAnywhereIsSurvived(t *testing.T) {
	text := []byte(requestJSON("h", spanJSON("01", "02", `"kind":3,`+times)))
	var d v1.TracesData
	d.ResourceSpans = []*v1.ResourceSpans{{Resource: &resourcev1.Resource{Attributes: []*common.KeyValue{{Key: "host.name", Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: "h"}}}}},
		ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{{TraceId: make([]byte, 16), SpanId: make([]byte, 8), StartTimeUnixNano: 5, EndTimeUnixNano: 7, Kind: 3}}}}}}
	wire, err := proto.Marshal(&d)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{text, wire, append(frame(wire), frame(wire)...)} {
		for i := range file {
			for _, b := range [][]byte{file[:i], flipped(file, i, 1), flipped(file, i, 0xff)} {
				Recognises(b)
				if f, _, err := parse(b); err == nil {
					shown(t, f)
				}
			}
		}
	}
}

func flipped(b []byte, i int, by byte) []byte {
	b = bytes.Clone(b)
	b[i] ^= by
	return b
}

func TestOtherFilesAreNotRecognised(t *testing.T) {
	for _, text := range []string{"", "{}", `{"traceEvents":[]}`, `{"data":[{"traceID":"x"}]}`, `{"resourceMetrics":[]}`,
		`{"batches":[{"id":1}]}`, `{"batches":{"resource":1}}`, `{"trace":{"spans":[]}}`, "web db 1 2\n", "\x0a\x0d\x0d\x0a\x00\x00\x00\x1c",
		"\xa1\xb2\xc3\xd4\x00\x02\x00\x04", "go 1.22 trace\x00\x00\x00", "\n\n\n\n# comment\n", "\x00\x00\x00\x05abcde", "\x0a\x03abc"} {
		if Recognises([]byte(text)) {
			t.Errorf("%q", text)
		}
	}
}

func TestReadOpensFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spans.json")
	if err := os.WriteFile(path, []byte(requestJSON("h", spanJSON("01", "", `"kind":3,`+times))), 0o600); err != nil {
		t.Fatal(err)
	}
	var w trace.Warnings
	f, err := Read(path, &w)
	if err != nil || f.Marks().File != path || len(f.Marks().Marks) != 2 {
		t.Errorf("%v, %v", f, err)
	}
	for _, bad := range []string{"", "{}", "web db 1 2"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path, &w); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range fuzztest.Real(f, "*.otlp") {
		f.Add(data)
	}
	f.Add([]byte(requestJSON("h", spanJSON("01", "02", `"kind":3,`+times))))
	f.Add([]byte("\x0a\x2a\x12\x28\x12\x26\x0a\x100123456789abcdef\x12\x0801234567\x39\x05\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(frame([]byte("\x0a\x2a\x12\x28\x12\x26\x0a\x100123456789abcdef\x12\x0801234567\x39\x05\x00\x00\x00\x00\x00\x00\x00")))
	dir := f.TempDir()
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		Recognises(data)
		if file, _, err := parse(data); err == nil {
			shown(t, file)
			rewritten(t, dir, data)
		}
	})
}

// rewritten reads a file whole and writes it, twice: what was written is read back.
func rewritten(t *testing.T, dir string, file []byte) {
	first, _ := whole(t, dir, file)
	var out, again bytes.Buffer
	if err := WriteJSON(&out, first); err != nil {
		return // text that is no UTF-8
	}
	second, warnings := whole(t, dir, out.Bytes())
	if err := WriteJSON(&again, second); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("%v, %q: %q, then %q", err, warnings, out.Bytes(), again.Bytes())
	}
}
