package live_test

import (
	"slices"
	"testing"

	"meridian/align/live"
	"meridian/clock"
	"meridian/trace"
)

// TestAClockThatIsSetByMoreThanTheWindowIsTold sets one of three clocks so far ahead that no message from before it is in the window, and no bounds that were
// shown reach there. All three may be silent as long without that any was set.
func TestAClockThatIsSetByMoreThanTheWindowIsTold(t *testing.T) {
	const second, leapsAt = 1_000_000_000, 10
	for _, by := range []int64{40 * second, 90 * second, 3600 * second, 1_000_000 * second} {
		for set := range 4 { // which one; 3: all were silent
			l, err := live.New(live.Options{Align: cheap})
			if err != nil {
				t.Fatal(err)
			}
			var clocks []int
			for _, name := range []string{"a", "b", "c"} {
				clocks = append(clocks, l.Clock(name, name, 1))
			}
			read := func(n int, at int64) clock.HostTime { // 40 ppm apart
				at += int64(n) * (5*second + at/25_000)
				if (n == set || set == 3) && at > leapsAt*second+int64(n)*5*second {
					at += by
					if set == 3 {
						at += int64(n) * by / 25_000
					}
				}
				return clock.HostTime(at)
			}
			leapt := make(map[int]bool)
			for at := int64(0); at < 2*leapsAt*second; at += second / 5 {
				for n := range clocks { // what a clock shows comes before messages that tell where it is
					l.Seen(n, read(n, at))
				}
				if _, err := l.Advance(t.Context()); err != nil {
					t.Fatal(err)
				}
				for a := range clocks {
					for b := range clocks {
						if a != b {
							sent := at + int64(a+3*b)*1_000_000
							l.Add(a, b, trace.Message{Sent: read(a, sent), Received: read(b, sent+100_000)})
						}
					}
				}
				if _, err := l.Advance(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			l.Conclude()
			for _, c := range l.Maps().Changes {
				switch {
				case c.Kind == live.HandedOver: // the reference of three clocks is not silent where one alone is ahead
					t.Errorf("clock %d of 3 was set by %d s, and clock %d took over", set, by/second, c.Clock)
				case c.Kind == live.Bent && c.Sure:
					leapt[c.Clock], leapt[c.Other] = true, true
				case slices.Contains([]live.Kind{live.Stepped, live.Named}, c.Kind):
					leapt[c.Clock] = true
				case c.Kind == live.Unnamed:
					for _, n := range c.Among {
						leapt[n] = true
					}
				}
			}
			if set < 3 && !leapt[set] || set == 3 && len(leapt) > 0 {
				t.Errorf("clock %d of 3 was set by %d s; told: %v of %+v", set, by/second, leapt, l.Maps().Changes)
			}
		}
	}
}
