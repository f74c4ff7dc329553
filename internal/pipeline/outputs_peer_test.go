package pipeline

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/simulate"
	"meridian/internal/pipeline/source"
	"meridian/internal/sim"
	"meridian/internal/testneed"
	"meridian/internal/traceprocessor"
)

// TestOtherToolsSeeWhatWasAligned writes three simulated hosts in several formats and asks the tools that people read
// these with.
func TestOtherToolsSeeWhatWasAligned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := sim.Scenario{
		Hosts: 3, Topology: sim.Full, Start: clock.TimelineTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()), Span: 2 * time.Second,
		Traffic: sim.Periodic, Rate: 40, Jitter: 20 * time.Microsecond, MaxOffset: time.Second, MaxSkewPPM: 50, Wander: 1e-9, Seed: 3,
	}
	done, err := simulate.Run(context.Background(), simulate.Options{Scenario: s, Dir: filepath.Join(dir, "sim"), Captures: true})
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := input.Parse(done.Traces)
	if err != nil {
		t.Fatal(err)
	}
	perfetto, chrome, directory := filepath.Join(dir, "x.pftrace"), filepath.Join(dir, "x.chrome.json"), filepath.Join(dir, "x.ctf")
	out, err := Run(context.Background(), inputs, Options{Outputs: []string{perfetto, chrome, directory}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Broken) > 0 {
		t.Fatal(out.Broken)
	}
	messages, events := out.Report.Quality.Messages, out.Played.Events
	if messages < 100 {
		t.Fatalf("%d messages", messages)
	}
	t.Run("babeltrace2", func(t *testing.T) { askBabeltrace(t, directory, events) })
	t.Run("trace processor", func(t *testing.T) {
		// A track for each host, and below it those of its packets, its messages and, but for the reference, its bound. Each
		// message is one arrow, from a send to a receive on another host, never backwards in time.
		answers := traceprocessor.Query(t, perfetto,
			"select name from track where parent_id is null and name glob 'host*' order by name",
			"select count(*) from track where name = 'packets' or name = 'messages'",
			"select count(*) from slice where name = 'packet'",
			"select count(*) from flow",
			`select count(*) from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id
			 join track ta on a.track_id = ta.id join track tb on b.track_id = tb.id
			 where a.name = 'send' and b.name = 'receive' and a.ts <= b.ts and ta.parent_id <> tb.parent_id`,
			"select count(*) from counter where value > 0",
		)
		for i, want := range []string{
			"host0\nhost1\nhost2\n", "6\n", fmt.Sprintln(2 * messages), fmt.Sprintln(messages), fmt.Sprintln(messages), fmt.Sprintln(2 * (source.BoundIntervals + 1)),
		} {
			if got := answers[i].String(); got != want {
				t.Errorf("answer %d is %q, not %q", i, got, want)
			}
		}
		if got := traceprocessor.Query(t, chrome, "select count(*) from flow")[0].String(); got != fmt.Sprintln(messages) {
			t.Errorf("%s flows in the Chrome trace, not %d", got, messages)
		}
	})
}

// askBabeltrace has babeltrace2 read a directory of traces to its end.
func askBabeltrace(t *testing.T, dir string, events int64) {
	path := testneed.Program(t, "babeltrace2")
	var said strings.Builder
	c := exec.Command(path, dir)
	c.Stderr = &said
	text, err := c.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("%v\n%s", err, said.String())
	}
	if n := strings.Count(string(text), "\n"); int64(n) != events {
		t.Errorf("babeltrace2 reads %d events, not %d", n, events)
	}
}
