package sim

import (
	"math/rand/v2"

	"meridian/clock"
)

// Pattern says when hosts send to those they have a link with.
type Pattern uint8

const (
	Periodic        Pattern = iota // at nearly equal distances, in both directions
	Bursty                         // fifty at a time within some 5 ms, in both directions
	RequestResponse                // the lower host asks at random instants, the other answers 50 to 500 µs later
	OneSided                       // periodic, 97% of the messages from the lower host
	OneWay                         // periodic, all of them from the lower host
	// Broadcast: each host sends periodically over a medium to all it has a link with. The wait for the medium is one for
	// all receivers; each has its link's minimum and a tenth of a random wait of its own.
	Broadcast
	// Collective: all hosts take part in an operation at nearly equal distances, each entering it a random time late.
	// None leaves before a message from every other, sent when that entered, could have come: between every two hosts
	// there is a message from entering to leaving. The topology is the full one.
	Collective
)

var patternNames = [...]string{"periodic", "bursty", "request-response", "asymmetric", "one-way", "broadcast", "collective"}

func (p Pattern) String() string { return nameOf(patternNames[:], int(p)) }

// Patterns returns all patterns.
func Patterns() []Pattern {
	return []Pattern{Periodic, Bursty, RequestResponse, OneSided, OneWay, Broadcast, Collective}
}

const (
	burst      = 50    // messages
	burstPause = 1e5   // mean distance within a burst, ns
	heavySide  = 0.97  // of the messages of OneSided
	lateness   = 0.05  // mean of a host's entering late, in distances of operations
	answerFrom = 50e3  // ns
	answerTo   = 500e3 // ns
)

// expected returns about how many messages there will be over so many edges.
func (s *Scenario) expected(edges int) float64 {
	messages := s.Rate * s.Span.Seconds() * float64(edges)
	if s.Traffic == OneWay {
		return messages
	}
	return 2 * messages
}

// play sends all messages: those over a link in order of time, but for bursts that overlap.
func (n *network) play() error {
	switch n.Traffic {
	case Broadcast:
		return n.broadcast()
	case Collective:
		return n.collective()
	}
	for e := 0; e < len(n.links); e += 2 {
		if err := n.converse(e, e+1, n.sources[e/2]); err != nil {
			return err
		}
	}
	return nil
}

// converse plays the messages of one edge.
func (n *network) converse(there, back int, random *rand.Rand) error {
	span := float64(n.Span)
	switch n.Traffic {
	case Bursty:
		pause := burst / n.Rate * 1e9
		for _, l := range []int{there, back} {
			for t := pause * random.ExpFloat64(); t < span; t += pause * random.ExpFloat64() {
				u := t
				for range burst {
					if u >= span {
						break
					}
					if _, err := n.send(l, u, random); err != nil {
						return err
					}
					u += burstPause * random.ExpFloat64()
				}
			}
		}
	case RequestResponse:
		pause := 1e9 / n.Rate
		for t := pause * random.ExpFloat64(); t < span; t += pause * random.ExpFloat64() {
			arrived, err := n.send(there, t, random)
			if err != nil {
				return err
			}
			arrived += answerFrom + (answerTo-answerFrom)*random.Float64()
			if arrived < span {
				if _, err := n.send(back, arrived, random); err != nil {
					return err
				}
			}
		}
	default:
		rates := [2]float64{n.Rate, n.Rate}
		switch n.Traffic {
		case OneSided:
			rates = [2]float64{2 * heavySide * n.Rate, 2 * (1 - heavySide) * n.Rate}
		case OneWay:
			rates[1] = 0
		}
		for d, l := range []int{there, back} {
			if rates[d] == 0 {
				continue
			}
			err := n.periodic(1e9/rates[d], random, func(t float64) error {
				_, err := n.send(l, t, random)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// periodic calls each at distances within 5% of the period, the first time at random within it.
func (n *network) periodic(period float64, random *rand.Rand, each func(t float64) error) error {
	for t := random.Float64() * period; t < float64(n.Span); t += period * (0.95 + 0.1*random.Float64()) {
		if err := each(t); err != nil {
			return err
		}
	}
	return nil
}

func (n *network) broadcast() error {
	medium := Delay{Jitter: n.Jitter, Distribution: n.Delay}
	number := 0
	for host := range n.Hosts {
		random := n.Scenario.random(senderStream, host)
		err := n.periodic(1e9/n.Rate, random, func(t float64) error {
			left := n.instant(t)
			shared := int64(min(medium.wait(random), longestWait))
			number++
			f := Flight{Left: left, Sent: n.stamp(host, left), Broadcast: number}
			for _, l := range n.out[host] {
				f.Arrived = left + clock.TimelineTime(n.links[l].minimum(left)) + clock.TimelineTime(shared) + clock.TimelineTime(n.links[l].wait(random, t)/10)
				f.Received = n.stamp(n.links[l].to, f.Arrived)
				if err := n.fly(l, f); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *network) collective() error {
	random := n.Scenario.random(senderStream, 0)
	entered, left := make([]Flight, n.Hosts), make([]clock.TimelineTime, n.Hosts)
	ended := n.Start // the last operation; the next does not begin before
	number := 0
	return n.periodic(1e9/n.Rate, random, func(t float64) error {
		begin := max(n.instant(t), ended)
		if begin >= n.Start+clock.TimelineTime(int64(n.Span)) {
			return nil
		}
		number++
		for i := range entered {
			at := begin + clock.TimelineTime(lateness*1e9/n.Rate*random.ExpFloat64())
			entered[i] = Flight{Left: at, Sent: n.stamp(i, at), Operation: number}
			left[i] = at
		}
		for i := range n.links {
			l := &n.links[i]
			at := entered[l.from].Left
			left[l.to] = max(left[l.to], at+clock.TimelineTime(l.minimum(at))+clock.TimelineTime(l.wait(random, float64(at-n.Start))))
		}
		stamps := make([]clock.HostTime, n.Hosts)
		for i, at := range left {
			stamps[i] = n.stamp(i, at)
			ended = max(ended, at)
		}
		for i := range n.links {
			f := entered[n.links[i].from]
			f.Arrived, f.Received = left[n.links[i].to], stamps[n.links[i].to]
			if err := n.fly(i, f); err != nil {
				return err
			}
		}
		return nil
	})
}
