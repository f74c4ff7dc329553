package clock

// far is how far beyond its knots a curve is followed, ns: 18 minutes, over which a rounded nanosecond turns no slope.
const far = int64(1) << 40

// InverseBound returns the inverse of a bound as the bound of the other direction: nowhere below the inverse if r is Up,
// nowhere above if it is Down. Where the bound stands still its inverse jumps, and the outer end is kept. A bound whose
// last piece (Up) or first piece (Down) stands still bounds nothing that way, and nil is returned.
func (c CurveOf[X, Y]) InverseBound(r Rounding) CurveOf[Y, X] {
	n := len(c)
	if n == 0 {
		return nil
	}
	if n == 1 {
		return c.Inverse()
	}
	up := r == Up
	still := func(i int) bool { return i >= 0 && i+1 < n && c[i].Y == c[i+1].Y }
	if up && still(n-2) || !up && still(0) {
		return nil
	}
	inv := make(CurveOf[Y, X], 0, n+1)
	// A jump at the inner end of the piece that goes on without end would turn that piece: it is fixed far outside.
	if up && still(1) && !still(0) {
		rise := MulDiv(far, int64(c[1].Y-c[0].Y), int64(c[1].X-c[0].X), Up)
		inv = append(inv, KnotOf[Y, X]{X: Add(c[0].Y, -rise), Y: Add(c[0].X, -far)})
	}
	for _, k := range c {
		if m := len(inv); m == 0 || inv[m-1].X != k.Y {
			inv = append(inv, KnotOf[Y, X]{X: k.Y, Y: k.X})
		} else if up {
			inv[m-1].Y = k.X
		}
	}
	if !up && still(n-3) && !still(n-2) {
		a, b := c[n-2], c[n-1]
		rise := MulDiv(far, int64(b.Y-a.Y), int64(b.X-a.X), Up)
		inv = append(inv, KnotOf[Y, X]{X: Add(b.Y, rise), Y: Add(b.X, far)})
	}
	return inv
}
