package evaluate_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/align"
	"meridian/format/messages"
	"meridian/internal/filetest"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/evaluate"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/usage"
	"meridian/internal/sim"
	"meridian/trace"
)

// played is a scenario's messages as a list, and its truth, as files.
func played(t *testing.T, s sim.Scenario) (inputs []input.Trace, truthFile string, truth *sim.Truth) {
	t.Helper()
	directory := t.TempDir()
	problem, truth, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	list := trace.List{Channels: problem.Channels}
	for _, c := range problem.Clocks {
		list.Hosts = append(list.Hosts, c.Name)
	}
	path, truthFile := filepath.Join(directory, "list.txt"), filepath.Join(directory, "truth.json")
	write := func(path string, what func(*os.File) error) {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := what(file); err != nil {
			t.Fatal(err)
		}
	}
	write(path, func(f *os.File) error { return messages.Write(f, &list) })
	write(truthFile, func(f *os.File) error { return truth.Write(f) })
	inputs, err = input.Parse([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	return inputs, truthFile, truth
}

func TestMessagesOfAClockThatWasSetBackAreCountedByThePieceTheyAreOf(t *testing.T) {
	s := linear()
	s.Span, s.Rate = 20*time.Second, 200
	s.Steps = []sim.HostStep{{Host: 1, Step: sim.Step{At: s.Start + 10e9, By: -200e6}}} // it shows 200 ms twice
	inputs, _, _ := played(t, s)
	for _, repair := range append([]string{""}, pipeline.Repairs()...) {
		var o evaluate.Options
		o.Align.Repair = repair
		e, err := evaluate.Run(t.Context(), inputs, o)
		if err != nil {
			t.Fatal(err)
		}
		if m := &e.Methods[0]; m.Messages < 4000 || m.Inversions != 0 || len(e.Broken) > 0 {
			t.Errorf("repair %q: %d of %d messages inverted, broken %q", repair, m.Inversions, m.Messages, e.Broken)
		}
	}
}

// linear is two linear clocks, one of the two ways longer.
func linear() sim.Scenario {
	return sim.Scenario{
		Traffic: sim.RequestResponse, Jitter: 20 * time.Microsecond, Asymmetric: true, Span: time.Minute,
		MinDelay:  [2]time.Duration{10 * time.Microsecond, 80 * time.Microsecond},
		MaxOffset: time.Second, MaxSkewPPM: 50, Start: 1_700_000_000_000_000_000, Seed: 3,
	}
}

func TestErrorOfAnAsymmetricPairIsHalfTheAsymmetry(t *testing.T) {
	inputs, file, truth := played(t, linear())
	o := evaluate.Options{Truth: file}
	o.Align.Method, o.Align.Reference = "hull", "host0"
	e, err := evaluate.Run(t.Context(), inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	// The reference is host0: host1 seems ahead of it by half of what host0's messages take longer.
	ahead, ok := truth.Asymmetry("host0", "host1")
	m := e.Methods[0]
	if !ok || m.Truth == nil || m.Truth.SymmetricRMSNs == nil || m.Truth.AsymmetryNs == nil {
		t.Fatalf("no truth: %+v", m.Truth)
	}
	if math.Abs(ahead) < 5000 {
		t.Fatalf("the scenario's asymmetry is %v ns; take another seed", ahead)
	}
	if math.Abs(*m.Truth.AsymmetryNs+ahead) > 1 {
		t.Errorf("asymmetry %v, not %v", *m.Truth.AsymmetryNs, -ahead)
	}
	if rest := *m.Truth.SymmetricRMSNs; rest > 1000 || math.Abs(m.Truth.RMSNs-math.Abs(ahead)) > 1000 {
		t.Errorf("error %v, less the asymmetry %v; half the asymmetry is %v", m.Truth.RMSNs, rest, ahead)
	}
	if !*m.Truth.Always || *m.Truth.Within != 1 || *m.Truth.RatioMedian < 0.95 || *m.Truth.RatioMedian > 1.3 {
		t.Errorf("bounds of linear clocks: %+v", m.Truth)
	}
	if len(e.Broken) > 0 {
		t.Errorf("broken: %v", e.Broken)
	}
	least := truth.Links[0].MinDelayNs + truth.Links[1].MinDelayNs
	if *m.Truth.RoundTripNs != least {
		t.Errorf("round trip %d, not %d", *m.Truth.RoundTripNs, least)
	}
}

func TestEvaluationCountsWhatAligningReports(t *testing.T) {
	s := linear()
	s.Hosts, s.Topology = 4, sim.Ring
	inputs, _, _ := played(t, s)
	for _, method := range []string{"hull", "regression", "envelope"} {
		var o evaluate.Options
		o.Align.Method = method
		outcome, err := pipeline.Run(t.Context(), inputs, pipeline.Options{Align: o.Align})
		if err != nil {
			t.Fatal(err)
		}
		e, err := evaluate.Run(t.Context(), inputs, o)
		if err != nil {
			t.Fatal(err)
		}
		m, q := e.Methods[0], outcome.Report.Quality
		if m.Messages != q.Messages || m.Inversions != q.Inversions || m.InversionsBeyondGranularity != q.InversionsBeyondGranularity {
			t.Errorf("%s: %+v, the report says %+v", method, m.Quality, q)
		}
		// The report's bounds are over the traces' time, these over the messages' ends, of which some are at the ends.
		if math.Abs(float64(*m.BoundNs.Worst-*q.BoundNs.Worst)) > 2 || *m.BoundNs.Best < *q.BoundNs.Best-2 {
			t.Errorf("%s: bounds %d to %d, the report says %d to %d", method,
				*m.BoundNs.Best, *m.BoundNs.Worst, *q.BoundNs.Best, *q.BoundNs.Worst)
		}
		var said, reported strings.Builder // the line of the estimated error, of methods that have one
		if e.Table(&said) != nil || outcome.Report.Table(&reported) != nil || estimatedError(said.String()) != estimatedError(reported.String()) ||
			(m.Error2SDNs != nil) != (method == "envelope") || (estimatedError(said.String()) != "") != (method == "envelope") {
			t.Errorf("%s: %q, the report says %q", method, estimatedError(said.String()), estimatedError(reported.String()))
		}
		if e.Reference != outcome.Report.Reference || m.Truth != nil || len(m.Directions) != 8 {
			t.Errorf("%s: reference %s, truth %v, %d directions", method, e.Reference, m.Truth, len(m.Directions))
		}
	}
}

// estimatedError is the line of a table that says it.
func estimatedError(table string) string {
	_, after, _ := strings.Cut(table, "estimated error")
	line, _, _ := strings.Cut(after, "\n")
	return line
}

func TestComparisonHasARowForEveryMethodAgainstOneReference(t *testing.T) {
	s := linear()
	s.Span = 20 * time.Second
	inputs, file, _ := played(t, s)
	e, err := evaluate.Run(t.Context(), inputs, evaluate.Options{Compare: true, Truth: file})
	if err != nil {
		t.Fatal(err)
	}
	want := append(align.Methods(), pipeline.AsRecorded)
	if len(e.Methods) != len(want) {
		t.Fatalf("%d rows for %v", len(e.Methods), want)
	}
	for i, m := range e.Methods {
		if m.Refused != "" {
			continue
		}
		if m.Method != want[i] || m.Truth == nil || m.Messages != e.Methods[0].Messages {
			t.Errorf("row %d is %s of %d messages", i, m.Method, m.Messages)
		}
		for _, h := range m.Hosts {
			if h.Reference != e.Reference {
				t.Errorf("%s is against %s, not %s", m.Method, h.Reference, e.Reference)
			}
		}
	}
	recorded := e.Methods[len(want)-1]
	if recorded.Inversions == 0 || recorded.Truth.RMSNs < 1e6 || recorded.Truth.Within != nil || recorded.UnboundedEvents == 0 {
		t.Errorf("as recorded: %+v", recorded)
	}
}

func TestWrongWishesAreRefusedBeforeAnyWork(t *testing.T) {
	inputs, file, _ := played(t, sim.Scenario{Span: time.Second})
	method := func(name string) evaluate.Options {
		var o evaluate.Options
		o.Align.Method = name
		return o
	}
	reference := evaluate.Options{Compare: true}
	reference.Align.Reference = "nobody"
	recorded := method(pipeline.AsRecorded)
	recorded.Align.Reference = "nobody"
	stranger := filepath.Join(t.TempDir(), "truth.json")
	if err := os.WriteFile(stranger, []byte(`{"hosts":[{"name":"mars","clock":[[0,0]]}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    evaluate.Options
		says string
	}{
		"method":              {method("median"), "median"},
		"reference":           {reference, "nobody"},
		"reference, recorded": {recorded, "nobody"},
		"plots into a file":   {evaluate.Options{Plots: file}, "not a directory"},
		"a stranger's truth":  {evaluate.Options{Truth: stranger}, "mars"},
	} {
		_, err := evaluate.Run(t.Context(), inputs, c.o)
		var usage *usage.Error
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"hosts":`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := evaluate.Run(t.Context(), inputs, evaluate.Options{Truth: broken}); err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("a broken truth: %v", err)
	}
}

func TestPlotsAreOneFileEachAndNothingElse(t *testing.T) {
	s := linear()
	s.Hosts, s.Topology, s.Span = 3, sim.Chain, 5*time.Second
	inputs, file, _ := played(t, s)
	directory := filepath.Join(t.TempDir(), "new", "plots")
	for range 2 { // the second time over the first
		o := evaluate.Options{Truth: file, Plots: directory}
		if _, err := evaluate.Run(t.Context(), inputs, o); err != nil {
			t.Fatal(err)
		}
	}
	const want = "host-host0.svg host-host1.svg host-host2.svg index.html pair-host0-host1.svg pair-host1-host2.svg"
	if got := strings.Join(filetest.Names(t, directory), " "); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
