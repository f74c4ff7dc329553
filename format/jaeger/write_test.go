package jaeger

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/trace"
)

// whole is what ReadWhole reads of a file with this content.
func whole(t *testing.T, content []byte) (*v1.TracesData, *trace.Warnings) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spans")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	w := new(trace.Warnings)
	data, err := ReadWhole(path, w)
	if err != nil {
		t.Fatal(err)
	}
	return data, w
}

func written(t *testing.T, data *v1.TracesData) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteJSON(&out, data); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// rewritten reads a file whole and writes it, twice: what was written is read back.
func rewritten(t *testing.T, file []byte) {
	first, _ := whole(t, file)
	if len(first.ResourceSpans) == 0 {
		return
	}
	out := written(t, first)
	second, _ := whole(t, []byte(out))
	if again := written(t, second); out != again {
		t.Errorf("%s, then %s", out, again)
	}
}

func TestAnAnswerWrittenAgainGivesTheSameEventsAndMessages(t *testing.T) {
	d, w := whole(t, []byte(answer))
	if lines := w.Lines(); len(lines) > 0 {
		t.Error(lines)
	}
	out := written(t, d)
	want, _, err := parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := parse(out)
	if err != nil {
		t.Fatal(err)
	}
	// Kind, scope and state come behind the other tags: lines are compared by what they say, in any order.
	sorted := func(f *File) (lines []map[string]bool) {
		for _, line := range events(t, f) {
			words := make(map[string]bool)
			for _, word := range strings.Fields(line) {
				words[word] = true
			}
			lines = append(lines, words)
		}
		return lines
	}
	if a, b := sorted(got), sorted(want); !reflect.DeepEqual(a, b) || !reflect.DeepEqual(got.Marks().Marks, want.Marks().Marks) {
		t.Errorf("got %v, want %v", a, b)
	}
	if !Recognises([]byte(out)) {
		t.Error("not recognised")
	}
}

func TestMembersOfOTLPSurviveInJaegersJSON(t *testing.T) {
	text := func(s string) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
	}
	s := &v1.Span{TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"), ParentSpanId: []byte("76543210"), Name: "op", Kind: v1.Span_SPAN_KIND_PRODUCER, TraceState: "a=b", Flags: 1,
		StartTimeUnixNano: 5_000, EndTimeUnixNano: 9_000,
		Status: &v1.Status{Code: v1.Status_STATUS_CODE_ERROR, Message: "no"},
		Links:  []*v1.Span_Link{{TraceId: []byte("fedcba9876543210"), SpanId: []byte("abcdefgh")}},
		Events: []*v1.Span_Event{{TimeUnixNano: 6_000, Name: "sent", Attributes: []*common.KeyValue{{Key: "k", Value: text("v")}}}},
		Attributes: []*common.KeyValue{{Key: "n", Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: -7}}}, {Key: "f", Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: 0.5}}},
			{Key: "b", Value: &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: true}}}, {Key: "x", Value: &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte{0, 255}}}}}}
	d := &v1.TracesData{ResourceSpans: []*v1.ResourceSpans{{Resource: resourceOf(processJSON{ServiceName: "shop", Tags: []tagJSON{textTag("host.name", "web")}}),
		ScopeSpans: []*v1.ScopeSpans{{Scope: &common.InstrumentationScope{Name: "lib", Version: "2"}, Spans: []*v1.Span{s}}}}}}
	if got, w := whole(t, []byte(written(t, d))); !proto.Equal(got, d) || len(w.Lines()) > 0 {
		t.Errorf("got %v, want %v, %q", got, d, w.Lines())
	}
}

func TestTimesAreRoundedDownSoThatChildrenStayWithinTheirParents(t *testing.T) {
	d := &v1.TracesData{ResourceSpans: []*v1.ResourceSpans{{ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{
		{SpanId: []byte("parent00"), StartTimeUnixNano: 1_999, EndTimeUnixNano: 8_001}, {SpanId: []byte("child000"), StartTimeUnixNano: 2_000, EndTimeUnixNano: 8_000}}}}}}}
	var got struct {
		Data []struct {
			Spans []struct{ StartTime, Duration int }
		}
	}
	if err := json.Unmarshal([]byte(written(t, d)), &got); err != nil {
		t.Fatal(err)
	}
	if p, c := got.Data[0].Spans[0], got.Data[0].Spans[1]; p.StartTime != 1 || p.Duration != 7 || c.StartTime != 2 || c.Duration != 6 {
		t.Errorf("%v, %v", p, c)
	}
}

func TestValuesThatJaegerHasNoTypeForAreText(t *testing.T) {
	list := &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{
		{Value: &common.AnyValue_IntValue{IntValue: 1}}, {Value: &common.AnyValue_StringValue{StringValue: "x"}}, {}}}}}
	members := &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: []*common.KeyValue{{Key: "list", Value: list}}}}}
	for _, x := range []struct {
		value *common.AnyValue
		want  string
	}{
		{list, `"[1,\"x\",null]"`}, {members, `"{\"list\":[1,\"x\",null]}"`}, {nil, "null"},
		{&common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: math.Inf(-1)}}, `"-Inf"`},
	} {
		if got := tagOf(&common.KeyValue{Key: "k", Value: x.value}); got.Type != "string" || string(got.Value) != x.want {
			t.Errorf("%s %s, want %s", got.Type, got.Value, x.want)
		}
	}
}

func TestTracesThatCannotBeReadWholeAreCountedAsDamage(t *testing.T) {
	d, w := whole(t, []byte(strings.Replace(answer, `"operationName":"/api"`, `"operationName":7`, 1)))
	if len(d.ResourceSpans) != 0 || w.Gaps() == "" {
		t.Errorf("%v, %q", d, w.Lines())
	}
}
