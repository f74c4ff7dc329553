package online_test

import (
	"testing"

	"meridian/align/online"
	"meridian/clock"
	"meridian/internal/testseed"
)

// FuzzSynchronisers feeds stamps of any kind. Readings keep their promises: the estimate is within the bound, counts do not fall, and
// an exchange with itself leaves no contradiction.
func FuzzSynchronisers(f *testing.F) {
	f.Add(uint8(0), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Add(uint8(1), []byte{255, 127, 0, 0, 1, 128, 3, 3, 9, 9, 200, 200})
	testseed.Fuzz(f, func(t *testing.T, method uint8, data []byte) {
		names := online.Methods()
		s, err := online.New(names[int(method)%len(names)], online.Options{})
		if err != nil {
			t.Fatal(err)
		}
		now, base := clock.HostTime(0), clock.HostTime(0)
		steps := 0
		for ; len(data) >= 6; data = data[6:] {
			a, b, c := int64(data[1])<<(data[0]%48), int64(data[3])<<(data[2]%48), int64(data[4])<<(data[5]%32)
			if data[5]&128 != 0 {
				base = clock.Add(base, b-a) // a clock is set
			}
			x := online.Exchange{Sent: now, Received: clock.Add(clock.Add(now, int64(base)), a), Replied: clock.Add(clock.Add(now, int64(base)), a+c), Returned: clock.Add(now, a+b+c)}
			switch data[5] & 96 {
			case 0:
				s.Forward(x)
			case 32:
				s.Back(x)
			default:
				s.Exchange(x)
			}
			r := s.At(x.Returned)
			if r.Bounded && (r.Low > r.High || !r.Known || r.Offset < r.Low || r.Offset > r.High) {
				t.Fatalf("after %+v: %+v", x, r)
			}
			if r.Steps < steps {
				t.Fatalf("%d steps, before %d", r.Steps, steps)
			}
			steps = r.Steps
			now = clock.Add(now, int64(data[0])<<(data[4]%40))
		}
	})
}
