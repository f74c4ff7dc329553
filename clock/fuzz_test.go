package clock_test

import (
	"encoding/binary"
	"testing"

	"meridian/clock"
)

// FuzzCurve builds a curve from any bytes. Check must tell which are curves, and for these every operation keeps its
// promise: rounding down is never above rounding up, a cursor says what the curve says, and the inverse of a bound is a curve.
func FuzzCurve(f *testing.F) {
	f.Add([]byte{})
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<62-1))
	seed := []byte{}
	for _, v := range []int64{-5, 10, 7, 10, 1000, 2000, 500} {
		seed = binary.LittleEndian.AppendUint64(seed, uint64(v))
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() (v int64) {
			if len(data) >= 8 {
				v = int64(binary.LittleEndian.Uint64(data))
				data = data[8:]
			}
			return v
		}
		at := clock.HostTime(next())
		var c clock.Curve
		for len(data) >= 16 && len(c) < 64 {
			c = append(c, clock.Knot{X: clock.HostTime(next()), Y: clock.TimelineTime(next())})
		}
		if c.Check() != nil {
			return
		}
		for i := 1; i < len(c); i++ {
			if c[i].X <= c[i-1].X || c[i].Y < c[i-1].Y {
				t.Fatalf("Check passed %v", c)
			}
		}
		down, nearest, up := c.At(at, clock.Down), c.At(at, clock.Nearest), c.At(at, clock.Up)
		if down > nearest || nearest > up {
			t.Errorf("%v at %d: %d, %d, %d", c, at, down, nearest, up)
		}
		cursor := clock.NewCursor(c)
		if got := cursor.At(at); got != nearest {
			t.Errorf("%v at %d: the cursor says %d, the curve %d", c, at, got, nearest)
		}
		for _, k := range c {
			if got := c.At(k.X, clock.Nearest); got != k.Y {
				t.Errorf("%v at its knot %v: %d", c, k, got)
			}
		}
		for _, r := range []clock.Rounding{clock.Down, clock.Up} {
			inverse := c.InverseBound(r)
			for i := 1; i < len(inverse); i++ {
				if inverse[i].X < inverse[i-1].X || inverse[i].Y < inverse[i-1].Y {
					t.Errorf("%v: the inverse bound %v runs backwards", c, inverse)
				}
			}
		}
		c.Inverse()
	})
}
