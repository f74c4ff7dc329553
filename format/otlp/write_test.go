package otlp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// whole is what ReadWhole reads of a file with this content.
func whole(t eventtest.Fataler, dir string, content []byte) (*v1.TracesData, []string) {
	path := filepath.Join(dir, "spans")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	var w trace.Warnings
	data, err := ReadWhole(path, &w)
	if err != nil {
		t.Fatal(err)
	}
	return data, w.Lines()
}

func TestWhatIsWrittenIsReadBackWhole(t *testing.T) {
	dir := t.TempDir()
	testseed.Check(t, func(t *rapid.T) {
		d := data(t)
		before := proto.CloneOf(d)
		wire, err := proto.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		base64, err := protojson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := WriteJSON(&out, d); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(d, before) {
			t.Fatal("writing changed what was written")
		}
		for name, b := range map[string][]byte{"protobuf": wire, "protobuf's JSON": base64, "our JSON": out.Bytes()} {
			if got, warnings := whole(t, dir, b); !proto.Equal(got, d) || len(warnings) > 0 {
				t.Fatalf("%s: got %v, want %v; %q", name, got, d, warnings)
			}
		}
	})
}

func TestNumbersAreWrittenInHexadecimalAndKindsAsNumbers(t *testing.T) {
	text := requestJSON("h", spanJSON("01", "02", `"kind":3,"traceState":"a=b","unknown":7,`+times))
	d, _ := whole(t, t.TempDir(), []byte(text))
	var out bytes.Buffer
	if err := WriteJSON(&out, d); err != nil {
		t.Fatal(err)
	}
	var lines struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Scope struct{ Name string }
				Spans []struct {
					TraceID, SpanID, ParentSpanID, TraceState, StartTimeUnixNano string
					Kind                                                         int
				}
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &lines); err != nil {
		t.Fatal(err)
	}
	ss := lines.ResourceSpans[0].ScopeSpans[0]
	if s := ss.Spans[0]; ss.Scope.Name != "lib" || s.TraceID != "5b8efff798038103d269b633813fc60c" || s.SpanID != "0000000000000001" || s.ParentSpanID != "0000000000000002" ||
		s.TraceState != "a=b" || s.Kind != 3 || s.StartTimeUnixNano != "1544712660000000123" {
		t.Errorf("%+v", ss)
	}
}

func TestOldNamesOfScopesAreReadWhole(t *testing.T) {
	text := strings.NewReplacer(`"scopeSpans"`, `"instrumentationLibrarySpans"`, `"scope"`, `"instrumentationLibrary"`).Replace(requestJSON("h", spanJSON("01", "", `"kind":3,`+times)))
	d, warnings := whole(t, t.TempDir(), []byte(text))
	if ss := d.ResourceSpans[0].ScopeSpans; len(ss) != 1 || ss[0].Scope.GetName() != "lib" || len(ss[0].Spans) != 1 || len(warnings) > 0 {
		t.Errorf("%v, %q", d, warnings)
	}
}

func TestWhatCannotBeReadWholeIsCountedAsDamage(t *testing.T) {
	sound, broken := requestJSON("h", spanJSON("01", "", times)), requestJSON("h", spanJSON("02", "", `"kind":{},`+times))
	path := filepath.Join(t.TempDir(), "spans")
	if err := os.WriteFile(path, []byte(sound+broken), 0o600); err != nil {
		t.Fatal(err)
	}
	var w trace.Warnings
	d, err := ReadWhole(path, &w)
	if err != nil || len(d.ResourceSpans) != 1 || w.Gaps() == "" {
		t.Errorf("%v, %v, %q", d, err, w.Lines())
	}
}
