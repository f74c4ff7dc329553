package samples

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/fuzztest"
	"meridian/internal/testseed"
	"meridian/trace"
)

func read(text string) ([]string, []trace.Sample, []string, error) {
	var w trace.Warnings
	hosts, list, err := Read(strings.NewReader(text), "s.txt", &w)
	return hosts, list, w.Lines(), err
}

func TestSamplesReadInTheOrderOfTheFile(t *testing.T) {
	hosts, list, warnings, err := read("\ufeff# reference: gps\nweb 1 2 0.5 # first\n\ndb\t-3 1e1 0\r\nweb 1.5 2.5 5e-1")
	want := []trace.Sample{{Clock: 0, Host: 1e9, Reference: 2e9, Error: 5e8}, {Clock: 1, Host: -3e9, Reference: 1e10}, {Clock: 0, Host: 1.5e9, Reference: 2.5e9, Error: 5e8}}
	if err != nil || len(warnings) > 0 || !reflect.DeepEqual(hosts, []string{"web", "db"}) || !reflect.DeepEqual(list, want) {
		t.Errorf("%v %v %q %v", hosts, list, warnings, err)
	}
}

func TestRoundingNeverShrinksTheError(t *testing.T) {
	_, list, warnings, err := read("a 1.0000000009 2 0.000000001\na 1 -2.0000000001 0\na .0000000001 .0000000001 .0000000001\n")
	want := []trace.Sample{{Host: 1e9, Reference: 2e9, Error: 2}, {Host: 1e9, Reference: -2e9 - 1, Error: 1}, {Error: 3}}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%v %v", list, err)
	}
	if len(warnings) != 1 || warnings[0] != "s.txt: stamps finer than a nanosecond rounded, their error with them (3 times, first s.txt:1)" {
		t.Errorf("%q", warnings)
	}
}

func TestBadLinesAreSkippedAndCountedByReason(t *testing.T) {
	for line, why := range map[string]string{
		"x 1 2":                                "not the four fields HOST HOST_TIME REFERENCE_TIME ERROR",
		"x 1 2 3 4":                            "not the four fields HOST HOST_TIME REFERENCE_TIME ERROR",
		"x 1 2 -1":                             "a negative error",
		"x 1 2 -0.0000000001":                  "a negative error",
		"x 1 two 1":                            "a time is not a decimal number of seconds",
		"x 1 9e9 1":                            "a time is out of range",
		"x .0000000001 1 4611686018.427387904": "a time is out of range",
		"x\x01 1 2 3":                          "a host name with control characters or invalid UTF-8",
		"x 1 2 3" + strings.Repeat(" ", 2<<20): "a line longer than 1 MiB",
	} {
		hosts, list, warnings, err := read("a 1 1 0\n" + line + "\n")
		if err != nil || len(hosts) != 1 || len(list) != 1 {
			t.Errorf("%.20q: %v %v %v", line, hosts, list, err)
		}
		if want := "s.txt: line skipped: " + why + " (s.txt:2)"; len(warnings) != 1 || warnings[0] != want {
			t.Errorf("%.20q: %q, want %q", line, warnings, want)
		}
	}
}

func TestAFileWithoutASampleSaysWhatIsExpected(t *testing.T) {
	for text, want := range map[string]string{
		"":            "s.txt: empty: ",
		"# nothing\n": "s.txt: empty: ",
		"\nhello\n":   "s.txt: no sample, line 2: not the four fields HOST HOST_TIME REFERENCE_TIME ERROR; ",
	} {
		if _, _, _, err := read(text); err == nil || err.Error() != want+Expected {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAFailingReaderIsAnErrorWithItsLine(t *testing.T) {
	broken := errors.New("broken disk")
	_, _, err := Read(iotest.ErrReader(broken), "s.txt", new(trace.Warnings))
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "s.txt: line 1: ") {
		t.Errorf("got %v", err)
	}
}

func TestWrittenSamplesReadBackExactly(t *testing.T) {
	stamp := rapid.Int64Range(1-clock.Limit, clock.Limit-1)
	testseed.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOfNDistinct(rapid.StringMatching(`[!-"$-~é世]{1,8}`), 1, 4, rapid.ID[string]).Draw(t, "hosts")
		var list []trace.Sample
		for i := range hosts { // in order of appearance
			list = append(list, trace.Sample{Clock: i})
		}
		for range rapid.IntRange(0, 9).Draw(t, "samples") {
			list = append(list, trace.Sample{Clock: rapid.IntRange(0, len(hosts)-1).Draw(t, "host"),
				Host: clock.HostTime(stamp.Draw(t, "at")), Reference: clock.HostTime(stamp.Draw(t, "reference")), Error: max(0, stamp.Draw(t, "error"))})
		}
		var file bytes.Buffer
		if err := Write(&file, hosts, list); err != nil {
			t.Fatal(err)
		}
		gotHosts, got, warnings, err := read(file.String())
		if err != nil || len(warnings) > 0 || !reflect.DeepEqual(gotHosts, hosts) || !reflect.DeepEqual(got, list) {
			t.Fatalf("%v %v %q %v, want %v %v", gotHosts, got, warnings, err, hosts, list)
		}
	})
}

func TestWhatCouldNotBeReadBackIsNotWritten(t *testing.T) {
	for _, c := range []struct {
		host   string
		sample trace.Sample
	}{
		{"a b", trace.Sample{}},
		{"", trace.Sample{}},
		{"a", trace.Sample{Clock: 1}},
		{"a", trace.Sample{Error: -1}},
		{"a", trace.Sample{Host: clock.Limit}},
	} {
		var file bytes.Buffer
		if err := Write(&file, []string{c.host}, []trace.Sample{c.sample}); err == nil || file.Len() > 0 {
			t.Errorf("%+v was written", c)
		}
	}
	if err := Write(new(bytes.Buffer), []string{"a", "a"}, []trace.Sample{{}, {Clock: 1}}); err == nil {
		t.Error("two hosts of one name were written")
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range fuzztest.Real(f, "*.log") { // of another format, as users will try
		f.Add(data)
	}
	f.Add([]byte("a 1.5 -2e3 0 # x\r\nb .5 7.0000000001 1e-9\n"))
	f.Add([]byte("\ufeff# c\n\na 1 4611686018.427387904 1\n"))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		hosts, list, err := Read(bytes.NewReader(data), "f", new(trace.Warnings))
		if err != nil {
			return
		}
		var file bytes.Buffer
		if err := Write(&file, hosts, list); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		var again trace.Warnings
		gotHosts, got, err := Read(&file, "f", &again)
		if err != nil || len(again.Lines()) > 0 || !reflect.DeepEqual(gotHosts, hosts) || !reflect.DeepEqual(got, list) {
			t.Fatalf("not the same after writing: %v, %q", err, again.Lines())
		}
	})
}
