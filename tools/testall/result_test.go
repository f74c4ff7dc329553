package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/corpus"
	"meridian/internal/testneed"
)

// report is what go test -json of Go 1.26 wrote for a package with a test of each fate, shortened.
const report = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"    p_test.go:6: chatter\n"}
{"Action":"pass","Package":"p","Test":"TestGood","Elapsed":12.34}
{"Action":"output","Package":"p","Test":"TestRoot","Output":"=== RUN   TestRoot\n"}
{"Action":"output","Package":"p","Test":"TestRoot","Output":"    p_test.go:9: needs root\n"}
{"Action":"output","Package":"p","Test":"TestRoot","Output":"--- SKIP: TestRoot (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestRoot","Elapsed":0}
{"Action":"output","Package":"p","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"    p_test.go:12: bad thing\n"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestBad","Elapsed":0}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.002s\n"}
{"Action":"fail","Package":"p","Elapsed":0.002}
{"Action":"output","Package":"q","Output":"ok  \tq\t0.002s\n"}
{"Action":"pass","Package":"q","Elapsed":0.002}
{"Action":"output","Package":"r","Test":"TestStuck","Output":"panic: test timed out\n"}
{"Action":"output","Package":"r","Output":"FAIL\tr\t9s\n"}
{"Action":"fail","Package":"r","Elapsed":9}
{"ImportPath":"s","Action":"build-output","Output":"s.go:3:1: syntax error\n"}
{"ImportPath":"s","Action":"build-fail"}
{"Action":"fail","Package":"s","FailedBuild":"s"}
`

func TestSummaryShowsFailuresAndWhySomeWereSkipped(t *testing.T) {
	var out strings.Builder
	r := newResult(&out)
	if err := r.newRun("race: ").read(strings.NewReader(report)); err != nil {
		t.Fatal(err)
	}
	if r.summary(false) {
		t.Error("all is well")
	}
	for _, want := range []string{
		"p_test.go:12: bad thing", "FAIL\tp", "ok  \tq", "panic: test timed out", "s.go:3:1: syntax error",
		"\n1 passed, 3 failed, 1 skipped\n", "skipped, needs root: race: p.TestRoot", "The slowest tests:\n   12.3 s  race: p.TestGood\n", "race: ok  \tq",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	for _, unwanted := range []string{"chatter", "=== RUN"} {
		if strings.Contains(out.String(), unwanted) {
			t.Errorf("%q is in\n%s", unwanted, out.String())
		}
	}
	if r.failed != 3 || len(r.skips) != 1 {
		t.Errorf("%d failed, skipped %v", r.failed, r.skips)
	}
}

func TestReasonIsWhatSaysSomething(t *testing.T) {
	for _, test := range []struct {
		output []string
		want   string
	}{
		{nil, noReason},
		{[]string{"=== RUN   TestX\n", "--- SKIP: TestX (0.00s)\n"}, noReason},
		{[]string{"    x_test.go:1: \n"}, noReason},
		{[]string{"    x_test.go:1: []\n"}, noReason},
		{[]string{"    testscript.go:1: WORK=$WORK\n"}, noReason},
		{[]string{"    cmd.go:1: [needs two disks]\n", "    testscript.go:1: WORK=$WORK\n        PATH=x y\n"}, "needs two disks"},
		{[]string{"    x_test.go:1: working on it\n", "    x_test.go:2: tshark is not installed\n"}, "tshark is not installed"},
	} {
		if got := because(test.output); got != test.want {
			t.Errorf("%q: %q, want %q", test.output, got, test.want)
		}
	}
}

func TestSkipsFailWhereEverythingMustRunAndWithoutAReason(t *testing.T) {
	for _, test := range []struct {
		reason string
		strict bool
		wrong  bool
	}{
		{"needs root", false, false},
		{"tshark is not installed (apt-get install tshark)", true, true},
		{corpus.Absent, true, false},
		{noReason, false, true},
		{noReason, true, true},
		{testneed.LeftOut + "aligns twice", true, false},
	} {
		r := newResult(new(strings.Builder))
		r.skips[test.reason] = []string{"p.TestX"}
		if wrong := r.wronglySkipped(test.strict); (len(wrong) > 0) != test.wrong || r.summary(test.strict) == test.wrong {
			t.Errorf("%+v: %q", test, wrong)
		}
	}
}

func TestAStageThatCannotRunFailsWhereEverythingMustRun(t *testing.T) {
	r := newResult(new(strings.Builder))
	r.leaveOut("race", "there is no compiler")
	if !r.summary(false) || r.summary(true) {
		t.Error("it counts as it should not")
	}
}

func TestATargetThatFailsIsAFailure(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte("good bad:\n\t@echo this is $@; test $@ = good\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for target, good := range map[string]bool{"good": true, "bad": false} {
		var out strings.Builder
		r := newResult(&out)
		r.make(target)
		if r.summary(true) != good || !strings.Contains(out.String(), "this is "+target) {
			t.Errorf("%s: %s", target, out.String())
		}
	}
}

func TestTestsThatDoNotBuildAreAFailure(t *testing.T) {
	var out strings.Builder
	r := newResult(&out)
	r.test([]string{"./there/is/no/such/package"})
	if r.summary(false) {
		t.Error("all is well: ", out.String())
	}
}

func TestOutputThatIsNoReportIsAnError(t *testing.T) {
	r := newResult(new(strings.Builder))
	if r.newRun("").read(strings.NewReader("go: cannot find main module\n")) == nil {
		t.Error("no error")
	}
}
