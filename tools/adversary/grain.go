package main

import (
	"math"
	"math/big"
)

// Grain is how a host's stamps count: in steps of Num/Den ns. The zero value counts in ns.
//
//	Round  stamps are rounded to the nearest step; else they are cut
//	Tick   the stamp is the clock's own reading at its last tick, in ns; ticks begin Phase ns off the grid, as a kernel's do
//	Shown  a second grid (ns) to which the first one's stamps are cut, such as the µs of a capture on a clock of 1/1024 s
type Grain struct {
	Num, Den int64 `json:",omitempty"`
	Round    bool  `json:",omitempty"`
	Phase    int64 `json:",omitempty"`
	Shown    int64 `json:",omitempty"`
}

// span is by how much a reading may exceed its stamp, ns, rounded up: a step, or one of each grid.
func (g Grain) span() int64 {
	if g.Num == 0 {
		return max(1, g.Shown)
	}
	step := (g.Num + g.Den - 1) / g.Den
	if g.Shown > 1 && step*g.Den == g.Num && step%g.Shown == 0 {
		return step // the second grid holds the first
	}
	return step + g.Shown
}

// under says whether a clock of this step may be below a file's (ns): one of 838 ns below stamps of 1 µs may be 1.8 µs past its
// stamp, of which the stamps show nothing.
func (g Grain) under(shown int64) bool {
	step := float64(g.Num) / float64(max(1, g.Den))
	return g.Shown == 0 && (shown <= 1 || math.Mod(float64(shown), step) == 0 || step > 10*float64(shown))
}

// stamp is the stamp of a reading, ns.
func (g Grain) stamp(r Reading) int64 {
	w := r.Whole
	if g.Num > 0 {
		units, _ := g.units(r)
		w = g.instant(units)
	}
	if g.Shown > 0 {
		w = floorDiv(w, g.Shown) * g.Shown
	}
	return w
}

// units counts the steps up to a reading.
func (g Grain) units(r Reading) (units int64, exact bool) {
	// A part of a ns decides nothing where steps are whole ns; where they are fractions of one, its thousandths do enough.
	n := new(big.Int).Mul(big.NewInt(r.Whole-g.Phase), big.NewInt(1000))
	n.Add(n, big.NewInt(int64(r.Part*1000)))
	n.Mul(n, big.NewInt(g.Den))
	d := new(big.Int).Mul(big.NewInt(g.Num), big.NewInt(1000))
	if g.Round {
		n.Add(n, new(big.Int).Rsh(d, 1))
	}
	// Of a positive divisor, Euclid's quotient is the floor.
	q, m := new(big.Int).DivMod(n, d, new(big.Int))
	return q.Int64(), m.Sign() == 0
}

// instant is the reading, in ns rounded down, at which a step begins.
func (g Grain) instant(units int64) int64 {
	n := new(big.Int).Mul(big.NewInt(units), big.NewInt(g.Num))
	return new(big.Int).Div(n, big.NewInt(g.Den)).Int64() + g.Phase
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
