package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"meridian/clock"
)

// While a link is congested a message waits this much and ten random waits more.
const (
	congestedWait  = 30e3 // ns
	congestedTimes = 10
	congestedOff   = 60e9 // mean of the times without, ns
	congestedOn    = 15e9 // and with congestion
	longestWait    = 3600e9
)

// link is one direction between two hosts.
type link struct {
	from, to int
	min      int64 // the least delay at the start, ns
	delay    Delay // the random part alone
	busy     []float64
	routes   []Route // in order of time
}

// makeLinks draws the links of an edge, there and back, from its source.
func (s *Scenario) makeLinks(edge [2]int, random *rand.Rand) [2]link {
	low, high := float64(s.MinDelay[0]), float64(s.MinDelay[1])
	draw := func() int64 { return int64(math.Round(low + random.Float64()*(high-low))) }
	there := link{from: edge[0], to: edge[1], min: draw(), delay: Delay{Jitter: s.Jitter, Distribution: s.Delay}}
	back := there
	back.from, back.to = there.to, there.from
	if s.Asymmetric {
		back.min = draw()
	}
	if s.Congested {
		there.busy, back.busy = congestion(random, float64(s.Span)), congestion(random, float64(s.Span))
	}
	if s.Asymmetric {
		for _, l := range []*link{&there, &back} {
			l.delay.Jitter = time.Duration(float64(s.Jitter) * (0.5 + random.Float64()))
		}
	}
	return [2]link{there, back}
}

// congestion draws the ends of the times without and with congestion in turn, ns after the start.
func congestion(random *rand.Rand, span float64) (ends []float64) {
	for t := 0.0; t < span; {
		t += congestedOff * random.ExpFloat64()
		ends = append(ends, t)
		t += congestedOn * random.ExpFloat64()
		ends = append(ends, t)
	}
	return ends
}

// minimum returns the least delay of a message sent at a true instant.
func (l *link) minimum(at clock.TimelineTime) int64 {
	least := l.min
	for _, r := range l.routes {
		if at < r.At {
			break
		}
		least += r.By
	}
	return least
}

// wait draws the random part of the delay of a message sent t ns after the start.
func (l *link) wait(random *rand.Rand, t float64) int64 {
	more := l.delay.wait(random)
	if l.busy != nil {
		if i, _ := slices.BinarySearch(l.busy, t); i%2 == 1 {
			more += congestedWait + congestedTimes*l.delay.wait(random)
		}
		if l.delay.Distribution == Pareto {
			more = min(more, longestQueue)
		}
	}
	return int64(min(more, longestWait))
}

// addRoutes gives the links their changes.
func (n *network) addRoutes(routes []Route) error {
	routes = slices.Clone(routes)
	slices.SortStableFunc(routes, func(a, b Route) int { return cmp.Compare(a.At, b.At) })
	for _, r := range routes {
		i := slices.IndexFunc(n.links, func(l link) bool { return l.from == r.From && l.to == r.To })
		if i < 0 {
			return fmt.Errorf("sim: a route change from host %d to host %d, which have no link", r.From, r.To)
		}
		l := &n.links[i]
		if now := l.minimum(math.MaxInt64); r.By > int64(time.Hour) || now+max(r.By, -int64(time.Hour)) < 0 {
			return fmt.Errorf("sim: the minimum delay from %s to %s is %v; it cannot change by %v",
				hostName(r.From), hostName(r.To), time.Duration(now), time.Duration(r.By))
		}
		l.routes = append(l.routes, r)
	}
	return nil
}
