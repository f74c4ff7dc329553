package realtime

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// A clock is set again and again while packets come; each step is seen a little later. Whatever the stamps say, each
// packet is led back to its instant.
func TestStepsOfTheClockMoveNoPacket(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var line Line
		const start = clock.HostTime(1e15)
		now, realtime := start, int64(clock.HostTime(1.7e18)-start)
		line.Observe(Offset{At: now, Ns: realtime, Error: 50}, 0)
		var want, stamps []clock.HostTime
		n, read := int64(0), int64(0)
		arrive := func(span int64) {
			for range rapid.IntRange(0, 5).Draw(t, "packets") {
				now += clock.HostTime(span / 6)
				n++
				want, stamps = append(want, now), append(stamps, now+clock.HostTime(realtime))
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			arrive(rapid.Int64Range(6, 1e10).Draw(t, "span"))
			size := rapid.Int64Range(5e6, 1e13).Draw(t, "size")
			if rapid.Bool().Draw(t, "back") {
				size = -size
			}
			if rapid.Bool().Draw(t, "look") {
				now += 2 * maxDisorder
				line.Observe(Offset{At: now, Ns: realtime, Error: 50}, n)
			} else { // a packet is as good
				now += 2 * maxDisorder
				n++
				want, stamps = append(want, now), append(stamps, now+clock.HostTime(realtime))
			}
			realtime += size
			arrive(1e5) // before the step is seen
			now += 2e5
			line.Observe(Offset{At: now, Ns: realtime + rapid.Int64Range(-100, 100).Draw(t, "error"), Error: 100}, n)
			if rapid.Bool().Draw(t, "read") {
				for ; read < n; read++ {
					if got := line.Monotonic(read+1, stamps[read]); got < want[read]-300 || got > want[read]+300 {
						t.Fatalf("packet %d at %d is led back to %d", read+1, want[read], got)
					}
				}
			}
		}
		for ; read < n; read++ {
			if got := line.Monotonic(read+1, stamps[read]); got < want[read]-300 || got > want[read]+300 {
				t.Fatalf("packet %d at %d is led back to %d", read+1, want[read], got)
			}
		}
		steps, off := line.Count()
		if off < 100 || off > minStep+200 {
			t.Fatalf("stamps may be off by %d ns", off)
		}
		if steps == 0 {
			t.Fatal("no step was seen")
		}
	})
}

func TestReadingsThatDifferByTheirErrorAreNoStep(t *testing.T) {
	var line Line
	line.Observe(Offset{At: 1e9, Ns: 1e18, Error: 900}, 0)
	line.Observe(Offset{At: 2e9, Ns: 1e18 + 800, Error: 20}, 7)
	line.Observe(Offset{At: 3e9, Ns: 1e18 - 1500, Error: 2000}, 9)
	if n, _ := line.Count(); n != 0 {
		t.Error("a step was seen")
	}
	if o := Read(); o.Error < 0 || o.Error > 1e9 || o.Ns < 1e18 {
		t.Errorf("the clocks of this machine: %+v", o)
	}
}

// Two goroutines look at the clocks; one may be held up between reading them and saying what it read.
func TestAReadingThatComesLateIsNoStep(t *testing.T) {
	var line Line
	line.Observe(Offset{At: 1e9, Ns: 1e18, Error: 50}, 5)
	late := Offset{At: 2e9, Ns: 1e18, Error: 50} // before the clock is set
	line.Observe(Offset{At: 3e9, Ns: 1e18 + 7e9, Error: 50}, 9)
	line.Observe(late, 8)
	line.Observe(Offset{At: 4e9, Ns: 1e18 + 7e9, Error: 50}, 12)
	if n, _ := line.Count(); n != 1 {
		t.Errorf("%d steps are seen of one", n)
	}
	if got := line.Monotonic(10, 1e18+7e9+35e8); got != 35e8 {
		t.Errorf("a packet at 3.5 s is led back to %d", got)
	}
}
