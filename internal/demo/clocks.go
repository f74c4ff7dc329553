package demo

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"meridian/clock"
	"meridian/internal/sim"
)

// wrongClock is how wrong one host's clock is: at the machine's time t it shows
//
//	t + OffsetNs + SkewPPM/1e6 · (t - OriginNs)
type wrongClock struct {
	Name     string             `json:"name"`
	OriginNs clock.TimelineTime `json:"origin_ns"`
	OffsetNs int64              `json:"offset_ns"`
	SkewPPM  float64            `json:"skew_ppm"`
}

func (c wrongClock) sim() sim.Clock {
	return sim.Clock{Origin: c.OriginNs, OffsetNs: c.OffsetNs, SkewPPM: c.SkewPPM}
}

// drawClocks draws a clock for each host, up to eight seconds off and with up to 60 ppm of skew: as clocks of
// machines that run free for a month. No two are alike.
func drawClocks(seed uint64, origin clock.TimelineTime) []wrongClock {
	random := rand.New(rand.NewPCG(seed, 0x64656d6f))
	symmetric := func(largest float64) float64 { return largest * (2*random.Float64() - 1) }
	for {
		var clocks []wrongClock
		for _, name := range demoHosts {
			clocks = append(clocks, wrongClock{name, origin, int64(symmetric(8e9)), math.Round(1e3*symmetric(60)) / 1e3})
		}
		if differ(clocks) {
			return clocks
		}
	}
}

// differ reports whether every two clocks differ by more than a second and by more than ten parts per million.
func differ(clocks []wrongClock) bool {
	for i, a := range clocks {
		for _, b := range clocks[:i] {
			if math.Abs(float64(a.OffsetNs-b.OffsetNs)) < 1e9 || math.Abs(a.SkewPPM-b.SkewPPM) < 10 {
				return false
			}
		}
	}
	return true
}

// writeTruth writes the clocks, so that the demo can be checked by other means.
func writeTruth(path string, seed uint64, clocks []wrongClock) error {
	text, err := json.MarshalIndent(struct {
		Formula string       `json:"formula"`
		Seed    uint64       `json:"seed"`
		Hosts   []wrongClock `json:"hosts"`
	}{"a host's clock shows t + offset_ns + skew_ppm/1e6 * (t - origin_ns) at the machine's time t", seed, clocks}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o666)
}

// stepWatch notices when the machine's clock is set, where that can be (now_windows.go). All hosts' clocks then step
// alike, but a message that is on its way back in time has no truth to be held against.
type stepWatch struct {
	origin  clock.TimelineTime
	machine int64
	begun   time.Time
}

func newStepWatch(origin clock.TimelineTime) stepWatch {
	return stepWatch{origin, int64(machineNow(origin)), time.Now()}
}

// stepped reports whether the demo's time and the system's monotonic one have moved apart by more than slewing and their
// granularity explain.
func (w stepWatch) stepped() bool {
	apart := time.Duration(machineNow(w.origin)-clock.TimelineTime(w.machine)) - time.Since(w.begun)
	return apart.Abs() > 50*time.Millisecond
}
