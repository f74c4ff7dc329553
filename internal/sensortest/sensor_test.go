package sensortest_test

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/sensortest"
	"meridian/internal/testneed"
	"meridian/sensor"
	"meridian/trace"
)

// record records what a function emits and returns the trace.
func record(t testing.TB, emit func()) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "trace")
	stop, err := sensor.Record(dir, sensor.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	emit()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// babeltrace returns the lines that babeltrace2 prints of a trace; a word on stderr is a failure.
func babeltrace(t testing.TB, dir string) []string {
	t.Helper()
	path := testneed.Program(t, "babeltrace2")
	c := exec.Command(path, dir)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "BABELTRACE_TERM_COLOR=never")
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil || problems.Len() > 0 {
		t.Fatalf("babeltrace2 %s: %v\n%s", dir, err, problems.String())
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

type label string

var (
	testSigned   = sensor.NewEvent5[int, int8, int16, int32, int64]("test", "signed", "i", "i8", "i16", "i32", "i64")
	testUnsigned = sensor.NewEvent6[uint, uint8, uint16, uint32, uint64, uintptr]("test", "unsigned", "u", "u8", "u16", "u32", "u64", "p")
	testOther    = sensor.NewEvent8[float32, float64, bool, string, []byte, time.Duration, label, bool]("test", "other",
		"f32", "f64", "yes", "text", "raw", "took", "label", "no")
	testNothing = sensor.NewEvent0("test", "nothing")
	testNames   = sensor.NewEvent4[int8, int8, int8, int8]("test", "names", "a b", "a-b", "", "struct")
)

func TestFieldsOfAllTypesAreReadAsTheyWereEmitted(t *testing.T) {
	long := strings.Repeat("ä", sensor.MaxText)
	dir := record(t, func() {
		testSigned.Emit(math.MinInt, math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64)
		testSigned.Emit(math.MaxInt, math.MaxInt8, math.MaxInt16, math.MaxInt32, math.MaxInt64)
		testUnsigned.Emit(math.MaxUint, math.MaxUint8, math.MaxUint16, math.MaxUint32, math.MaxUint64, 7)
		testOther.Emit(math.MaxFloat32, math.SmallestNonzeroFloat64, true, "größe \"\\ \n", []byte{0, 1, 255}, -time.Second, "x", false)
		testOther.Emit(float32(math.Inf(-1)), math.Copysign(0, -1), false, "", nil, 0, "nul\x00nul", true)
		testOther.Emit(0, 0, false, long, make([]byte, sensor.MaxText+1), 0, "", true)
		testNothing.Emit()
		testNames.Emit(1, 2, 3, 4)
	})
	all := sensortest.Read(t, dir)
	check := func(name string, n int, want ...trace.Value) {
		t.Helper()
		found := all.Named("test:" + name)
		if n >= len(found) {
			t.Fatalf("%s: only %d events", name, len(found))
		}
		e := found[n]
		if len(e.Values) != len(want) {
			t.Fatalf("%s: %d values %v, want %d", name, len(e.Values), e.Values, len(want))
		}
		for i, v := range e.Values {
			if v.Kind != want[i].Kind || v.Bits != want[i].Bits || !bytes.Equal(v.Data, want[i].Data) {
				t.Errorf("%s: field %s is %v, want %v", name, e.Class.Fields[i].Name, v, want[i])
			}
		}
		if e.Class.Category != "test" {
			t.Errorf("%s: category %q", name, e.Class.Category)
		}
	}
	I, U, F, B, T, D := trace.OfInt, trace.OfUint, trace.OfFloat, trace.OfBool, trace.OfText, trace.OfBytes
	check("signed", 0, I(math.MinInt), I(math.MinInt8), I(math.MinInt16), I(math.MinInt32), I(math.MinInt64))
	check("signed", 1, I(math.MaxInt), I(math.MaxInt8), I(math.MaxInt16), I(math.MaxInt32), I(math.MaxInt64))
	check("unsigned", 0, U(math.MaxUint), U(math.MaxUint8), U(math.MaxUint16), U(math.MaxUint32), U(math.MaxUint64), U(7))
	check("other", 0, F(math.MaxFloat32), F(math.SmallestNonzeroFloat64), B(true), T("größe \"\\ \n"), D([]byte{0, 1, 255}), I(-1e9), T("x"), B(false))
	check("other", 1, F(math.Inf(-1)), F(math.Copysign(0, -1)), B(false), T(""), D(nil), I(0), T("nul␀nul"), B(true))
	check("other", 2, F(0), F(0), B(false), T(long[:sensor.MaxText-4]+"…"), D(make([]byte, sensor.MaxText)), I(0), T(""), B(true))
	check("nothing", 0)
	check("names", 0, I(1), I(2), I(3), I(4))
	if cuts := all.Named("meridian:cut"); len(cuts) != 2 || cuts[1].Phase != trace.Counter {
		t.Errorf("what was cut was counted as %v", cuts)
	}

	text := strings.Join(babeltrace(t, dir), "\n")
	for _, want := range []string{
		"}, { i = -9223372036854775808, i8 = -128, i16 = -32768, i32 = -2147483648, i64 = -9223372036854775808 }",
		"}, { u = 18446744073709551615, u8 = 255, u16 = 65535, u32 = 4294967295, u64 = 18446744073709551615, p = 7 }",
		`yes = ( "true" : container = 1 ), text = "größe \"\\ \n", _raw_length = 3, raw = [ [0] = 0x0, [1] = 0x1, [2] = 0xFF ], took = -1000000000, label = "x"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("babeltrace2 does not print %s\nbut\n%.1000s", want, text)
		}
	}
}

func TestEventsBearTheTimeAtWhichTheyWereEmitted(t *testing.T) {
	var before, after time.Time
	dir := record(t, func() {
		before = time.Now()
		testNothing.Emit()
		after = time.Now()
	})
	e := sensortest.Read(t, dir).Named("test:nothing")
	// The clock is known to a few µs so short after its calibration.
	const known = clock.HostTime(time.Millisecond)
	if len(e) != 1 || e[0].Time < clock.HostTime(before.UnixNano())-known || e[0].Time > clock.HostTime(after.UnixNano())+known {
		t.Errorf("%d events, emitted from %d to %d: %+v", len(e), before.UnixNano(), after.UnixNano(), e)
	}
	if e[0].Row.Kind != trace.Process || e[0].Row.ID != int64(os.Getpid()) {
		t.Errorf("row %+v", e[0].Row)
	}
}

var (
	testSlice  = sensor.NewSlice("test", "slice")
	testSlice3 = sensor.NewSlice3[int64, string, bool]("test", "slice3", "a", "b", "c")
	testCount  = sensor.NewCounter("test", "count")
	testGauge  = sensor.NewGauge("test", "gauge")
	testMark   = sensor.NewMark("test", "mark")
)

func TestSlicesMarksAndCountersAreReadForWhatTheyAre(t *testing.T) {
	tag, before := sensor.NewTag(), testCount.Value()
	var outer, inner sensor.Span
	dir := record(t, func() {
		outer = testSlice.Begin()
		inner = testSlice3.Begin(5, "text", true)
		outer.End()
		inner.End()
		testCount.Add(3)
		testCount.Add(-5)
		testGauge.Set(0.5)
		testMark.Send(tag.ID())
		sensor.Receive(tag.ID())
		testMark.Send(0)
	})
	if outer.ID() == 0 || outer.ID() == inner.ID() {
		t.Errorf("slices %d and %d", outer.ID(), inner.ID())
	}
	all := sensortest.Read(t, dir)
	find := func(name string, n int, want trace.Event, values ...trace.Value) {
		t.Helper()
		found := all.Named(name)
		if n >= len(found) {
			t.Fatalf("%s: only %d events", name, len(found))
		}
		e := found[n]
		if e.Phase != want.Phase || e.Slice != want.Slice || e.Flow != want.Flow || e.Role != want.Role || len(e.Values) < len(values) {
			t.Fatalf("%s: %+v, want %+v", name, e, want)
		}
		for i, v := range values {
			if e.Values[i].Bits != v.Bits || !bytes.Equal(e.Values[i].Data, v.Data) {
				t.Errorf("%s: value %v, want %v", name, e.Values[i], v)
			}
		}
	}
	find("test:slice", 0, trace.Event{Phase: trace.Begin, Slice: outer.ID()})
	find("test:slice", 1, trace.Event{Phase: trace.End, Slice: outer.ID()})
	find("test:slice3", 0, trace.Event{Phase: trace.Begin, Slice: inner.ID()}, trace.OfInt(5), trace.OfText("text"), trace.OfBool(true))
	find("test:slice3", 1, trace.Event{Phase: trace.End, Slice: inner.ID()})
	find("test:count", 0, trace.Event{Phase: trace.Counter}, trace.OfInt(before+3))
	find("test:count", 1, trace.Event{Phase: trace.Counter}, trace.OfInt(before-2))
	find("test:gauge", 0, trace.Event{Phase: trace.Counter}, trace.OfFloat(0.5))
	find("test:mark", 0, trace.Event{Flow: tag.ID(), Role: trace.Sends})
	find("message:message", 0, trace.Event{Flow: tag.ID(), Role: trace.Receives})
	if n := len(all.Named("test:mark")); n != 1 {
		t.Errorf("%d marks", n)
	}
	babeltrace(t, dir)
}
