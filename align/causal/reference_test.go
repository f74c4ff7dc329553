package causal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/align/internal/curves"
	"meridian/clock"
	"meridian/internal/testneed"
	"meridian/internal/testseed"
)

// reference is the correction by its definition, over all messages and by shortest paths between every two stamps (Floyd
// and Warshall). It is cubic in their number.
type reference struct {
	w        *world
	clocks   []int            // of each node
	stamps   []clock.HostTime // on its clock
	estimate []int64          // on the timeline
}

func newReference(w *world) *reference {
	r := &reference{w: w}
	for c := range w.Clocks {
		var xs []clock.HostTime
		for _, ch := range w.Channels {
			for _, m := range ch.Messages {
				if ch.From == c {
					xs = append(xs, clock.HostTime(m.Sent))
				}
				if ch.To == c {
					xs = append(xs, clock.HostTime(m.Received))
				}
			}
		}
		if len(xs) > 0 && !w.Fixed[c] {
			for _, curve := range []clock.Curve{w.Maps[c].Mid, w.Maps[c].Low, w.Maps[c].High} {
				for _, k := range curve {
					if k.X >= w.Clocks[c].First && k.X <= w.Clocks[c].Last {
						xs = append(xs, clock.HostTime(k.X))
					}
				}
			}
		}
		slices.Sort(xs)
		for _, x := range slices.Compact(xs) {
			r.clocks, r.stamps = append(r.clocks, c), append(r.stamps, x)
			at := w.Maps[c].Mid.At(clock.HostTime(x), clock.Nearest)
			r.estimate = append(r.estimate, int64(at))
		}
	}
	return r
}

func (r *reference) node(c int, x clock.HostTime) int {
	for i := range r.clocks {
		if r.clocks[i] == c && r.stamps[i] == x {
			return i
		}
	}
	panic("a stamp that is none")
}

// solve returns the correction of each node, or nil.
func (r *reference) solve() []float64 {
	for _, bounded := range []bool{true, false} {
		for _, margin := range []float64{3, 1, -1} {
			for rate := 1e-7; rate < 1; rate *= 10 {
				if e := r.correct(bounded, margin, func(host, line float64) (float64, float64) {
					return max(line-rate*host, 0), line + rate*host
				}); e != nil {
					return e
				}
			}
			if e := r.correct(bounded, margin, func(host, _ float64) (float64, float64) { return host / 2, 2 * host }); e != nil {
				return e
			}
		}
	}
	return nil
}

// correct demands d[i] <= d[j] + distance[i][j] of all nodes, closed over all paths.
func (r *reference) correct(bounded bool, margin float64, lengths func(host, line float64) (least, most float64)) []float64 {
	n := len(r.clocks)
	d := r.demands(margin, lengths)
	low, high := r.limits(bounded)
	above := func(v []float64) []float64 { // the least solution nowhere below v
		out := make([]float64, n)
		for i := range n {
			out[i] = math.Inf(-1)
			for j := range n {
				out[i] = max(out[i], v[j]-d[j][i])
			}
		}
		return out
	}
	below := func(v []float64) []float64 { // the greatest solution nowhere above v
		out := make([]float64, n)
		for i := range n {
			out[i] = math.Inf(1)
			for j := range n {
				out[i] = min(out[i], v[j]+d[i][j])
			}
		}
		return out
	}
	greatest, least := below(high), above(low)
	for i := range n {
		if d[i][i] < -1e-3 || least[i] > greatest[i]+1e-3 {
			return nil
		}
	}
	for i := range n {
		greatest[i], least[i] = min(greatest[i], max(0, least[i])), max(least[i], min(0, greatest[i]))
	}
	greatest, least = below(greatest), above(least)
	for i := range n {
		greatest[i] = (greatest[i] + least[i]) / 2
	}
	return greatest
}

// demands returns the distances between the nodes, closed over all paths (Floyd and Warshall): those of messages, and of
// two neighbouring stamps of one clock.
func (r *reference) demands(margin float64, lengths func(host, line float64) (least, most float64)) [][]float64 {
	n := len(r.clocks)
	d := make([][]float64, n)
	for i := range d {
		d[i] = make([]float64, n)
		for j := range d[i] {
			d[i][j] = math.Inf(1)
		}
		d[i][i] = 0
	}
	w := r.w
	for _, ch := range w.Channels {
		if ch.From == ch.To || w.Fixed[ch.From] && w.Fixed[ch.To] {
			continue
		}
		step := 0.0
		if g := w.Clocks[ch.To].Granularity; g > 1 {
			step = float64(g)
		}
		for _, m := range ch.Messages {
			i, j := r.node(ch.From, clock.HostTime(m.Sent)), r.node(ch.To, clock.HostTime(m.Received))
			d[i][j] = min(d[i][j], float64(r.estimate[j]-r.estimate[i])+step-margin)
		}
	}
	for i := range n - 1 {
		if c := r.clocks[i]; r.clocks[i+1] == c && !w.Fixed[c] {
			line := float64(r.estimate[i+1] - r.estimate[i])
			least, most := lengths(float64(r.stamps[i+1]-r.stamps[i]), line)
			d[i][i+1], d[i+1][i] = min(d[i][i+1], line-least), min(d[i+1][i], most-line)
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d
}

// limits returns the least and the greatest correction of each node: none of a fixed clock, and with bounded no more than
// leads to the clock's bounds.
func (r *reference) limits(bounded bool) (low, high []float64) {
	w := r.w
	low, high = make([]float64, len(r.clocks)), make([]float64, len(r.clocks))
	for i, c := range r.clocks {
		low[i], high[i] = math.Inf(-1), math.Inf(1)
		x := clock.HostTime(r.stamps[i])
		if w.Fixed[c] {
			low[i], high[i] = 0, 0
		} else if bounded && x >= w.Clocks[c].First && x <= w.Clocks[c].Last {
			if w.Maps[c].Low != nil {
				low[i] = float64(int64(w.Maps[c].Low.At(x, clock.Down)) - r.estimate[i])
			}
			if w.Maps[c].High != nil {
				high[i] = float64(int64(w.Maps[c].High.At(x, clock.Up)) - r.estimate[i])
			}
		}
	}
	return low, high
}

// TestTheCorrectionIsHalfwayBetweenTheLeastAndTheGreatest holds curves against the definition: at every stamp, and between
// them, where the estimate's corners stay and the correction is straight.
func TestTheCorrectionIsHalfwayBetweenTheLeastAndTheGreatest(t *testing.T) {
	corrected := 0
	testseed.Check(t, func(t *rapid.T) {
		origin := clock.HostTime(rapid.SampledFrom([]int64{0, 1_790_000_000_000_000_000, -3_000_000_000_000}).Draw(t, "origin"))
		clocks := rapid.IntRange(2, 4).Draw(t, "clocks")
		w := newWorld(clocks, rapid.SampledFrom([]int64{1, 1, 100}).Draw(t, "granularity"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		const span = 1_000_000_000
		for range rapid.IntRange(1, 14).Draw(t, "messages") {
			if from, to := r.IntN(clocks), r.IntN(clocks); from != to {
				w.send(from, to, origin+clock.HostTime(r.Int64N(span)), 200+r.Int64N(20_000))
			}
		}
		if len(w.Channels) == 0 {
			return
		}
		for i := range w.Maps[:clocks-1] {
			m := &w.Maps[i]
			m.Mid = nil
			// Its knots may begin behind the first stamp and end before the last.
			from, to := []clock.HostTime{-span / 2, span / 4}[r.IntN(2)], []clock.HostTime{span * 3 / 4, span * 3 / 2}[r.IntN(2)]
			for x := origin + from; x <= origin+to; x += clock.HostTime(span / int64(1+r.IntN(4))) {
				m.Mid = append(m.Mid, clock.Knot{X: clock.HostTime(x), Y: clock.TimelineTime(clock.TimelineTime(x) + clock.TimelineTime(r.Int64N(60_001)) - 30_000)})
			}
			if r.IntN(2) == 0 {
				low, high := int64(2), int64(2)
				for _, k := range m.Mid {
					low, high = max(low, int64(k.X)-int64(k.Y)), max(high, int64(k.Y)-int64(k.X))
				}
				at := func(x clock.HostTime, off int64) clock.Knot {
					return clock.Knot{X: clock.HostTime(x), Y: clock.TimelineTime(clock.TimelineTime(x) + clock.TimelineTime(off))}
				}
				// Their corners are nearest to the truth in the middle, at the first and the last stamp and beyond.
				first, last := clock.HostTime(w.Clocks[i].First), clock.HostTime(w.Clocks[i].Last)
				m.Low = clock.Curve{at(origin-2*span, -2*low-9), at(origin+span/3, -low), at(origin+3*span, -3*low-9)}
				m.High = clock.Curve{at(first-5, 3*high+9), at(first, high), at(last+1_000, high), at(last+2_000, 2*high+5)}
			}
		}
		if worst := w.inverted(estimates(w)); worst == 0 || w.slowest() > reachGrowth*worst {
			return // nothing to do, or messages that are looked at only if the correction inverts them
		}
		ref := newReference(w)
		want := ref.solve()
		got, ok := RestoreOrder(&w.Problem)
		if !ok || want == nil {
			t.Fatalf("found %v; by definition %v", ok, want)
		}
		corrected++
		for c := range w.Maps { // beyond its stamps a curve is as far from the estimate as at its ends
			first, last := slices.Index(ref.clocks, c), len(ref.clocks)-1
			if first < 0 || w.Fixed[c] {
				continue
			}
			for ref.clocks[last] != c {
				last--
			}
			for i, x := range map[int]clock.HostTime{first: ref.stamps[first] - curves.Outside, last: ref.stamps[last] + curves.Outside} {
				estimate := w.Maps[c].Mid.At(clock.HostTime(x), clock.Nearest)
				if off := float64(int64(got[c].At(clock.HostTime(x), clock.Nearest)-estimate)) - want[i]; math.Abs(off) > 2 && len(got[c]) > len(w.Maps[c].Mid) {
					t.Fatalf("clock %d, a quarter of an hour beyond its stamps: %g ns off", c, off)
				}
			}
		}
		for i, e := range want {
			c := ref.clocks[i]
			if off := float64(int64(got[c].At(clock.HostTime(ref.stamps[i]), clock.Nearest))-ref.estimate[i]) - e; math.Abs(off) > 2 { // knots and readings at whole ns, and knots left out
				t.Fatalf("clock %d at %d: %g ns from the definition's correction of %g", c, int64(ref.stamps[i]-origin), off, e)
			}
			if i == 0 || ref.clocks[i-1] != c {
				continue
			}
			for part := range int64(4) {
				x := ref.stamps[i-1] + clock.HostTime(int64(ref.stamps[i]-ref.stamps[i-1])*part/4)
				line := want[i-1] + (e-want[i-1])*float64(x-ref.stamps[i-1])/float64(ref.stamps[i]-ref.stamps[i-1])
				estimate := w.Maps[c].Mid.At(clock.HostTime(x), clock.Nearest)
				if off := float64(int64(got[c].At(clock.HostTime(x), clock.Nearest)-estimate)) - line; math.Abs(off) > 3 {
					t.Fatalf("clock %d at %d, between its stamps: %g ns off", c, int64(x-origin), off)
				}
			}
		}
	})
	if corrected < testneed.Cases(20) {
		t.Errorf("only %d problems needed a correction", corrected)
	}
}

// slowest returns how long the slowest message takes by the estimates.
func (w *world) slowest() (delay int64) {
	for _, c := range w.Channels {
		for _, m := range c.Messages {
			delay = max(delay, int64(w.Maps[c.To].Mid.At(m.Received, clock.Nearest)-w.Maps[c.From].Mid.At(m.Sent, clock.Nearest)))
		}
	}
	return delay
}

func estimates(w *world) []clock.Curve {
	var curves []clock.Curve
	for i := range w.Maps {
		curves = append(curves, w.Maps[i].Mid)
	}
	return curves
}
