package pipeline

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/internal/pipeline/input"
)

// Captures of two hosts, made by others, of which a few timestamps are wrong: b is 3.5 s ahead of a, and 40 ppm fast. Whatever the wrong ones say, all
// others keep their bounds, and there is no third clock.
func TestAFewWrongTimestampsDecideNothing(t *testing.T) {
	const start, ahead, skew = 1_767_225_600_000_000_000, 3_500_000_000, 40e-6
	for _, c := range []struct {
		name  string
		wrong int // timestamps of b
		bound int64
		warns string
	}{
		{name: "one-late-stamp-control", bound: 163_000},
		{name: "one-late-stamp", bound: 163_000, warns: "1 message contradicts all others and was left out"},
		{name: "one-early-stamp", bound: 182_000},
		{name: "late-packet-called-clock-set", bound: 120_000, warns: "packets are out of order: they came late, or their timestamps are wrong (by up to 18.90 ms)"},
		{name: "first-stamp-zero", bound: 137_000, warns: "timestamps that are none"},
		{name: "impossible-first-stamp", bound: 113_000, warns: "impossible fraction of a second"},
		{name: "unused-interface", bound: 145_000}, // an interface that counts milliseconds and has no packets
	} {
		t.Run(c.name, func(t *testing.T) {
			var inputs []input.Trace
			for _, host := range []string{"a", "b"} {
				paths, err := filepath.Glob(filepath.Join("testdata", "cases", c.name, host+".pcap*"))
				if err != nil || len(paths) != 1 {
					t.Fatalf("%q, %v", paths, err)
				}
				inputs = append(inputs, input.Trace{Host: host, Path: paths[0]})
			}
			o := Options{}
			o.Align.Reference = "a"
			rows, outcome := csvRows(t, inputs, o)
			if len(outcome.Broken) > 0 {
				t.Errorf("broken: %q", outcome.Broken)
			}
			if !slices.ContainsFunc(outcome.Warnings, func(w string) bool { return strings.Contains(w, c.warns) }) && c.warns != "" {
				t.Errorf("warnings: %q", outcome.Warnings)
			}
			for _, w := range outcome.Warnings {
				if strings.Contains(w, "was set") {
					t.Errorf("a clock is blamed: %s", w)
				}
			}
			if n := len(outcome.Report.Hosts); n != 2 {
				t.Fatalf("%d hosts", n)
			}
			b := &outcome.Report.Hosts[1]
			switch {
			case b.BoundNs == nil || b.BoundAllTrueNs == nil:
				t.Error("b has no bound")
			case *b.BoundAllTrueNs > c.bound:
				t.Errorf("b's bound is %d ns if all messages are true, want at most %d", *b.BoundAllTrueNs, c.bound)
			case *b.BoundNs > c.bound*8/5: // one in thirty messages each way may be false, and another one was found
				t.Errorf("b's bound is %d ns, want at most %d", *b.BoundNs, c.bound*8/5)
			}
			bounded, outside := 0, 0
			for _, row := range rows {
				if row["host"] != "b" || row["low_ns"] == "" {
					continue
				}
				bounded++
				passed := float64(number(t, row["recorded_ns"]) - start - ahead)
				truth := start + int64(math.Round(passed/(1+skew)))
				if truth < number(t, row["low_ns"])-3 || truth > number(t, row["high_ns"])+3 {
					outside++
				}
			}
			if bounded == 0 || outside > 0 {
				t.Errorf("%d of %d events of b lie outside of their bounds", outside, bounded)
			}
		})
	}
}

// Captures of two hosts whose clocks are equal, made by others, that show a packet of one capture as if it were one of
// the other, or one that went the other way.
func TestPacketsOfWhichNothingProvesThatTheyAreTheSameAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		says   string
		broken bool
	}{
		{name: "gro-first-segment-stamp"},
		{name: "third-party-multicast", says: "they went to a group, and nothing tells that either host sent them"},
		{name: "equal-polls-no-common-packet", says: "equal ones may be sent at other times", broken: true},
		{name: "two-taps-in-a-ring", says: "both captures seem to be taken between the hosts", broken: true},
		{name: "keepalives", says: "each capture holds equal ones several times (keepalives, heartbeats), so which are the same is unknown (2861 times", broken: true},
		{name: "coarse-stamps-on-a-lan", says: "name an address with --address HOST=IP", broken: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var inputs []input.Trace
			for _, host := range []string{"a", "b"} {
				inputs = append(inputs, input.Trace{Host: host, Path: filepath.Join("testdata", "cases", c.name, host+".pcap.gz")})
			}
			o := Options{}
			o.Align.Reference = "a"
			rows, outcome := csvRows(t, inputs, o)
			warned := strings.Join(outcome.Warnings, "\n")
			if (len(outcome.Broken) > 0) != c.broken || !strings.Contains(warned, c.says) {
				t.Errorf("broken %q, warnings %s", outcome.Broken, warned)
			}
			if strings.Contains(warned, "second capture") || strings.Contains(warned, "recorded on other hosts") {
				t.Error(warned)
			}
			bounded, outside := 0, 0
			for _, row := range rows {
				if row["host"] != "b" || row["low_ns"] == "" {
					continue
				}
				bounded++
				if truth := number(t, row["recorded_ns"]); truth < number(t, row["low_ns"])-3 || truth > number(t, row["high_ns"])+3 {
					outside++
				}
			}
			if outside > 0 || (bounded == 0) != c.broken {
				t.Errorf("%d of %d events of b lie outside of their bounds", outside, bounded)
			}
		})
	}
}
