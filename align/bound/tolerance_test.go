package bound

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// TestTheLevelIsAboveAllLinesThatTheBudgetAllows compares the ceilings that stand for a block with all lines, one slope
// after the other.
func TestTheLevelIsAboveAllLinesThatTheBudgetAllows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testseed.Run(), 1))
	for world := range 3000 {
		n, f := 1+r.IntN(40), r.IntN(4)
		grid := []float64{1, 10, 1e6}[r.IntN(3)] // coarse ones make many points collinear, and several over one x
		points := make([]point, n)
		for i := range points {
			points[i] = point{math.Floor(r.Float64()*20) * grid, math.Floor(r.Float64() * 10)}
		}
		side := float64(1 - 2*r.IntN(2))
		inOrder(points, side)
		const steepest = 2
		made := level(points, side, f, steepest)
		if n <= f {
			if made != nil {
				t.Fatalf("world %d: %d of %d may be false, and there are ceilings", world, f, n)
			}
			continue
		}
		x := points[r.IntN(n)].x + grid*(r.Float64()-.5)
		for k := range 50 {
			slope := steepest * (2*float64(k)/49 - 1)
			over := func(points []point) []float64 { // heights of the lines of the points over x
				var out []float64
				for _, q := range points {
					out = append(out, side*(q.y-slope*(q.x-x)))
				}
				slices.Sort(out)
				return out
			}
			if most, allowed := over(points)[f], over(made)[0]; allowed < most-1e-6*(1+math.Abs(most)) {
				t.Fatalf("world %d: slope %g: a line of height %g violates %d of %d points, but is above %g", world, slope, most, f, n, allowed)
			}
		}
	}
}

// wrongWorld is two clocks with a known offset, and messages of which some are false.
type wrongWorld struct {
	pair.Problem
	offset func(x float64) float64
	from   clock.HostTime
	span   float64
}

// newWrongWorld makes so many messages each way, of which so many each way are early by up to so many ns.
func newWrongWorld(r *rand.Rand, messages, wrong int, by float64) *wrongWorld {
	w := &wrongWorld{from: 1_790_000_000_000_000_000, span: (0.05 + r.Float64()) * float64(messages) * 1e8}
	skew, start, period, phase := (r.Float64()-.5)*80e-6, (r.Float64()-.5)*1e8, (60+240*r.Float64())*1e9, 7*r.Float64()
	omega := 2 * math.Pi / period
	w.offset = func(x float64) float64 { return start + skew*x + 10e-18/(omega*omega)*math.Sin(omega*x+phase) }
	way := func(back bool) (out []trace.Message) {
		xs := make([]float64, messages)
		for i := range xs {
			xs[i] = math.Round(r.Float64() * w.span)
		}
		slices.Sort(xs)
		early := r.Perm(messages)[:wrong]
		for i, x := range xs {
			late := 50e3 + 50e3*r.ExpFloat64()
			if slices.Contains(early, i) {
				late = -by * r.Float64()
			}
			a := clock.Add(w.from, int64(x))
			if back {
				out = append(out, trace.Message{Sent: clock.Add(a, int64(math.Floor(w.offset(x)-late))), Received: a})
			} else {
				out = append(out, trace.Message{Sent: a, Received: clock.Add(a, int64(math.Ceil(w.offset(x)+late)))})
			}
		}
		return out
	}
	w.AB, w.BA = pair.Messages{way(false)}, pair.Messages{way(true)}
	return w
}

// outside returns at how many of some instants the truth is outside of a corridor, and the mean width.
func (w *wrongWorld) outside(c *Corridor) (n int, width float64) {
	const instants = 41
	for i := range instants {
		x := math.Round(w.span * (1.1*float64(i)/(instants-1) - .05))
		at := clock.Add(w.from, int64(x))
		low, high, lowOK, highOK, ok := c.At(at)
		truth := w.offset(x)
		if !ok || lowOK && truth < float64(clock.Sub(low, at))-2 || highOK && truth > float64(clock.Sub(high, at))+2 {
			n++
		}
		width += float64(clock.Sub(high, low)) / instants
	}
	return n, width
}

func TestTheTruthIsWithinTolerantBoundsWithinTheBudget(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testseed.Run(), 2))
	exposed := 0 // worlds in which bounds that believe all messages are wrong
	for world := range 400 {
		messages, wrong := 8+r.IntN(150), r.IntN(4)
		w := newWrongWorld(r, messages, wrong, []float64{20e3, 80e3, 3e6}[r.IntN(3)])
		if n, _ := w.outside(New(&w.Problem, Default)); n > 0 {
			exposed++
		}
		if n, _ := w.outside(NewTolerant(&w.Problem, Default, Tolerance{Count: wrong})); n > 0 {
			t.Errorf("world %d: %d of %d messages are false, and the truth is outside at %d instants", world, wrong, messages, n)
		}
	}
	if exposed < 100 {
		t.Errorf("only %d worlds are wrong without a tolerance", exposed)
	}
}

func TestTolerantBoundsAreHardlyWiderThanThoseThatBelieveAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		messages int
		most     float64
	}{{30, 1.15}, {300, 1.04}, {3000, 1.02}, {6000, 1.02}} {
		r := rand.New(rand.NewPCG(testseed.Run(), 3))
		believing, tolerant := 0.0, 0.0
		for range 12 {
			w := newWrongWorld(r, c.messages, 0, 0)
			_, one := w.outside(New(&w.Problem, Default))
			_, two := w.outside(NewTolerant(&w.Problem, Default, DefaultTolerance))
			believing, tolerant = believing+one, tolerant+two
		}
		t.Logf("%d messages each way: %.4f", c.messages, tolerant/believing)
		if ratio := tolerant / believing; ratio < 1 || ratio > c.most {
			t.Errorf("%d messages each way: tolerant bounds are %.4f times as wide, want 1 to %g", c.messages, ratio, c.most)
		}
	}
}

func TestBothCorridorsAreThoseMadeOneByOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testseed.Run(), 6))
	for world := range 60 {
		w := newWrongWorld(r, 1+r.IntN(3000), 0, 0)
		tolerant, believing := NewBoth(&w.Problem, Default, DefaultTolerance)
		for i, c := range [][2]*Corridor{{tolerant, NewTolerant(&w.Problem, Default, DefaultTolerance)}, {believing, New(&w.Problem, Default)}} {
			for k := range 41 {
				at := clock.Add(w.from, int64(w.span*(1.2*float64(k)/40-.1)))
				low, high, _, _, _ := c[0].At(at)
				if l, h, _, _, _ := c[1].At(at); max(low-l, l-low, high-h, h-high) > 1 {
					t.Fatalf("world %d, corridor %d: %d to %d, made alone %d to %d", world, i, low, high, l, h)
				}
			}
		}
	}
}

func TestPointsOfAFewRunsAreMerged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testseed.Run(), 5))
	var m merger
	for range 300 {
		points := make([]point, r.IntN(60))
		x := 0.0
		for i := range points {
			x += float64(r.IntN(4))
			if r.IntN(12) == 0 {
				x = float64(r.IntN(20))
			}
			points[i] = point{x, float64(r.IntN(5))}
		}
		side := float64(1 - 2*r.IntN(2))
		want := slices.Clone(points)
		inOrder(want, side)
		m.inOrder(points, side)
		if !slices.Equal(points, want) {
			t.Fatalf("%v, want %v", points, want)
		}
	}
}
