package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"meridian/internal/testseed"
)

var (
	schedules = flag.Int("schedules", 1000, "schedules of TestNoScheduleLosesWhatIsAcknowledged")
	firstSeed = flag.Uint64("seed", testseed.First(1), "of its first schedule")
	show      = flag.Bool("show", false, "print each message of the schedules")
)

// workers is how many schedules are played at a time.
const workers = 4

// memory returns a directory in memory where there is one: agents read directories, and a schedule has hundreds of looks.
func memory(t *testing.T) string {
	t.Helper()
	for _, root := range []string{"/dev/shm", ""} {
		if dir, err := os.MkdirTemp(root, "meridian-simulation"); err == nil {
			t.Cleanup(func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
			return dir
		}
	}
	t.Fatal("no temporary directory can be made")
	return ""
}

// playAll plays schedules until f is false, from a seed on.
func playAll(t *testing.T, first, last uint64, p plant, f func(w *world) bool) {
	root := memory(t)
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // each schedule leaves little
	var next, stop atomic.Uint64
	t.Run("schedules", func(t *testing.T) {
		for i := range workers {
			t.Run(fmt.Sprint("worker ", i), func(t *testing.T) {
				t.Parallel()
				for stop.Load() == 0 {
					seed := first + next.Add(1) - 1
					if seed > last {
						return
					}
					if !f(play(t, root, seed, p, *show)) {
						stop.Store(1)
					}
				}
			})
		}
	})
}

func TestNoScheduleLosesWhatIsAcknowledged(t *testing.T) {
	n := *schedules
	if testing.Short() {
		n = min(n, 200)
	}
	var failed, lost, away, messages atomic.Int64
	playAll(t, *firstSeed, *firstSeed+uint64(n)-1, none, func(w *world) bool {
		messages.Add(int64(w.net.count))
		if w.sum.Lost > 0 {
			lost.Add(1)
		}
		if w.sum.Away > 0 {
			away.Add(1)
		}
		if *show {
			t.Log(strings.Join(w.net.lines, "\n"))
		}
		if len(w.violations) > 0 {
			t.Errorf("schedule %d, %d of %d servers: %s\nagain: go test ./internal/collect/simulation -run %s -schedules 1 -seed %d -show", w.seed, w.replicas, len(w.servers),
				strings.Join(w.violations, "\n\t"), t.Name(), w.seed)
			return failed.Add(1) < 10
		}
		return true
	})
	t.Logf("%d schedules, %d messages and faults; in %d something counts as lost, in %d as away", n, messages.Load(), lost.Load(), away.Load())
}

func TestTheSameSeedGivesTheSameMessagesAtTheSameInstants(t *testing.T) {
	const n = 60
	var mu sync.Mutex
	first := make(map[uint64]*world)
	playAll(t, 1, n, none, func(w *world) bool {
		mu.Lock()
		defer mu.Unlock()
		first[w.seed] = w
		return true
	})
	root := memory(t)
	for seed := range uint64(n) {
		before := first[seed+1]
		again := play(t, root, seed+1, none, false)
		if again.net.trace == before.net.trace && again.sum == before.sum {
			continue
		}
		a, b := play(t, root, seed+1, none, true).net.lines, play(t, root, seed+1, none, true).net.lines
		at := 0
		for at < min(len(a), len(b)) && a[at] == b[at] {
			at++
		}
		t.Errorf("schedule %d: %d messages and faults, and then %d; two more differ from %d of %d on: %q, %q", seed+1, before.net.count, again.net.count, at, len(a),
			a[min(at, len(a)-1)], b[min(at, len(b)-1)])
	}
}

func TestPlantedBugsAreFound(t *testing.T) {
	const within = 2000
	for name, p := range map[string]plant{"acknowledged before the sync": beforeSync, "an offset off by one": offByOne, "a resend is skipped": noResend,
		"a power cut is not noticed": unawareOfPower} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var found *world
			played := 0
			playAll(t, *firstSeed, *firstSeed+within-1, p, func(w *world) bool {
				mu.Lock()
				defer mu.Unlock()
				played++
				if len(w.violations) > 0 && (found == nil || w.seed < found.seed) {
					found = w
				}
				return found == nil
			})
			if found == nil {
				t.Fatalf("it is not found in %d schedules from %d on", within, *firstSeed)
			}
			t.Logf("found in schedule %d, of %d played: %s", found.seed-*firstSeed+1, played, found.violations[0])
		})
	}
}
