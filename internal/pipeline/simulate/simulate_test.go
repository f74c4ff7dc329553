package simulate

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/messages"
	"meridian/format/pcap"
	"meridian/internal/filetest"
	"meridian/internal/pipeline/usage"
	"meridian/internal/sim"
	"meridian/match"
	"meridian/trace"
)

// simulatedScenario has hosts with clocks that are set back and forth.
func simulatedScenario(pattern sim.Pattern) sim.Scenario {
	begin := clock.TimelineTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return sim.Scenario{
		Hosts: 4, Topology: sim.Ring, Start: begin, Span: 10 * time.Second, Traffic: pattern, Rate: 10, Jitter: 20 * time.Microsecond,
		MaxOffset: time.Second, MaxSkewPPM: 50, Wander: 1e-8, Seed: 1,
		Steps: []sim.HostStep{{Host: 1, Step: sim.Step{At: begin + 4e9, By: -2e9}}, {Host: 1, Step: sim.Step{At: begin + 7e9, By: 1e9}}},
	}
}

// byPair gathers messages by the names of their hosts, in order of the stamps.
func byPair(name func(clock int) string, channels []trace.Channel) map[[2]string][]trace.Message {
	all := make(map[[2]string][]trace.Message)
	for _, c := range channels {
		key := [2]string{name(c.From), name(c.To)}
		all[key] = append(all[key], c.Messages...)
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b trace.Message) int {
			return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Received, b.Received))
		})
	}
	return all
}

func wanted(t *testing.T, s sim.Scenario) (map[[2]string][]trace.Message, *sim.Truth) {
	t.Helper()
	p, truth, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return byPair(func(c int) string { return p.Clocks[c].Name }, p.Channels), truth
}

func TestSimulatedListHoldsEveryMessage(t *testing.T) {
	for _, pattern := range sim.Patterns() {
		s := simulatedScenario(pattern)
		want, truth := wanted(t, s)
		done, err := Run(context.Background(), Options{Scenario: s, Dir: filepath.Join(t.TempDir(), "a", "b")})
		if err != nil {
			t.Fatal(err)
		}
		list := read(t, done.Traces[0])
		if got := byPair(func(c int) string { return list.Hosts[c] }, append(list.Channels, match.Collectives(list.Collectives)...)); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: other messages", pattern)
		}
		text, err := os.Open(done.TruthFile)
		if err != nil {
			t.Fatal(err)
		}
		defer text.Close()
		if got, err := sim.ReadTruth(text); err != nil || !reflect.DeepEqual(got, truth) {
			t.Errorf("%v: another truth, or %v", pattern, err)
		}
	}
}

func TestSimulatedOperationIsACollectiveUnlessAClockIsSetBackDuringIt(t *testing.T) {
	s := simulatedScenario(sim.Collective)
	s.Steps = nil
	// In true time, when each operation's hosts entered and left.
	type member struct{ entered, left clock.TimelineTime }
	operations := make(map[int]map[int]member)
	_, err := s.Play(func(f *sim.Flight) error {
		if operations[f.Operation] == nil {
			operations[f.Operation] = make(map[int]member)
		}
		from, to := operations[f.Operation][f.From], operations[f.Operation][f.To]
		from.entered, to.left = f.Left, f.Arrived
		operations[f.Operation][f.From] = member{f.Left, from.left}
		operations[f.Operation][f.To] = member{to.entered, f.Arrived}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	third := operations[3][2]
	s.Steps = []sim.HostStep{{Host: 2, Step: sim.Step{At: third.entered + (third.left-third.entered)/2, By: -1e9}}}
	list, _ := listed(t, s)
	if len(operations) < 50 || len(list.Collectives) != len(operations)-1 {
		t.Errorf("%d collectives of %d operations", len(list.Collectives), len(operations))
	}
	n := 0
	for _, c := range list.Channels {
		n += len(c.Messages)
	}
	if n != s.Hosts*(s.Hosts-1) {
		t.Errorf("%d messages of the operation during which a clock was set back", n)
	}
	for _, c := range list.Collectives {
		if len(c.Members) != s.Hosts {
			t.Errorf("%s has %d members", c.Name, len(c.Members))
		}
	}
}

func TestSimulatedBroadcastsAreReceptionsOfOneSending(t *testing.T) {
	list, p := listed(t, simulatedScenario(sim.Broadcast))
	if len(list.Broadcasts) == 0 || len(list.Broadcasts) != len(p.Broadcasts) {
		t.Fatalf("%d broadcasts, %d sent", len(list.Broadcasts), len(p.Broadcasts))
	}
	for i, b := range list.Broadcasts {
		got, want := make(map[string]clock.HostTime), make(map[string]clock.HostTime)
		for _, r := range b.Receptions {
			got[list.Hosts[r.Clock]] = r.Time
		}
		for _, r := range p.Broadcasts[i].Receptions {
			want[p.Clocks[r.Clock].Name] = r.Time
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("broadcast %d: %v, want %v", i, got, want)
		}
	}
	pair := simulatedScenario(sim.Broadcast)
	pair.Hosts, pair.Steps = 2, nil
	if list, _ := listed(t, pair); len(list.Broadcasts) != 0 {
		t.Errorf("%d broadcasts with one receiver", len(list.Broadcasts))
	}
}

// read returns a list of messages that has nothing to warn of.
func read(t *testing.T, path string) *trace.List {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var warnings trace.Warnings
	list, err := messages.Read(file, "list", &warnings)
	if err != nil || len(warnings.Lines()) > 0 {
		t.Fatal(err, warnings.Lines())
	}
	return list
}

// listed returns the list that a simulation writes, and what it plays.
func listed(t *testing.T, s sim.Scenario) (*trace.List, *trace.Problem) {
	t.Helper()
	done, err := Run(context.Background(), Options{Scenario: s, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	list := read(t, done.Traces[0])
	p, _, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return list, &p
}

func TestSimulatedCapturesLeadToEveryMessage(t *testing.T) {
	for _, pattern := range sim.Patterns() {
		for _, start := range []int64{0, -3e18} {
			s := simulatedScenario(pattern)
			s.Start += clock.TimelineTime(start)
			for i := range s.Steps {
				s.Steps[i].At += clock.TimelineTime(start)
			}
			want, _ := wanted(t, s)
			done, err := Run(context.Background(), Options{Scenario: s, Dir: t.TempDir(), Captures: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(done.Traces) != s.Hosts {
				t.Fatalf("captures %v", done.Traces)
			}
			var captures []*trace.Capture
			var warnings trace.Warnings
			for i, path := range done.Traces {
				c, err := pcap.Read(context.Background(), path, done.Truth.Hosts[i].Name, &warnings, func(int64) {})
				if err != nil {
					t.Fatal(err)
				}
				captures = append(captures, c)
			}
			result, err := match.Match(context.Background(), captures, match.Options{}, &warnings)
			if err != nil || len(warnings.Lines()) > 0 {
				t.Fatal(err, warnings.Lines())
			}
			if got := byPair(func(c int) string { return result.Clocks[c].Name }, result.Channels); !reflect.DeepEqual(got, want) {
				t.Errorf("%v: other messages than were sent", pattern)
			}
		}
	}
}

func TestSimulationReplacesItsOwnFilesAlone(t *testing.T) {
	dir := t.TempDir()
	files := func() []string { return filetest.Names(t, dir) }
	o := Options{Scenario: simulatedScenario(sim.Periodic), Dir: dir, Captures: true}
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if got := files(); !slices.Equal(got, []string{"host0.pcapng", "host1.pcapng", "host2.pcapng", "host3.pcapng", "truth.json"}) {
		t.Fatalf("captures left %v", got)
	}
	o.Captures = false
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if got := files(); !slices.Equal(got, []string{"messages.txt", "truth.json"}) {
		t.Fatalf("a list left %v", got)
	}
	for _, foreign := range []string{"notes.txt", "host1.pcapng/x"} {
		path := filepath.Join(dir, foreign)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		before := files()
		var wrong *usage.Error
		if _, err := Run(context.Background(), o); !errors.As(err, &wrong) {
			t.Errorf("beside %s: %v", foreign, err)
		}
		if got := files(); !slices.Equal(got, before) {
			t.Errorf("refused, and left %v", got)
		}
		if err := os.RemoveAll(filepath.Join(dir, before[0])); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "notes.txt")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInterruptedSimulationLeavesWhatWasThere(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	dir := filepath.Join(t.TempDir(), "sim")
	o := Options{Scenario: simulatedScenario(sim.Periodic), Dir: dir, Captures: true, Progress: func(stage string, _, _ int64) {
		if stage == "writing" {
			cancel()
		}
	}}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}
