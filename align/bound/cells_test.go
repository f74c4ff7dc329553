package bound

import (
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// wrapped returns the lower hull of points for side 1, the upper one for -1: from each corner on it takes the point that is
// seen farthest out, of several in line the last.
func wrapped(points []point, side float64) []point {
	if len(points) == 0 {
		return nil
	}
	at := points[0]
	for _, q := range points {
		if q.x < at.x || q.x == at.x && side*q.y < side*at.y {
			at = q
		}
	}
	for out := []point{at}; ; out = append(out, at) {
		var next *point
		for i := range points {
			q := &points[i]
			if q.x <= at.x {
				continue
			}
			if next == nil {
				next = q
				continue
			}
			if turn := side * ((next.x-at.x)*(q.y-at.y) - (q.x-at.x)*(next.y-at.y)); turn < 0 || turn == 0 && q.x > next.x {
				next = q
			}
		}
		if next == nil {
			return out
		}
		at = *next
	}
}

func TestBlocksHaveTheHullsOfTheirMessagesInWhateverOrderTheyCome(t *testing.T) {
	const span, cells = 800, 8
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		var points []point
		burst := r.Float64() * span
		for range r.IntN(600) {
			x := r.Float64() * span
			if r.IntN(2) == 0 {
				x = min(max(burst+20*r.NormFloat64(), 0), span-1)
			}
			y := (x-400)*(x-400)/200*float64(r.IntN(3)-1) + float64(r.IntN(40))
			points = append(points, point{float64(int(x)), float64(int(y))})
		}
		// In order, partly so, and in none.
		slices.SortFunc(points, func(p, q point) int { return int(p.x - q.x) })
		for range []int{0, 10, 1000}[seed%3] {
			if n := len(points); n > 0 {
				i, k := r.IntN(n), r.IntN(n)
				points[i], points[k] = points[k], points[i]
			}
		}
		var messages pair.Messages
		for piece := range slices.Chunk(points, 1+r.IntN(300)) {
			var m []trace.Message
			for _, q := range piece {
				m = append(m, trace.Message{Sent: clock.HostTime(q.x), Received: clock.HostTime(q.y)})
			}
			messages = append(messages, m)
		}
		at := func(m trace.Message) point { return point{float64(m.Sent), float64(m.Received)} }
		for _, side := range []float64{1, -1} {
			g := gather(messages, at, side, 0, float64(cells)/span, cells)
			for level, b := range levels(g.hulls(), g.all, side) {
				if b.len() != cells>>level {
					t.Fatalf("seed %d: %d blocks at level %d", seed, b.len(), level)
				}
				for i := range b.len() {
					length := float64(span / b.len())
					want := wrapped(slices.DeleteFunc(slices.Clone(points), func(q point) bool { return int(q.x/length) != i }), side)
					if got := b.of(i, i+1); !slices.Equal(got, want) {
						t.Fatalf("seed %d, side %g, level %d, block %d:\n%v\n%v", seed, side, level, i, got, want)
					}
				}
			}
		}
	}
}
