package main_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/testseed"
)

// TestInAnyWorldTheTruthLiesWithinTheBounds makes random worlds of hosts with linear clocks, in which every host talks to
// the first or to its neighbour, and holds all frames and the merged capture against the truth.
func TestInAnyWorldTheTruthLiesWithinTheBounds(t *testing.T) {
	t.Parallel()
	checkWorlds(t, func(r *rapid.T, w *world, description, directory string) {
		if err := holdsIn(r.Context(), w, strings.Contains(description, "rx="), directory); err != nil {
			r.Fatalf("%v in\n%s", err, description)
		}
	})
}

// holdsIn aligns a world's captures and holds all frames and the merged capture against the truth. Where a host is split
// into two clocks and talks to several, pairs and trees may leave a message inverted, which is said; the bounds hold all the same.
func holdsIn(ctx context.Context, w *world, split bool, directory string) error {
	var arguments []string
	for _, c := range w.captures {
		arguments = append(arguments, filepath.Join(directory, c.path))
	}
	inputs, err := input.Parse(arguments)
	if err != nil {
		return err
	}
	report, merged := filepath.Join(directory, "report.json"), filepath.Join(directory, "merged.pcapng")
	outcome, err := pipeline.Run(ctx, inputs, pipeline.Options{Outputs: []string{report, merged}})
	if err != nil {
		return err
	}
	for _, reason := range outcome.Broken {
		if !split || !strings.Contains(reason, "received before they were sent") {
			return errors.New(reason)
		}
	}
	a, err := w.aligned(report)
	if err != nil {
		return err
	}
	if err := a.check(time.Hour); err != nil {
		return err
	}
	return a.checkMerged(merged)
}

// checkWorlds runs a check in random worlds, each with its captures in a directory of its own.
func checkWorlds(t *testing.T, check func(r *rapid.T, w *world, description, directory string)) {
	testseed.Check(t, func(r *rapid.T) {
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

// TestReceptionsFarOffTheirSendingsAreMerged: once the estimates were moved between bounds that jump, one began so steep
// that no instant could say where it was a thousand seconds before, and nothing was written.
func TestReceptionsFarOffTheirSendingsAreMerged(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	w, err := newWorld(`host h0 offset=5ms skew=5
host h1 offset=2ms skew=-15 rx=-37000ms
host h2 offset=1ms skew=-95
tcp h0 h1 n=55 every=339ms start=1ms delay=2652us jitter=7us
udp h0 h1 n=9 reply=1
tcp h2 h1 n=36 every=15ms start=4383ms delay=429us jitter=209us
udp h2 h1 n=18 reply=0
capture h0.pcapng h0 flags
capture h1.pcapng h1 flags
capture h2.pcapng h2
`, directory)
	if err != nil {
		t.Fatal(err)
	}
	if err := holdsIn(t.Context(), w, true, directory); err != nil {
		t.Error(err)
	}
}
