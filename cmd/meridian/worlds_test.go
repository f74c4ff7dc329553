package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
)

// TestInAnyWorldTheTruthLiesWithinTheBounds makes random worlds of hosts with linear clocks, in which every host talks to
// the first or to its neighbour, and holds all frames and the merged capture against the truth.
func TestInAnyWorldTheTruthLiesWithinTheBounds(t *testing.T) {
	t.Parallel()
	checkWorlds(t, func(r *rapid.T, w *world, description, directory string) {
		var arguments []string
		for _, c := range w.captures {
			arguments = append(arguments, filepath.Join(directory, c.path))
		}
		inputs, err := input.Parse(arguments)
		if err != nil {
			r.Fatal(err)
		}
		report, merged := filepath.Join(directory, "report.json"), filepath.Join(directory, "merged.pcapng")
		outcome, err := pipeline.Run(r.Context(), inputs, pipeline.Options{Outputs: []string{report, merged}})
		if err != nil {
			r.Fatalf("%v in\n%s", err, description)
		}
		// Where a host has two clocks and talks to several, pairs and trees may leave a message inverted, which is said;
		// the bounds hold all the same.
		split := strings.Contains(description, "rx=")
		for _, reason := range outcome.Broken {
			if !split || !strings.Contains(reason, "received before they were sent") {
				r.Fatalf("%s in\n%s", reason, description)
			}
		}
		a, err := w.aligned(report)
		if err != nil {
			r.Fatal(err)
		}
		if err := a.check(time.Hour); err != nil {
			r.Fatalf("%v in\n%s", err, description)
		}
		if err := a.checkMerged(merged); err != nil {
			r.Fatalf("%v in\n%s", err, description)
		}
	})
}

// checkWorlds runs a check in random worlds, each with its captures in a directory of its own.
func checkWorlds(t *testing.T, check func(r *rapid.T, w *world, description, directory string)) {
	rapid.Check(t, func(r *rapid.T) {
		description, directory := drawWorld(r), t.TempDir()
		w, err := newWorld(description, directory)
		if err != nil {
			t.Fatal(err)
		}
		check(r, w, description, directory)
	})
}

func drawWorld(r *rapid.T) string {
	var b strings.Builder
	hosts := rapid.IntRange(2, 4).Draw(r, "hosts")
	split := rapid.IntRange(-3, hosts-1).Draw(r, "host with two clocks") // below 0: none has
	for i := range hosts {
		fmt.Fprintf(&b, "host h%d offset=%dms skew=%d", i, rapid.IntRange(-100_000, 100_000).Draw(r, "offset"),
			rapid.IntRange(-100, 100).Draw(r, "skew"))
		if i == split {
			fmt.Fprintf(&b, " rx=%dms", rapid.SampledFrom([]int{37_000, -37_000, 500, -2_000}).Draw(r, "ahead"))
		}
		b.WriteString("\n")
	}
	for i := 1; i < hosts; i++ {
		other := rapid.SampledFrom([]int{0, i - 1}).Draw(r, "neighbour")
		ends := [][2]int{{i, other}, {other, i}}
		for range rapid.IntRange(1, 3).Draw(r, "connections") {
			e := rapid.SampledFrom(ends).Draw(r, "direction")
			fmt.Fprintf(&b, "tcp h%d h%d n=%d every=%dms start=%dms delay=%dus jitter=%dus\n", e[0], e[1],
				rapid.IntRange(5, 60).Draw(r, "requests"), rapid.IntRange(5, 500).Draw(r, "every"), rapid.IntRange(0, 5000).Draw(r, "start"),
				rapid.IntRange(5, 3000).Draw(r, "delay"), rapid.IntRange(0, 1000).Draw(r, "jitter"))
		}
		if rapid.Bool().Draw(r, "datagrams") {
			e := rapid.SampledFrom(ends).Draw(r, "direction")
			fmt.Fprintf(&b, "udp h%d h%d n=%d reply=%d\n", e[0], e[1], rapid.IntRange(1, 30).Draw(r, "datagrams"), rapid.IntRange(0, 1).Draw(r, "reply"))
		}
	}
	for i := range hosts {
		if i == split {
			fmt.Fprintf(&b, "capture h%d.pcapng h%d flags\n", i, i)
			continue
		}
		file := rapid.SampledFrom([]string{"pcap h%d", "pcap h%d ns", "pcapng h%d", "pcapng h%d flags", "pcapng h%d comments"}).Draw(r, "file")
		fmt.Fprintf(&b, "capture h%d."+file+"\n", i, i)
	}
	return b.String()
}
