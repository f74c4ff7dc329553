package clock

// far is how far beyond its knots a curve is followed, ns: 18 minutes, over which a rounded nanosecond turns no slope.
const far = int64(1) << 40

// InverseBound returns the inverse of a bound as the bound of the other direction: nowhere below the inverse if r is up,
// nowhere above if it is down. Where the bound stands still its inverse jumps, and the outer end is kept; a bound whose
// last (first) piece stands still bounds nothing that way, and nil is returned.
func (c Curve) InverseBound(r Rounding) Curve {
	n := len(c)
	if n == 0 {
		return nil
	}
	if n == 1 {
		return c.Inverse()
	}
	up := r == Up
	still := func(i int) bool { return i >= 0 && i+1 < n && c[i].Timeline == c[i+1].Timeline }
	if up && still(n-2) || !up && still(0) {
		return nil
	}
	inv := make(Curve, 0, n+1)
	// A jump at the inner end of the piece that goes on without end would turn that piece: it is fixed far outside.
	if up && still(1) && !still(0) {
		rise := MulDiv(far, c[1].Timeline-c[0].Timeline, c[1].Host-c[0].Host, Up)
		inv = append(inv, Knot{Host: Sub(c[0].Timeline, rise), Timeline: Sub(c[0].Host, far)})
	}
	for _, k := range c {
		if m := len(inv); m == 0 || inv[m-1].Host != k.Timeline {
			inv = append(inv, Knot{Host: k.Timeline, Timeline: k.Host})
		} else if up {
			inv[m-1].Timeline = k.Host
		}
	}
	if !up && still(n-3) && !still(n-2) {
		a, b := c[n-2], c[n-1]
		rise := MulDiv(far, b.Timeline-a.Timeline, b.Host-a.Host, Up)
		inv = append(inv, Knot{Host: Add(b.Timeline, rise), Timeline: Add(b.Host, far)})
	}
	return inv
}
