package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"meridian/sensor/internal/testtrace"
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
	if testing.Short() {
		t.Skip("left out with -short: builds and runs a program")
	}
	dir := filepath.Join(t.TempDir(), "trace")
	if err := os.Mkdir(dir+".ring", 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "run", "./"+example, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := testtrace.Read(t, dir).Of("web", "http_request", testtrace.Instant)
	names := strings.Fields("ID Status Small Loud Share Seconds Path Body Peer_Name Peer_Port place_Name place_Port code_0 code_1 code_2 Took Begun Count internal_a internal_b")
	want := []any{int64(-1), uint64(404), int64(-8), true, 0.5, 0.25, "/a␀b", []byte{1, 2}, "peer", uint64(80), "own", uint64(81),
		int64(7), int64(8), int64(9), int64(1e9), int64(1e9 + 5), int64(12), uint64(21), uint64(22)}
	if len(all) != 2 || len(all[0].Values) != len(names) || len(all[1].Values) != len(names) {
		t.Fatalf("%v, want two events of %d fields", all, len(names))
	}
	for i, v := range all[0].Values {
		if !reflect.DeepEqual(v, want[i]) || all[0].Text(names[i]) != fmt.Sprint(want[i]) {
			t.Errorf("field %d is %T %v and %s is %s, want %T %v", i, v, v, names[i], all[0].Text(names[i]), want[i], want[i])
		}
	}
	for i, v := range all[1].Values {
		if value := reflect.ValueOf(v); !value.IsZero() && (value.Kind() != reflect.Slice || value.Len() > 0) {
			t.Errorf("field %s of the zero struct is %v", names[i], v)
		}
	}
}

func TestWhatNoEventCanHoldIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: type-checks nine packages from their sources")
	}
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
