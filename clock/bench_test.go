package clock

import "testing"

// benchmarkCurve has 64 pieces of a second each.
func benchmarkCurve() Curve {
	k := Knot{X: 1_790_000_000_000_000_000, Y: 1_790_000_000_000_000_005}
	c := Curve{k}
	for range 64 {
		k.X += 1e9
		k.Y += 1e9 + 17
		c = append(c, k)
	}
	return c
}

func BenchmarkCursor(b *testing.B) {
	c := benchmarkCurve()
	u := NewCursor(c)
	at := c[0].X
	for b.Loop() {
		at += 1000
		u.At(at)
	}
}

func BenchmarkCurve(b *testing.B) {
	c := benchmarkCurve()
	at, end := c[0].X, c[64].X
	for b.Loop() {
		if at += 1_000_003; at > end {
			at = c[0].X
		}
		c.At(at, Down)
	}
}

func BenchmarkBounds(b *testing.B) {
	c := benchmarkCurve()
	m := Map{Mid: c, Low: c, High: c}
	at, end := c[0].X, c[64].X
	for b.Loop() {
		if at += 1_000_003; at > end {
			at = c[0].X
		}
		m.Bounds(at)
	}
}

func BenchmarkCompose(b *testing.B) {
	c := ConvertCurve[HostTime, HostTime](benchmarkCurve())
	next := benchmarkCurve()
	for b.Loop() {
		ComposeCurves(c, next, Down)
	}
}
