package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/format/ctf"
	"meridian/format/ctf/ctftest"
	"meridian/internal/testneed"
	"meridian/trace"
)

var update = flag.Bool("update", false, "write the golden file anew")

const example = "testdata/example"

func TestTheExampleIsMadeAsItStands(t *testing.T) {
	golden := filepath.Join(example, "httprequest_sensor.go")
	code, err := generate(example, filepath.Base(golden), "web", []string{"HTTPRequest"})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, code, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(code, want) {
		t.Errorf("%v; made was\n%s", err, code)
	}
}

// TestMadeCodeEmitsWhatTheStructHolds compiles and runs the example, and reads what it recorded.
func TestMadeCodeEmitsWhatTheStructHolds(t *testing.T) {
	testneed.Long(t, "builds and runs a program")
	dir := filepath.Join(t.TempDir(), "trace")
	if err := os.Mkdir(dir+".ring", 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "run", "./"+example, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var all [][]trace.Value
	var class trace.Class
	_, warnings := ctftest.Each(t, dir, func(e *trace.Event, s *ctf.Source) {
		if c := s.Classes()[e.Class]; c.Name == "web:http_request" {
			class = c
			var values []trace.Value
			for _, v := range s.Values() {
				v.Data = bytes.Clone(v.Data)
				values = append(values, v)
			}
			all = append(all, values)
		}
	})
	I, U, F, B, T, D := trace.OfInt, trace.OfUint, trace.OfFloat, trace.OfBool, trace.OfText, trace.OfBytes
	names := strings.Fields("ID Status Small Loud Share Seconds Path Body Peer_Name Peer_Port place_Name place_Port code_0 code_1 code_2 Took Begun Count internal_a internal_b")
	want := []trace.Value{I(-1), U(404), I(-8), B(true), F(0.5), F(0.25), T("/a␀b"), D([]byte{1, 2}), T("peer"), U(80), T("own"), U(81),
		I(7), I(8), I(9), I(1e9), I(1e9 + 5), I(12), U(21), U(22)}
	if len(all) != 2 || len(class.Fields) != len(names) || len(warnings) > 0 {
		t.Fatalf("%d events of %d fields; %q", len(all), len(class.Fields), warnings)
	}
	for i, v := range all[0] {
		if class.Fields[i].Name != names[i] || v.Kind != want[i].Kind || v.Bits != want[i].Bits || !bytes.Equal(v.Data, want[i].Data) {
			t.Errorf("field %s is %v, want %s %v", class.Fields[i].Name, v, names[i], want[i])
		}
	}
	for i, v := range all[1] {
		if v.Bits != 0 || len(v.Data) != 0 {
			t.Errorf("field %s of the zero struct is %v", names[i], v)
		}
	}
}

func TestWhatNoEventCanHoldIsNamed(t *testing.T) {
	for code, want := range map[string]string{
		"type T struct{ A struct{ M map[int]int } }": "field A.M is a map[int]int, which an event cannot hold",
		"type T struct{ A []string }":                "field A is a []string",
		"type T struct{ A *int }":                    "field A is a *int",
		"type T struct{ A [5000]int8 }":              "more than 4096 fields",
		"type T struct{ A int `sensor:\"-\"` }":      "no field that an event can hold",
		"type T struct{ A strings.Builder }":         "is not exported by package strings",
		"type T int":                                 "T is not a struct",
		"type U struct{}":                            "has no type T",
		"type T[A any] struct{ a A }":                "type parameters",
	} {
		dir := t.TempDir()
		text := "package p\n\nimport \"strings\"\n\nvar _ strings.Builder\n\n" + code + "\n"
		if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := generate(dir, "t_sensor.go", "", []string{"T"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", code, err, want)
		}
	}
}

func TestNamesOfEventsAreInSmallLetters(t *testing.T) {
	for name, want := range map[string]string{"Request": "request", "RequestDone": "request_done", "HTTPRequest": "http_request", "ServeHTTP": "serve_http", "x": "x"} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
