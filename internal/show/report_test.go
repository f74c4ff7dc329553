package show

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"meridian/clock"
)

func TestArraysOfAReportAreNeverNull(t *testing.T) {
	for _, r := range []*Report{{}, {Hosts: make([]Host, 1), Pairs: make([]Pair, 1)}} {
		var out bytes.Buffer
		if err := r.Write(&out); err != nil {
			t.Fatal(err)
		}
		for _, array := range []string{"hosts", "pairs", "warnings", "addresses", "map", "error", "steps", "routes"} {
			if strings.Contains(out.String(), `"`+array+`": null`) {
				t.Errorf("%s is null in:\n%s", array, out.String())
			}
		}
	}
}

func TestAReportReadsBackAsItWasWritten(t *testing.T) {
	r := twoComponents()
	r.Hosts[1].Map = []Knot{{HostNs: math.MaxInt64, TimelineNs: math.MinInt64, LowNs: ptr(clock.TimelineTime(1<<53 + 1))}}
	r.Warnings = []string{"a <b> & c"}
	r.Network, r.WanderPPBS, r.EpsilonNs, r.MaxSkewPPM = "joint", ptr(30.0), ptr(100.0), ptr(500.0)
	r.Repair = &Repair{Method: "clc", Inversions: 3, LargestNs: 17}
	r.Steps = []Step{{Host: "web", AtNs: 1 << 60, ByNs: -1_000_000_000}}
	r.Routes = []Route{{From: "web", To: "gateway", AtNs: 3, ByNs: -4}}
	r.Hosts[0].Error = []Error{{HostNs: 5, SDNs: 0.25}}
	r.Pairs[0].Sigma, r.Pairs[0].EvidenceNats = ptr(1e-9), ptr(41.5)
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "a <b> & c") {
		t.Error("the file is not meant for HTML, and reads worse escaped")
	}
	back, err := ReadReport(&out)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, r.complete()) {
		t.Errorf("got %+v, want %+v", back, r.complete())
	}
}

func TestANumberThatIsNoneIsWrittenAsNull(t *testing.T) {
	r := &Report{Hosts: []Host{{SkewPPM: ptr(math.NaN())}}, Pairs: []Pair{{SkewHighPPM: ptr(math.Inf(1)), Sigma: ptr(math.NaN())}},
		MaxSkewPPM: ptr(math.Inf(1))}
	r.Hosts[0].Error = []Error{{HostNs: 1, SDNs: math.NaN()}}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	if r.Hosts[0].SkewPPM == nil {
		t.Error("writing changed the report")
	}
}

func TestDamagedReportsAreErrors(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"hosts":3}`, `{} {}`} {
		if _, err := ReadReport(strings.NewReader(text)); err == nil {
			t.Errorf("%q was taken for a report", text)
		}
	}
}

func TestKnotsHoldEveryCornerOfTheThreeCurves(t *testing.T) {
	m := clock.Map{Mid: clock.Curve{{X: 0, Y: 0}, {X: 10, Y: 20}}, Low: clock.Curve{{X: 5, Y: 7}}}
	want := []Knot{
		{HostNs: 0, TimelineNs: 0, LowNs: ptr(clock.TimelineTime(2))},
		{HostNs: 5, TimelineNs: 10, LowNs: ptr(clock.TimelineTime(7))},
		{HostNs: 10, TimelineNs: 20, LowNs: ptr(clock.TimelineTime(12))},
	}
	if got := Knots(&m, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestEveryFieldOfTheReportIsDocumented holds docs/report.md against the type: a row for each field, and no row for another.
func TestEveryFieldOfTheReportIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		for _, name := range regexp.MustCompile("`[^`]+`").FindAllString(cells[1], -1) {
			documented[strings.Trim(name, "`")] = true
		}
	}
	fields := map[string]bool{} // whether a row is needed: objects may do without
	var walk func(path string, t reflect.Type)
	walk = func(path string, t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			if t.Kind() == reflect.Slice {
				fields[path] = true
				path += "[]"
			}
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			fields[strings.TrimSuffix(path, "[]")] = true
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			walk(strings.TrimPrefix(path+"."+name, "."), f.Type)
		}
		fields[path] = fields[path] && path != ""
	}
	walk("", reflect.TypeFor[Report]())
	needed := 0
	for name, need := range fields {
		if need {
			needed++
			if !documented[name] {
				t.Errorf("docs/report.md has no row for %s", name)
			}
		}
	}
	for name := range documented {
		if _, ok := fields[name]; !ok {
			t.Errorf("docs/report.md has a row for %s, which the report lacks", name)
		}
	}
	if needed < 50 {
		t.Errorf("only %d fields found", needed)
	}
}
