//go:build unix

package verdict

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/schedule"
	"meridian/internal/filter"
	"meridian/internal/show"
)

// ran is a report of a run that ended well.
func ran(t *testing.T) *Report {
	return &Report{Name: "x", Started: time.Unix(1, 0), Directory: t.TempDir(), Run: &schedule.Result{}, Timeline: &Timeline{Quality: &show.Quality{Messages: 10}}}
}

func TestAPairWithinTheBoundsIsNeverYes(t *testing.T) {
	t.Parallel()
	beyond := &filter.Case{DurationNs: 200e6, LowNs: 199e6, HighNs: 201e6, Bounded: true, From: "front", To: "three"}
	for _, test := range []struct {
		name   string
		result filter.Result
		want   Answer
		says   string
	}{
		{"all within", filter.Result{Count: 3}, Yes, "3 pairs"},
		{"one beyond for certain", filter.Result{Count: 3, AboveMax: 1, Beyond: beyond}, No, "from front to three"},
		{"one beyond, may be within", filter.Result{Count: 3, AboveMax: 1, Undecided: 1, Beyond: beyond}, Undecided, "front to three"},
		{"one within, may be beyond", filter.Result{Count: 3, WithinOpen: 1, Beyond: beyond}, Undecided, "front to three"},
		{"one of each", filter.Result{Count: 3, AboveMax: 1, BelowMin: 1, Undecided: 1, WithinOpen: 1, Beyond: beyond}, No, "1 of 3 beyond"},
		{"none", filter.Result{}, No, "no pair"},
		{"no end", filter.Result{Count: 3, NoEnd: 1}, No, "1 begins without an end"},
	} {
		r := ran(t)
		got := r.check(&file.Check{Name: "c", Kind: "pair", Pair: filter.Pair{Name: "p", Begin: "a", End: "b"}}, map[string]*filter.Result{"check 1": &test.result})
		if got.Answer != test.want || !strings.Contains(got.Reason, test.says) {
			t.Errorf("%s: %s, %s; want %s, %s", test.name, got.Answer, got.Reason, test.want, test.says)
		}
		if test.want != Yes && test.result.Beyond != nil && got.Host != "three" {
			t.Errorf("%s: host %q is named", test.name, got.Host)
		}
	}
}

func TestWhatWasNotRecordedIsUndecided(t *testing.T) {
	t.Parallel()
	r := ran(t)
	r.Timeline = nil
	for _, kind := range []string{"pair", "inversions", "lost"} {
		if got := r.check(&file.Check{Kind: kind}, nil); got.Answer != Undecided || got.Reason == "" {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	r = ran(t)
	r.Timeline.Quality.Messages = 0
	if got := r.check(&file.Check{Kind: "inversions"}, nil); got.Answer != Undecided {
		t.Errorf("no messages: %+v", got)
	}
}

func TestInversionsBeyondTheBoundsAreNo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		contradicting, apparent, permitted int64
		want                               Answer
	}{{0, 0, 0, Yes}, {0, 1, 0, Undecided}, {1, 1, 0, No}, {1, 1, 1, Yes}, {2, 2, 1, No}, {1, 3, 1, Undecided}} {
		r := ran(t)
		r.Timeline.Quality.Contradicting, r.Timeline.Quality.InversionsBeyondGranularity = test.contradicting, test.apparent
		if got := r.check(&file.Check{Kind: "inversions", Count: test.permitted}, nil); got.Answer != test.want {
			t.Errorf("%+v: %s", test, got.Answer)
		}
	}
}

func TestFilesAreEqualOrDifferAtAByte(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 100_000)
	for _, test := range []struct {
		a, b string
		want Answer
		says string
	}{{"", "", Yes, "0 bytes"}, {big, big, Yes, "100000 bytes"}, {big, big + "y", No, "byte 100000"}, {big[:70_000] + "y" + big[70_001:], big, No, "byte 70000"}, {"", "y", No, "byte 0"}} {
		r := ran(t)
		for host, text := range map[string]string{"a": test.a, "b": test.b} {
			dir := filepath.Join(r.Directory, "hosts", host, "files", "d")
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got := r.check(&file.Check{Kind: "equal", Equal: []file.Gathered{{Host: "a", Daemon: "d", Path: "f"}, {Host: "b", Daemon: "d", Path: "f"}}}, nil)
		if got.Answer != test.want || !strings.Contains(got.Reason, test.says) {
			t.Errorf("%+v, want %s, %s", got, test.want, test.says)
		}
	}
}

func TestTheVerdictIsTheWorstAnswer(t *testing.T) {
	t.Parallel()
	for answers, want := range map[string]Answer{"": Yes, "yes": Yes, "yes undecided": Undecided, "undecided no yes": No, "no": No} {
		r := ran(t)
		for word := range strings.FieldsSeq(answers) {
			r.Checks = append(r.Checks, CheckResult{Name: word, Answer: Answer(word), Reason: "<&\x01\xff"})
		}
		if r.judge(); r.Verdict != want {
			t.Errorf("%q: %s, want %s", answers, r.Verdict, want)
		}
		if err := r.writeJUnit(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(r.Directory, junitName))
		if err != nil {
			t.Fatal(err)
		}
		var s suite
		if err := xml.Unmarshal(b, &s); err != nil || s.Tests != len(r.Checks)+1 || s.Failures != strings.Count(answers, "no") || s.Skipped != strings.Count(answers, "undecided") {
			t.Errorf("%q: %v\n%s", answers, err, b)
		}
	}
	broken := ran(t)
	broken.Promises, broken.Problems = []string{"no netem\x00\ufffe"}, []string{"no page"}
	if err := broken.writeJUnit(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(broken.Directory, junitName))
	var s suite
	if err != nil || xml.Unmarshal(b, &s) != nil || s.Skipped != 1 || s.Tests != 2 || s.Cases[1].Skipped == nil || s.Cases[1].Skipped.Message != "not kept: no netem; no page" {
		t.Errorf("promises that were not kept: %v\n%s", err, b)
	}
	r := ran(t)
	r.Run.Cause = &schedule.Failure{Host: "a", What: "gone"}
	if r.judge(); r.Verdict != No || r.State != Failed {
		t.Errorf("a run that failed: %s, %s", r.State, r.Verdict)
	}
}

// took makes reports of runs in which a phase took so long, and a pair, whose clocks have a bound.
func took(bound int64, ns ...int64) (reports []*Report) {
	for _, d := range ns {
		r := &Report{Run: &schedule.Result{Blocks: []*schedule.Block{{Calls: []*schedule.Call{{Host: "a", Daemon: "d", Phase: "p", BeganNs: 1, EndedNs: 1 + d}}}}}}
		r.Checks = []CheckResult{{Pair: &filter.Result{Name: "q", Count: 1, MedianNs: d, P99Ns: d, BoundNs: bound}}}
		reports = append(reports, r)
	}
	return reports
}

func TestRunsDifferOnlyBeyondNoiseAndBounds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		a, b        []*Report
		phase, pair string
	}{
		{"few runs", took(0, 100), took(0, 200), "unknown", "unknown"},
		{"apart", took(10, 100, 101, 102, 103, 104), took(10, 200, 201, 202, 203, 204), "differs", "differs"},
		{"within the bounds", took(60, 100, 101, 102, 103, 104), took(60, 200, 201, 202, 203, 204), "differs", "within noise and bounds"},
		{"within the noise", took(0, 100, 101, 102, 103, 204), took(0, 200, 201, 202, 203, 204), "within noise and bounds", "within noise and bounds"},
		{"faster", took(10, 200, 201, 202, 203, 204), took(10, 100, 101, 102, 103, 104), "differs", "differs"},
	} {
		c := Compare(test.a, test.b, "a", "b")
		if len(c.Rows) != 3 || c.Rows[0].Word() != test.phase || c.Rows[1].Word() != test.pair || c.Rows[2].Word() != test.pair {
			t.Errorf("%s: %+v", test.name, c.Rows)
		}
	}
}

// answered makes reports of runs in which a check was answered so.
func answered(all ...Answer) (reports []*Report) {
	for _, a := range all {
		reports = append(reports, &Report{Run: &schedule.Result{}, Checks: []CheckResult{{Name: "in time", Answer: a}}})
	}
	return reports
}

func TestAnswersAreCompared(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b []*Report
		says string // A, B and the word
	}{
		{answered(Yes, Yes), answered(Yes), "2 yes|1 yes|same"},
		{answered(Yes, No), answered(No, Yes, Yes, No), "1 yes, 1 no|2 yes, 2 no|same"},
		{answered(Yes, Yes), answered(Yes, No), "2 yes|1 yes, 1 no|differs"},
		{answered(Yes), answered(Undecided), "1 yes|1 undecided|differs"},
		{answered(Yes), []*Report{{Run: &schedule.Result{}}}, "1 yes||differs"},
		{[]*Report{{Run: &schedule.Result{}}}, answered(No), "|1 no|differs"},
	} {
		c := Compare(test.a, test.b, "a", "b")
		if len(c.Checks) != 1 {
			t.Errorf("%s: %+v", test.says, c.Checks)
			continue
		}
		if x := &c.Checks[0]; x.What != "check in time" || fmt.Sprintf("%v|%v|%s", x.A, x.B, x.Word()) != test.says {
			t.Errorf("%+v, want %s", x, test.says)
		}
	}
}

// Runs that failed have no durations, and nobody is to think that they were none.
func TestRunsThatFailedAreCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, state := range []string{Ended, Failed, Running, Ended} {
		r := took(0, 100)[0]
		r.Format, r.State, r.Directory = 1, state, filepath.Join(dir, fmt.Sprintf("run-%03d", i+1))
		if err := os.Mkdir(r.Directory, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := r.write(); err != nil {
			t.Fatal(err)
		}
	}
	all, failed, err := ReadAll(dir)
	if err != nil || len(all) != 2 || failed != 2 {
		t.Fatalf("%d runs, %d failed, %v", len(all), failed, err)
	}
	c := Compare(all, all, "x", "y")
	c.Failed = [2]int{failed, 0}
	var table strings.Builder
	if err := c.Table(&table); err != nil || !strings.Contains(table.String(), "x (2 runs, without 2 that failed)  y (2 runs)") {
		t.Errorf("%v\n%s", err, table.String())
	}
	page := filepath.Join(dir, "page.html")
	if err := c.WritePage(page); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "<th>x (2 runs, without 2 that failed)<th>y (2 runs)") || !strings.Contains(string(b), "noise is known from 5 runs") {
		t.Errorf("%v\n%s", err, b)
	}
}

func TestNumbersAreFoundInResults(t *testing.T) {
	t.Parallel()
	result := json.RawMessage(`{"a":{"b":2.5},"c":"x"}`)
	if v, err := number(result, "a.b"); err != nil || v != 2.5 {
		t.Errorf("a.b: %v, %v", v, err)
	}
	for _, field := range []string{"a", "c", "d", "a.b.c"} {
		if _, err := number(result, field); err == nil {
			t.Errorf("%s is a number", field)
		}
	}
}

// What a daemon wrote is shown, and does not steer the terminal.
func TestControlCharactersOfDaemonsAreQuoted(t *testing.T) {
	t.Parallel()
	const wrote, want = "red\x1b[31m\tbell\a\u0085\u202e é", `red\x1b[31m bell\a\u0085\u202e é`
	r := ran(t)
	r.Run.Cause = &schedule.Failure{Host: "a", What: wrote, Tail: []string{wrote}}
	r.Promises = []string{wrote}
	r.Checks = []CheckResult{{Name: wrote, Answer: Undecided, Reason: wrote}}
	var out strings.Builder
	if err := Print(&out, []*Report{r}); err != nil {
		t.Fatal(err)
	}
	shown := append(append(r.Failures(), r.Open()...), out.String())
	r.Run.Cause, r.Checks[0].Answer = nil, No
	shown = append(shown, r.Failures()...)
	for _, text := range shown {
		if strings.ContainsAny(text, "\x1b\a\u0085\u202e") || !strings.Contains(text, want) {
			t.Errorf("%q", text)
		}
	}
}
