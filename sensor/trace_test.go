package sensor

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"meridian/sensor/internal/testrand"
	"meridian/sensor/internal/testtrace"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("MERIDIAN_SENSOR_TEST_VICTIM"); dir != "" {
		beVictim(dir)
	}
	if program := os.Getenv("MERIDIAN_SENSOR_TEST_PROGRAM"); program != "" {
		beUnderEnvironment(program)
	}
	before := runtime.NumGoroutine()
	code := m.Run()
	if f := flag.Lookup("test.fuzz"); f != nil && f.Value.String() != "" {
		os.Exit(code) // package testing waits for signals while it fuzzes, and does not end that goroutine
	}
	// A goroutine that has closed its channel may need an instant to be gone.
	for deadline := time.Now().Add(60 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "%d goroutines are left, %d were there before:\n%s\n", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			os.Exit(1)
		}
	}
	os.Exit(code)
}

// record records what a function emits and returns the trace.
func record(t testing.TB, o Options, emit func()) (dir string) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	dir = filepath.Join(t.TempDir(), "trace")
	stop, err := Record(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	emit()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// babeltrace fails the test unless babeltrace2 reads a trace without a word on stderr.
func babeltrace(t testing.TB, dir string) {
	t.Helper()
	path, err := exec.LookPath("babeltrace2")
	if err != nil {
		if os.Getenv("MERIDIAN_CI") == "1" {
			t.Fatal("babeltrace2 is not installed, and with MERIDIAN_CI=1 no test is skipped")
		}
		t.Skip("babeltrace2 is not installed: apt-get install babeltrace2 runs this test")
	}
	c := exec.Command(path, dir)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "BABELTRACE_TERM_COLOR=never")
	var problems bytes.Buffer
	c.Stderr = &problems
	if err := c.Run(); err != nil || problems.Len() > 0 {
		t.Fatalf("babeltrace2 %s: %v\n%s", dir, err, problems.String())
	}
}

type label string

var (
	testSigned   = NewEvent5[int, int8, int16, int32, int64]("test", "signed", "i", "i8", "i16", "i32", "i64")
	testUnsigned = NewEvent7[uint, uint8, uint16, uint32, uint64, uintptr, label]("test", "unsigned", "u", "u8", "u16", "u32", "u64", "p", "label")
	testOther    = NewEvent8[float32, float64, bool, string, []byte, time.Duration, label, bool]("test", "other",
		"f32", "f64", "yes", "text", "raw", "took", "label", "no")
	testNothing = NewEvent0("test", "nothing")
	testSlice   = NewSlice("test", "slice")
	testSlice3  = NewSlice3[int64, string, bool]("test", "slice3", "a", "b", "c")
	testGauge   = NewGauge("test", "gauge")
)

// TestRandomValuesAreReadAsTheyWereEmitted compares fields of every type. Extreme values, other readers, and slices, marks and
// counters are tested in meridian/internal/sensortest.
func TestRandomValuesAreReadAsTheyWereEmitted(t *testing.T) {
	testrand.Check(t, func(t *testing.T, r *rand.Rand) {
		n := r.Uint64() >> r.IntN(64)
		text, raw := testrand.Text(r, "abc äöü世界", 0, 99), []byte(testrand.Text(r, "\x00\xff\"", 0, 99))
		text = strings.ToValidUTF8(text, "") // cut within letters
		f, yes := r.NormFloat64(), r.IntN(2) == 1
		dir := record(t, Options{}, func() {
			testSigned.Emit(int(n), int8(n), int16(n), int32(n), int64(n))
			testUnsigned.Emit(uint(n), uint8(n), uint16(n), uint32(n), n, uintptr(n), label(text))
			testOther.Emit(float32(f), f, yes, text, raw, time.Duration(n), label(text), !yes)
		})
		all := testtrace.Read(t, dir)
		for name, want := range map[string][]any{
			"test:signed":   {int64(int(n)), int64(int8(n)), int64(int16(n)), int64(int32(n)), int64(n)},
			"test:unsigned": {uint64(uint(n)), uint64(uint8(n)), uint64(uint16(n)), uint64(uint32(n)), n, uint64(uintptr(n)), text},
			"test:other":    {float64(float32(f)), f, yes, text, raw, int64(n), text, !yes},
		} {
			if e := all.Named(name); len(e) != 1 || !reflect.DeepEqual(e[0].Values, want) {
				t.Errorf("%s is read as %v, and was emitted as %v", name, e, want)
			}
		}
	})
}
