package trace

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

// What isOff skips must be what fit refuses: it is only the quicker of the two.
func TestOffTheSecondDifferenceIsOffTheGrid(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]float64{1, 100, 1000}).Draw(t, "unit")
		steer := rapid.SampledFrom([]float64{0, maxSteering}).Draw(t, "steer")
		step := unit * rapid.Float64Range(2.5, 1e7).Draw(t, "step")
		m := rapid.Float64Range(1, maxMultiples).Draw(t, "multiple")
		near := math.Round(rapid.Float64Range(1, 1e6).Draw(t, "near"))
		m = math.Round(m)
		// Most pairs are near multiples of the step, where the two could differ.
		differences := []float64{math.Round(m * step), math.Round(near*step + rapid.Float64Range(-4, 4).Draw(t, "off")*unit)}
		if rapid.Bool().Draw(t, "any") {
			differences[1] = math.Round(rapid.Float64Range(1, 1e12).Draw(t, "second"))
		}
		if slices.Sort(differences); differences[0] < 1 {
			t.Skip("no difference")
		}
		m = math.Round(differences[0] / step)
		if m < 1 {
			t.Skip("no multiple")
		}
		x := grid{step: differences[0] / m, error: unit/m + steer*differences[0]/m, unit: unit, steer: steer}
		if chance := x.fit(differences); isOff(differences, m, unit, steer) && !math.IsInf(chance, 1) {
			t.Fatalf("%v, multiple %g: left out, but fits with a chance of %g", differences, m, chance)
		}
	})
}

func TestMostDifferencesAreOffAtOnce(t *testing.T) {
	differences := []float64{1_234_567, 2_345_678}
	off := 0
	for m := 1.0; m <= 100; m++ {
		if isOff(differences, m, 1, 0) {
			off++
		}
	}
	if off < 80 {
		t.Errorf("%d of 100 steps are left out", off)
	}
}
