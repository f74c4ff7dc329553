package bound

import (
	"math"
	"slices"
	"sort"
)

// cones are the bounds that a greatest rate leaves beside messages: from a ceiling (t_i, u_i) on, before and after, the offset
// is at most u_i + epsilon + rate |t - t_i|. Only messages whose cone is lowest somewhere are kept, with floors the other way up.
//
//	\    /\    /
//	 \  /  \  /
//	  \/    \/         cones over two ceilings
type cones struct {
	corners []point // with epsilon
	rate    float64
	side    float64 // 1: over ceilings, -1: under floors
}

// newCones returns the cones of points, which it reorders.
func newCones(points []point, rate, side, epsilon float64) cones {
	inOrder(points, side)
	c := cones{rate: rate, side: side, corners: make([]point, 0, len(points))}
	for _, p := range points {
		n := len(c.corners)
		if n > 0 && side*(p.y-c.corners[n-1].y) >= rate*(p.x-c.corners[n-1].x) {
			continue // inside the last cone
		}
		for ; n > 0 && side*(c.corners[n-1].y-p.y) >= rate*(p.x-c.corners[n-1].x); n-- {
			c.corners = c.corners[:n-1]
		}
		c.corners = append(c.corners, p)
	}
	for i := range c.corners {
		c.corners[i].y += side * epsilon
	}
	if len(c.corners) < len(points)/2 {
		c.corners = slices.Clone(c.corners)
	}
	return c
}

// at returns the bound at x, infinite without messages.
func (c *cones) at(x float64) float64 {
	i := sort.Search(len(c.corners), func(i int) bool { return c.corners[i].x >= x })
	best := math.Inf(1)
	for j := max(i-1, 0); j < min(i+1, len(c.corners)); j++ {
		best = min(best, c.side*c.corners[j].y+c.rate*math.Abs(x-c.corners[j].x))
	}
	return c.side * best
}
