package pipeline

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/simulate"
	"meridian/internal/sim"
	"meridian/trace"
)

// captured plays a scenario and returns its captures as inputs.
func captured(t *testing.T, s sim.Scenario) (*simulate.Result, []input.Trace) {
	t.Helper()
	done, err := simulate.Run(context.Background(), simulate.Options{Scenario: s, Dir: t.TempDir(), Captures: true})
	if err != nil {
		t.Fatal(err)
	}
	var inputs []input.Trace
	for i, path := range done.Traces {
		inputs = append(inputs, input.Trace{Host: done.Truth.Hosts[i].Name, Path: path})
	}
	return done, inputs
}

func TestPacketsOfAClockThatWasSetBackAreMergedInTheirTrueOrder(t *testing.T) {
	begin := clock.TimelineTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	s := sim.Scenario{
		Hosts: 3, Topology: sim.Full, Start: begin, Span: 10 * time.Second, Rate: 30, Jitter: 20 * time.Microsecond,
		MinDelay: [2]time.Duration{30 * time.Microsecond, 40 * time.Microsecond}, MaxOffset: time.Second, MaxSkewPPM: 50, Seed: 1,
		Steps: []sim.HostStep{{Host: 1, Step: sim.Step{At: begin + 4e9, By: -2e9}}, {Host: 1, Step: sim.Step{At: begin + 7e9, By: 1e9}}},
	}
	done, inputs := captured(t, s)
	merged := filepath.Join(t.TempDir(), "merged.pcapng")
	outcome, err := Run(context.Background(), inputs, Options{Outputs: []string{merged}})
	if err != nil {
		t.Fatal(err)
	}
	if len(outcome.Broken) > 0 || len(outcome.Report.Steps) != 2 || len(outcome.Report.Warnings) != 2 ||
		!strings.Contains(outcome.Report.Warnings[0], "its clock was set by -2.000") {
		t.Errorf("broken %q, steps %+v, warnings %q", outcome.Broken, outcome.Report.Steps, outcome.Report.Warnings)
	}
	// Each message is twice in the merged capture, and its first frame is the sender's.
	sentBy := make(map[string]int)
	reader, err := pcap.Open(merged, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var f trace.Frame
	frames, last := 0, clock.HostTime(0)
	for reader.Next(&f) == nil {
		text := string(f.Data[42:])
		from := int(f.Data[11]) // the last byte of the sender's address
		if _, again := sentBy[text]; !again {
			sentBy[text] = f.Interface
			if f.Interface != from {
				t.Fatalf("%s of host %d is first seen on host %d", text, from, f.Interface)
			}
		}
		if f.Time < last {
			t.Fatalf("frame %d runs back", frames)
		}
		frames, last = frames+1, f.Time
	}
	if frames != 2*int(done.Messages) {
		t.Errorf("%d frames of %d messages", frames, done.Messages)
	}
}

// The clock of a is set back by 20 s after it had shown 5 s: along its stamps, b and c turn back, and along theirs a does. That both
// partners show it of a alone tells that a was set.
func TestTheClockThatAllPartnersShowWasSetBackByMoreThanItHadShown(t *testing.T) {
	inputs, err := input.Parse([]string{filepath.Join("testdata", "set_far_back.txt")})
	if err != nil {
		t.Fatal(err)
	}
	for _, reference := range []string{"", "a", "b"} {
		o := Options{}
		o.Align.Reference = reference
		_, outcome := csvRows(t, inputs, o)
		steps := outcome.Report.Steps
		if len(steps) != 1 || steps[0].Host != "a" || steps[0].ByNs < -20_100_000_000 || steps[0].ByNs > -19_900_000_000 {
			t.Errorf("reference %q: %+v", reference, steps)
		}
	}
}

// Host a stamps what it sends and what it receives by two clocks, one of which was set back by a second: the bounds of one against the
// other stand still, so nothing leads back over them.
func TestTwoClocksOfAHostOneOfWhichWasSetBackAreAligned(t *testing.T) {
	dir := filepath.Join("testdata", "second_clock_set_back")
	inputs, err := input.Parse([]string{filepath.Join(dir, "a.pcapng"), filepath.Join(dir, "b.pcap")})
	if err != nil {
		t.Fatal(err)
	}
	rows, outcome := csvRows(t, inputs, Options{})
	for _, r := range rows {
		if r["low_ns"] == "" && len(outcome.Broken) == 0 {
			t.Fatalf("an event of %s has no bounds, and no promise is broken", r["host"])
		}
	}
}
