package envelope

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestFastExpIsTheExponential(t *testing.T) {
	for x := -700.0; x <= 700; x += 0.00713 {
		if want := math.Exp(x); !(math.Abs(fastExp(x)-want) < 1e-13*want) {
			t.Fatalf("exp %g is %g, want %g", x, fastExp(x), want)
		}
	}
}

func TestUnlikelyIsTheMeanOfMinusTheLogarithmOfTheDensity(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		scale := math.Pow(10, rapid.Float64Range(0, 9).Draw(t, "scale"))
		values := rapid.SliceOfN(rapid.Float64Range(-scale, scale), 1, 200).Draw(t, "values")
		l := law{
			zero: rapid.Float64Range(-scale, scale).Draw(t, "zero"),
			s:    scale * math.Pow(10, rapid.Float64Range(-4, 1).Draw(t, "s")), // |y| is up to 20000
			a:    rapid.Float64Range(minShape*1.01, maxSharpness*0.99).Draw(t, "a"),
			b:    rapid.Float64Range(minSharpness*1.01, maxSharpness*0.99).Draw(t, "b"),
		}
		want := 0.0
		for _, e := range values {
			y := (e - l.zero) / l.s
			softplus := max(-y, 0) + math.Log1p(math.Exp(-math.Abs(y)))
			want += (l.b*y + (l.a+l.b)*softplus + math.Log(l.s) + logBeta(l.a, l.b)) / float64(len(values))
		}
		got := unlikely(values)(vector{l.zero, math.Log(l.s), math.Log(l.a), math.Log(l.b)})
		if !(math.Abs(got-want) < 1e-10*(1+math.Abs(want))) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
