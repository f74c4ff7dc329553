package main

import (
	"math"
	"math/rand/v2"
	"time"

	"meridian/clock"
	"meridian/order"
	"meridian/trace"
)

const (
	leastDelay = time.Millisecond
	meanDelay  = 4 * time.Millisecond
	meanHold   = 100 * time.Millisecond
	tick       = time.Millisecond // between calls of Advance
	origin     = clock.TimelineTime(1_700_000_000_000_000_000)
)

// outcome is what one run showed.
type outcome struct {
	events, missing, twice int64
	inversions, unnoted    int64 // events that followed a later one, and those of them that were not noted
	behind, latency        float64
	frames, ticks          float64
	stats                  order.SorterStats
}

func (o *outcome) latePPM() float64     { return 1e6 * float64(o.stats.Late) / float64(max(o.events, 1)) }
func (o *outcome) behindMean() float64  { return o.behind / 1e6 / float64(max(o.stats.Late, 1)) }
func (o *outcome) frameMean() float64   { return o.frames / 1e6 / max(o.ticks, 1) }
func (o *outcome) latencyMean() float64 { return o.latency / 1e6 / float64(max(o.events, 1)) }

// add adds the counts of what must hold.
func (o *outcome) add(p *outcome) {
	o.events += p.events
	o.missing += p.missing
	o.twice += p.twice
	o.inversions += p.inversions
	o.unnoted += p.unnoted
}

// host makes the events of one host, each with the instant at which it comes.
type host struct {
	r         *rand.Rand
	every     time.Duration // between holds, in the mean; 0 for none
	gap       float64       // between events, in the mean, ns
	at, comes clock.TimelineTime
	hold, to  clock.TimelineTime // the next time, or this, that it is held up
}

func (h *host) next() {
	h.at = h.at.Add(time.Duration(h.r.ExpFloat64() * h.gap))
	arrives := h.at.Add(leastDelay + exponential(h.r, meanDelay))
	for h.every > 0 && arrives >= h.to {
		h.hold = h.to.Add(exponential(h.r, h.every))
		h.to = h.hold.Add(exponential(h.r, meanHold))
	}
	if h.every > 0 && arrives >= h.hold {
		arrives = h.to
	}
	h.comes = max(h.comes, arrives) // one connection keeps the order
}

func exponential(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(mean))
}

// run sorts the events of all hosts, which are held up every so often in the mean.
func (e *experiment) run(options order.SorterOptions, every time.Duration) (*outcome, error) {
	hosts := make([]host, e.hosts)
	for i := range hosts {
		h := &hosts[i]
		*h = host{r: rand.New(rand.NewPCG(e.seed, uint64(i))), every: every, gap: 1e9 / e.rate, at: origin, comes: origin, to: origin}
		h.next()
	}
	var o outcome
	due := make([]int64, e.hosts) // the number of each host's next event
	latest := clock.TimelineTime(math.MinInt64)
	emit := func(r *trace.TimelineEvent, n order.Note) error {
		o.latency += float64(n.Latency)
		if r.Time < latest {
			o.inversions++
			if !n.Late {
				o.unnoted++
			}
		}
		latest = max(latest, r.Time)
		if n.Late {
			o.behind += float64(n.Behind)
		}
		// A host's events come in order: the number of each is the next.
		if number := r.Values[0].Int(); number < due[r.Host] {
			o.twice++
		} else {
			o.missing += number - due[r.Host]
			due[r.Host] = number + 1
		}
		return nil
	}
	s := order.NewSorter(options)
	numbers := make([]int64, e.hosts)
	record := trace.TimelineEvent{Map: -1, Values: make([]trace.Value, 1)}
	end := origin.Add(e.duration)
	for now := origin; now < end; now = now.Add(tick) {
		for i := range hosts {
			for h := &hosts[i]; h.comes <= now; h.next() {
				record.Host, record.Stream, record.Time, record.Event.Time = i, i, h.at, clock.HostTime(h.at)
				record.Values[0] = trace.OfInt(numbers[i])
				numbers[i]++
				o.events++
				if err := s.Push(&record); err != nil {
					return nil, err
				}
			}
		}
		if err := s.Advance(now, emit); err != nil {
			return nil, err
		}
		o.frames += float64(s.Frame())
		o.ticks++
	}
	o.stats = s.Stats()
	if err := s.Flush(emit); err != nil {
		return nil, err
	}
	for i := range numbers {
		o.missing += numbers[i] - due[i]
	}
	return &o, nil
}
