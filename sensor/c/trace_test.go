package c_test

import (
	"bytes"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"meridian/sensor"
)

// What testdata/types.c declares, in Go.
var (
	_ = sensor.NewEvent0("types", "nothing")
	_ = sensor.NewEvent5[bool, int8, uint8, int16, uint16]("types", "small", "b", "i8", "u8", "i16", "u16")
	_ = sensor.NewEvent6[int32, uint32, int, uint, int64, uint64]("types", "large", "i32", "u32", "l", "ul", "ll", "ull")
	_ = sensor.NewEvent8[int8, uint8, int16, uint16, int32, uint32, int64, uint64]("types.more", "fixed", "a", "b", "c", "d", "e", "f", "g", "h")
	_ = sensor.NewEvent2[float32, float64]("types.more", "floats", "f", "d")
	_ = sensor.NewEvent4[string, []byte, string, uint64]("types.more", "texts", "text", "data", "writable", "last")
	_ = sensor.NewSlice1[int32]("work", "step", "n")
	_ = sensor.NewSlice("work", "bare")
	_ = sensor.NewCounter("work", "done")
	_ = sensor.NewGauge("work", "load")
	_ = sensor.NewMark("work", "rpc")
)

var declaration = regexp.MustCompile(`(?s)event \{\n\tname = "([^"]*)";\n\tid = [0-9]+;\n(.*?)\n\};\n`)

func declarations(text string) map[string]string {
	all := map[string]string{}
	for _, m := range declaration.FindAllStringSubmatch(text, -1) {
		all[m[1]] = m[2]
	}
	return all
}

// TestClassesAreDeclaredInTheWordsOfPackageSensor lets both libraries say the same.
func TestClassesAreDeclaredInTheWordsOfPackageSensor(t *testing.T) {
	dir := t.TempDir()
	if err := sensor.Start(sensor.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if err := sensor.Stop(); err != nil {
		t.Fatal(err)
	}
	inGo := declarations(open(t, rings(t, dir)[0]).Metadata())
	inC := declarations(open(t, run(t, command(t, build(t, "gcc", "-std=c11", "testdata/types.c")))[0]).Metadata())
	if len(inC) != 15 {
		t.Fatalf("%d declarations: %v", len(inC), slices.Collect(maps.Keys(inC)))
	}
	for name, text := range inC {
		if inGo[name] != text {
			t.Errorf("%s is in C\n%s\nand in Go\n%s", name, text, inGo[name])
		}
	}
}

// TestValuesAreWhatWasEmitted reads a program's events with babeltrace2, after package sensor made a trace of its ring.
func TestValuesAreWhatWasEmitted(t *testing.T) {
	t.Parallel()
	viewer := compiler(t, "babeltrace2")
	path := run(t, command(t, build(t, "gcc", "-std=c11", "testdata/types.c"), "buffers=4", "size=65536"))[0]
	trace := filepath.Join(t.TempDir(), "trace")
	if err := sensor.Recover(path, trace, sensor.Options{}); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(viewer, "--no-delta", trace)
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil || problems.Len() > 0 {
		t.Fatalf("babeltrace2: %v\n%s", err, problems.String())
	}
	x := strings.Repeat("x", 4092)
	want := []string{
		`types:nothing:`,
		`types:small: b = ( "false" : container = 0 ), i8 = -128, u8 = 0, i16 = -32768, u16 = 0`,
		`types:small: b = ( "true" : container = 1 ), i8 = 127, u8 = 255, i16 = 32767, u16 = 65535`,
		`types:large: i32 = -2147483648, u32 = 0, l = -9223372036854775808, ul = 0, ll = -9223372036854775808, ull = 0`,
		`types:large: i32 = 2147483647, u32 = 4294967295, l = 9223372036854775807, ul = 18446744073709551615, ll = 9223372036854775807, ull = 18446744073709551615`,
		`types.more:fixed: a = -1, b = 2, c = -3, d = 4, e = -5, f = 6, g = -7, h = 8`,
		`types.more:floats: f = 3.40282e+38, d = -2.22507e-308`,
		`types.more:texts: text = "", _data_length = 0, data = [ ], writable = "wä", last = 7`,
		`types.more:texts: text = "", _data_length = 2, data = [ [0] = 0x0, [1] = 0xFF ], writable = "", last = 18446744073709551615`,
		`work:step:begin: { slice = S }, { n = 3 }`,
		`work:bare:begin: { slice = S }, { }`,
		`work:step:end: { slice = S }, { }`,
		`work:bare:end: { slice = S }, { }`,
		`work:done:counter: done = 2`,
		`work:done:counter: done = -1`,
		`work:done:counter: done = 9`,
		`work:load:counter: load = 0.5`,
		`work:rpc: { flow = 77, role = ( "sends" : container = 1 ) }, { }`,
		`message:message: { flow = 78, role = ( "receives" : container = 2 ) }, { }`,
		`meridian:cut:counter: cut = 1`,
		`meridian:cut:counter: cut = 2`,
		`types.more:texts: text = "` + x + `…", _data_length = 4096, data = [ ... ], writable = "` + strings.Repeat("x", 92) + "€" + strings.Repeat("x", 905) + `", last = 1`,
	}
	head := regexp.MustCompile(`^\[[^]]*\] (\S+ )?`)
	packet := regexp.MustCompile(`\{ crc32c = [^}]*\},? ?`) // its context, which every line repeats
	slice := regexp.MustCompile(`slice = [0-9]+`)
	long := regexp.MustCompile(`_data_length = 4096, data = \[( \[[0-9]+\] = 0x[0-9A-F]+,?)+ \]`)
	blank := regexp.MustCompile(`\s+`)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d events instead of %d:\n%s", len(lines), len(want), out)
	}
	plain := func(s string) string {
		return strings.TrimSpace(blank.ReplaceAllString(strings.NewReplacer("{ ", "", " }", "", "{", "", "}", "").Replace(s), " "))
	}
	for i, line := range lines {
		line = head.ReplaceAllString(line, "")
		line = packet.ReplaceAllString(line, "")
		line = slice.ReplaceAllString(line, "slice = S")
		line = long.ReplaceAllString(line, "_data_length = 4096, data = [ ... ]")
		if got, want := strings.Trim(plain(line), ", "), strings.Trim(plain(want[i]), ", "); got != want {
			t.Errorf("event %d is\n%s\nnot\n%s", i, got, want)
		}
	}
}
