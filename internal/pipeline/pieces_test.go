package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/filetest"
	"meridian/internal/pipeline/input"
	"meridian/internal/sim"
	"meridian/trace"
)

// setBackList is exchanges of a and b, whose clock is 5 ms ahead and is set back by 50 ms in the middle: so it shows 50 ms twice,
// with 20 messages in each. It returns the true instants of b's ends of messages, by the stamps of both ends.
func setBackList(t *testing.T) (path string, truth map[string]int64) {
	var text strings.Builder
	truth = make(map[string]int64)
	stamp := func(ns int64) string { return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9) }
	for i := range int64(2000) {
		sent := 1_700_000_000_000_000_000 + i*5_000_000
		received := sent + 30_000 + i*7919%20_000
		ahead := func(at int64) int64 {
			if at < 1_700_000_005_000_000_000 {
				return at + 5_000_000
			}
			return at - 45_000_000
		}
		if i%2 == 0 {
			fmt.Fprintf(&text, "a b %s %s\n", stamp(sent), stamp(ahead(received)))
			truth[fmt.Sprint("receives ", sent, " ", ahead(received))] = received
		} else {
			fmt.Fprintf(&text, "b a %s %s\n", stamp(ahead(sent)), stamp(received))
			truth[fmt.Sprint("sends ", received, " ", ahead(sent))] = sent
		}
	}
	path = filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path, truth
}

// csvRows runs the pipeline and returns the rows of its CSV, by the names of the columns.
func csvRows(t *testing.T, inputs []input.Trace, o Options) ([]map[string]string, *Outcome) {
	out := filepath.Join(t.TempDir(), "out.csv")
	o.Outputs = []string{out}
	outcome, err := Run(context.Background(), inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	lines := filetest.CSV(t, out)
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for k, name := range lines[0] {
			row[name] = line[k]
		}
		rows = append(rows, row)
	}
	return rows, outcome
}

func number(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEndsOfMessagesOfAClockThatWasSetBackLieInThePieceTheyAreOf(t *testing.T) {
	path, truth := setBackList(t)
	for _, repair := range []string{"", repairControlled} {
		inputs, err := input.Parse([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{}
		o.Align.Reference, o.Align.Repair = "a", repair
		rows, outcome := csvRows(t, inputs, o)
		if len(outcome.Broken) > 0 || len(outcome.Report.Steps) != 1 {
			t.Fatalf("repair %q: broken %q, steps %+v", repair, outcome.Broken, outcome.Report.Steps)
		}
		other := make(map[string]string) // by flow: the stamp of a's end
		for _, row := range rows {
			if row["host"] == "a" && row["flow"] != "" {
				other[row["flow"]] = row["recorded_ns"]
			}
		}
		seen := 0
		for _, row := range rows {
			if row["host"] != "b" || row["flow"] == "" {
				continue
			}
			seen++
			was, ok := truth[row["role"]+" "+other[row["flow"]]+" "+row["recorded_ns"]]
			low, at, high := number(t, row["low_ns"]), number(t, row["time_ns"]), number(t, row["high_ns"])
			if !ok || was < low || was > high || at < low || at > high || high-low > 1_000_000 {
				t.Fatalf("repair %q: %s at %s was at %d (%v), said to be at %d in %d..%d", repair, row["role"], row["recorded_ns"], was, ok, at, low, high)
			}
		}
		if seen != len(truth) {
			t.Errorf("repair %q: %d ends of messages of %d", repair, seen, len(truth))
		}
		if b := outcome.Report.Hosts[1].BoundNs; b == nil || *b > 500_000 {
			t.Errorf("repair %q: the worst bound of b is not that of its pieces: %v", repair, b)
		}
	}
}

func TestPacketsBehindASmallStepBackKeepTheOrderOfTheirCapture(t *testing.T) {
	begin := clock.TimelineTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	s := sim.Scenario{
		Hosts: 2, Topology: sim.Full, Start: begin, Span: 4 * time.Second, Rate: 1000, Jitter: 20 * time.Microsecond,
		MinDelay: [2]time.Duration{30 * time.Microsecond, 40 * time.Microsecond}, MaxOffset: time.Second, MaxSkewPPM: 50, Seed: 1,
		Steps: []sim.HostStep{{Host: 1, Step: sim.Step{At: begin + 2e9, By: -8e6}}},
	}
	done, inputs := captured(t, s)
	// A capture holds packets as they came: its order is the true one.
	capture, err := pcap.Open(done.Traces[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer capture.Close()
	var want, got []int64
	var f trace.Frame
	for capture.Next(&f) == nil {
		want = append(want, int64(f.Time))
	}
	o := Options{}
	o.Align.Reference = done.Truth.Hosts[0].Name
	rows, outcome := csvRows(t, inputs, o)
	if len(outcome.Broken) > 0 || len(outcome.Report.Steps) != 1 {
		t.Fatalf("broken %q, steps %+v", outcome.Broken, outcome.Report.Steps)
	}
	for _, row := range rows {
		if row["host"] == done.Truth.Hosts[1].Name && row["event"] == "packet" {
			got = append(got, number(t, row["recorded_ns"]))
			if width := number(t, row["high_ns"]) - number(t, row["low_ns"]); width > 1_000_000 {
				t.Fatalf("the packet at %s has bounds %d ns apart", row["recorded_ns"], width)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d packets are not in the order of their capture of %d", len(got), len(want))
	}
}
