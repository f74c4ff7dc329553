package pair

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// heardBy returns broadcasts every 100 ms to so many linear clocks, each of which misses some of them, and the clocks as
// functions of the first one's time.
func heardBy(seed uint64, clocks, n int, mean float64) ([]trace.Broadcast, []func(clock.HostTime) clock.HostTime) {
	random := rand.New(rand.NewPCG(seed, 8))
	truth := make([]func(clock.HostTime) clock.HostTime, clocks)
	for i := range truth {
		offset, ppm := random.Int64N(2e9)-1e9, random.Int64N(200)-100
		if i == 0 {
			offset, ppm = 0, 0
		}
		truth[i] = func(x clock.HostTime) clock.HostTime {
			return x + clock.HostTime(offset) + clock.HostTime(clock.MulDiv(int64(x-since1970), ppm, 1_000_000, clock.Nearest))
		}
	}
	var out []trace.Broadcast
	for k := range int64(n) {
		var b trace.Broadcast
		for i := range truth {
			if random.IntN(4) > 0 {
				t := clock.HostTime(since1970+k*100_000_000) + clock.HostTime(random.ExpFloat64()*mean)
				b.Receptions = append(b.Receptions, trace.Stamp{Clock: i, Time: truth[i](t)})
			}
		}
		random.Shuffle(len(b.Receptions), func(i, j int) {
			b.Receptions[i], b.Receptions[j] = b.Receptions[j], b.Receptions[i]
		})
		out = append(out, b)
	}
	return out, truth
}

func TestBroadcastsFindLinearClocks(t *testing.T) {
	broadcasts, truth := heardBy(1, 8, 600, 20_000)
	groups, err := Broadcasts(8, broadcasts)
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 1 || groups[0].Reference != 0 || len(groups[0].Clocks) != 8 {
		t.Fatalf("%+v", groups)
	}
	for i, m := range groups[0].Maps {
		for x := clock.HostTime(since1970); x < since1970+60e9; x += 7e9 {
			// The mean of 450 delays of 20 us has a deviation of 1 us, a line through them twice that at its ends.
			if d := distance(m.At(truth[i](x)), x); d > 4_000 {
				t.Errorf("clock %d: %d ns off at %d", i, d, x-since1970)
			}
		}
	}
	if d := groups[0].Delay; d < 14_000 || d > 21_000 {
		t.Errorf("mean delay %g ns, it is 20 us less the quickest of each broadcast", d)
	}
}

func TestBroadcastsWithoutDelaysAreExact(t *testing.T) {
	broadcasts, truth := heardBy(3, 5, 50, 0)
	groups, err := Broadcasts(5, broadcasts)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range groups[0].Maps {
		for x := clock.HostTime(since1970); x < since1970+5e9; x += 1e8 {
			if d := distance(m.At(truth[i](x)), x); d > 4 {
				t.Fatalf("clock %d: %d ns off at %d", i, d, x-since1970)
			}
		}
	}
}

// leastOfAllVertices returns the least sum over all points at which as many ties of two receptions hold as there are
// parameters: the sum is convex and turns only at ties, so its least value is at one of them.
func leastOfAllVertices(l *likelihood) float64 {
	dim := 2 * l.lines
	var rows [][]float64 // parameters, right side
	l.each(func(_, from, to int) {
		for i := from; i < to; i++ {
			for j := from; j < i; j++ {
				row := make([]float64, dim+1)
				for n, sign := range map[int]float64{i: 1, j: -1} {
					r := l.receptions[n]
					row[dim] -= sign * r.z
					if r.line >= 0 {
						row[2*r.line] += sign
						row[2*r.line+1] += sign * r.x
					}
				}
				rows = append(rows, row)
			}
		}
	})
	best := math.Inf(1)
	chosen := make([]int, 0, dim)
	var choose func(from int)
	choose = func(from int) {
		if len(chosen) == dim {
			if p, ok := solved(rows, chosen, dim); ok {
				l.solution = p
				best = min(best, l.sum())
			}
			return
		}
		for i := from; i < len(rows); i++ {
			chosen = append(chosen, i)
			choose(i + 1)
			chosen = chosen[:len(chosen)-1]
		}
	}
	choose(0)
	return best
}

// solved solves the chosen equations by elimination.
func solved(rows [][]float64, chosen []int, dim int) ([]float64, bool) {
	a := make([][]float64, dim)
	for i, c := range chosen {
		a[i] = append([]float64(nil), rows[c]...)
	}
	for j := range dim {
		pivot := j
		for i := j; i < dim; i++ {
			if math.Abs(a[i][j]) > math.Abs(a[pivot][j]) {
				pivot = i
			}
		}
		if math.Abs(a[pivot][j]) < 1e-9 {
			return nil, false
		}
		a[j], a[pivot] = a[pivot], a[j]
		for i := range dim {
			if i != j {
				f := a[i][j] / a[j][j]
				for c := j; c <= dim; c++ {
					a[i][c] -= f * a[j][c]
				}
			}
		}
	}
	p := make([]float64, dim)
	for j := range p {
		p[j] = a[j][dim] / a[j][j]
	}
	return p, true
}

func TestSumOfDelaysIsTheLeastOfAllVertices(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 2))
		clocks := 2 + int(seed%2)
		l := &likelihood{lines: clocks - 1, even: make([]bool, clocks-1)}
		for range 3 + 10/clocks {
			x := random.Float64()*2 - 1
			for i := range clocks {
				if clocks == 2 || random.IntN(5) > 0 {
					l.receptions = append(l.receptions, reception{line: i - 1, x: x + random.Float64()*1e-3, z: float64(random.Int64N(100_000))})
				}
			}
			if from := append([]int{0}, l.ends...)[len(l.ends)]; len(l.receptions) > from {
				l.ends = append(l.ends, len(l.receptions))
			}
		}
		got := l.maximise()
		want := leastOfAllVertices(l)
		if math.IsInf(want, 1) {
			continue // too few share anything
		}
		if got > want*(1+1e-6)+0.01 || got < want*(1-1e-6)-0.01 {
			t.Errorf("seed %d, %d clocks: the sum is %g, the least %g", seed, clocks, got, want)
		}
	}
}

func TestClocksThatHeardNothingTogetherAreGroupsOfTheirOwn(t *testing.T) {
	at := func(c int, x clock.HostTime) trace.Stamp { return trace.Stamp{Clock: c, Time: x} }
	groups, err := Broadcasts(6, []trace.Broadcast{
		{Receptions: []trace.Stamp{at(4, 1000), at(1, 500)}},
		{Receptions: []trace.Stamp{at(1, 900), at(5, 10_900)}},
		{Receptions: []trace.Stamp{at(3, 77)}},
		{Receptions: []trace.Stamp{at(0, 10), at(2, 20)}},
		{Receptions: []trace.Stamp{at(0, 1_000_010), at(2, 1_000_120), at(2, 1_000_999)}},
		{},
	})
	if err != nil {
		t.Fatal(err)
	}
	var members [][]int
	for _, g := range groups {
		members = append(members, g.Clocks)
	}
	if want := [][]int{{0, 2}, {1, 4, 5}, {3}}; !reflect.DeepEqual(members, want) {
		t.Fatalf("%v, not %v", members, want)
	}
	for _, x := range []struct {
		group, member int
		at, want      clock.HostTime
	}{{0, 1, 20, 10}, {0, 1, 1_000_120, 1_000_010}, {1, 1, 1000, 500}, {1, 1, 2000, 1500}, {1, 2, 10_900, 900}, {1, 2, 0, -10_000}, {2, 0, 5, 5}} {
		if got := groups[x.group].Maps[x.member].At(x.at); distance(got, x.want) > 1 {
			t.Errorf("group %d, clock %d: %d at %d, not %d", x.group, x.member, got, x.at, x.want)
		}
	}
}

func TestReceptionsThatAreNoneAreErrors(t *testing.T) {
	for _, r := range []trace.Stamp{{Clock: 2}, {Clock: -1}, {Clock: 0, Time: clock.Limit}} {
		if _, err := Broadcasts(2, []trace.Broadcast{{Receptions: []trace.Stamp{r}}}); err == nil {
			t.Errorf("%+v", r)
		}
	}
}

func TestWildReceptionsStillGiveClocks(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 99))
		var broadcasts []trace.Broadcast
		for range random.IntN(30) {
			var b trace.Broadcast
			for range random.IntN(5) {
				b.Receptions = append(b.Receptions, trace.Stamp{Clock: random.IntN(5), Time: clock.HostTime(random.Int64N(clock.Limit) * (1 - 2*random.Int64N(2)))})
			}
			broadcasts = append(broadcasts, b)
		}
		groups, err := Broadcasts(5, broadcasts)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			for i := range g.Maps {
				if err := g.Maps[i].Mid.Check(); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		}
	}
}

func TestGroupsHeldTogetherByOneBroadcastRunEvenly(t *testing.T) {
	// 0 and 1 hear much together, so do 2 and 3, but 1 and 2 one broadcast: what 2 and 3 share of a rate is left open.
	var broadcasts []trace.Broadcast
	drift := func(x clock.HostTime, ppm int64) clock.HostTime {
		return x + clock.HostTime(clock.MulDiv(int64(x), ppm, 1_000_000, clock.Nearest))
	}
	at := func(c int, x clock.HostTime) trace.Stamp { return trace.Stamp{Clock: c, Time: x} }
	for k := range int64(50) {
		x := clock.HostTime(k * 1_000_000_000)
		broadcasts = append(broadcasts,
			trace.Broadcast{Receptions: []trace.Stamp{at(0, x), at(1, drift(x, 30))}},
			trace.Broadcast{Receptions: []trace.Stamp{at(2, x+777), at(3, drift(x, 60)+777)}})
	}
	broadcasts = append(broadcasts, trace.Broadcast{Receptions: []trace.Stamp{at(1, drift(30e9, 30)), at(2, 30e9+777)}})
	groups, err := Broadcasts(4, broadcasts)
	if err != nil || len(groups) != 1 {
		t.Fatal(groups, err)
	}
	maps := groups[0].Maps
	for x := clock.HostTime(0); x < 50e9; x += 7e9 {
		if d := distance(maps[2].At(x+777), maps[3].At(drift(x, 60)+777)); d > 5 {
			t.Errorf("2 and 3 are %d ns apart at %d", d, x)
		}
		if d := distance(maps[2].At(x+777), x); d > 50_000*100 { // 100 ppm
			t.Errorf("2 is %d ns off at %d", d, x)
		}
	}
	if d := distance(maps[2].At(30e9+777), 30e9); d > 5 {
		t.Errorf("2 is %d ns off where it is held", d)
	}
}
