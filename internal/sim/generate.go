package sim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"meridian/clock"
	"meridian/trace"
)

// Flight is one message as it really was, beside what the clocks made of it. All instants are in ns.
type Flight struct {
	From, To       int                // hosts
	Link           int                // index into Truth.Links
	Left, Arrived  clock.TimelineTime // true time
	Sent, Received clock.HostTime     // stamps of the sender and of the receiver
	Broadcast      int                // number of the broadcast that it is part of, from 1; 0 for an ordinary message
	Operation      int                // number of the collective operation that it is part of, from 1; 0 for none
}

// network is a scenario being played.
type network struct {
	Scenario
	clocks  []Clock
	links   []link       // of each edge there, then back
	out     [][]int      // links by sender
	sources []*rand.Rand // by edge
	visit   func(*Flight) error
	last    clock.TimelineTime // true instant of the last arrival
}

// Play sends the scenario's messages and calls visit with each, link by link and not in order of time. The flight is
// valid until visit returns. An error of visit ends Play, which returns it. It fails for a scenario that cannot be,
// saying why.
func (s Scenario) Play(visit func(*Flight) error) (*Truth, error) {
	n, err := newNetwork(s)
	if err != nil {
		return nil, err
	}
	n.visit = visit
	if err := n.play(); err != nil {
		return nil, err
	}
	return n.truth(), nil
}

// Expected returns about how many messages the scenario will send, or why it cannot be.
func (s Scenario) Expected() (messages float64, err error) {
	if s, err = s.complete(); err != nil {
		return 0, err
	}
	return s.expected(len(s.edges())), nil
}

// Generate returns the messages as the hosts' clocks stamped them, and the truth. It fails as [Scenario.Play] does. A
// direction without messages has no channel; a host without any has a clock without events.
func (s Scenario) Generate() (trace.Problem, *Truth, error) {
	var p trace.Problem
	n, err := newNetwork(s)
	if err != nil {
		return p, nil, err
	}
	for i := range n.clocks {
		p.Clocks = append(p.Clocks, trace.Clock{Name: hostName(i), Host: hostName(i), Granularity: n.Granularity})
	}
	channels := make([]int, len(n.links)) // by link, plus one
	each := int(n.expected(len(n.sources))/float64(len(n.links))*1.05) + 16
	broadcast := 0
	n.visit = func(f *Flight) error {
		if channels[f.Link] == 0 {
			p.Channels = append(p.Channels, trace.Channel{From: f.From, To: f.To, Messages: make([]trace.Message, 0, each)})
			channels[f.Link] = len(p.Channels)
		}
		c := &p.Channels[channels[f.Link]-1]
		c.Messages = append(c.Messages, trace.Message{Sent: f.Sent, Received: f.Received})
		see(&p.Clocks[f.From], f.Sent)
		see(&p.Clocks[f.To], f.Received)
		if f.Broadcast > 0 && len(n.out[f.From]) > 1 {
			if f.Broadcast != broadcast {
				broadcast = f.Broadcast
				p.Broadcasts = append(p.Broadcasts, trace.Broadcast{Receptions: make([]trace.Stamp, 0, len(n.out[f.From]))})
			}
			b := &p.Broadcasts[len(p.Broadcasts)-1]
			b.Receptions = append(b.Receptions, trace.Stamp{Clock: f.To, Time: f.Received})
		}
		return nil
	}
	if err := n.play(); err != nil {
		return p, nil, err
	}
	return p, n.truth(), nil
}

// see widens a clock's extent by a stamp.
func see(c *trace.Clock, stamp clock.HostTime) {
	if c.Events == 0 {
		c.First, c.Last = stamp, stamp
	}
	c.First, c.Last = min(c.First, stamp), max(c.Last, stamp)
	c.Events++
}

func newNetwork(s Scenario) (*network, error) {
	s, err := s.complete()
	if err != nil {
		return nil, err
	}
	n := &network{Scenario: s, out: make([][]int, s.Hosts)}
	if n.clocks, err = n.makeClocks(); err != nil {
		return nil, err
	}
	edges := n.edges()
	if most := n.expected(len(edges)); most > mostMessages {
		return nil, fmt.Errorf("sim: some %.2g messages; at most %g can be simulated", most, float64(mostMessages))
	}
	for e, edge := range edges {
		random := n.random(edgeStream, e)
		for _, l := range n.makeLinks(edge, random) {
			n.out[l.from] = append(n.out[l.from], len(n.links))
			n.links = append(n.links, l)
		}
		n.sources = append(n.sources, random)
	}
	if err := n.addRoutes(s.Routes); err != nil {
		return nil, err
	}
	n.last = n.Start + clock.TimelineTime(n.Span)
	return n, nil
}

// instant returns the true time t ns after the start.
func (n *network) instant(t float64) clock.TimelineTime {
	return n.Start + clock.TimelineTime(int64(math.Round(t)))
}

// stamp returns what a host's clock shows at a true instant, in its steps.
func (n *network) stamp(host int, at clock.TimelineTime) clock.HostTime {
	s := n.clocks[host].At(at)
	return s - clock.HostTime((int64(s)%n.Granularity+n.Granularity)%n.Granularity)
}

// send sends a message over a link t ns after the start and returns when it arrives.
func (n *network) send(l int, t float64, random *rand.Rand) (arrived float64, err error) {
	link := &n.links[l]
	f := Flight{Left: n.instant(t)}
	f.Arrived = f.Left + clock.TimelineTime(link.minimum(f.Left)) + clock.TimelineTime(link.wait(random, t))
	f.Sent, f.Received = n.stamp(link.from, f.Left), n.stamp(link.to, f.Arrived)
	return float64(f.Arrived - n.Start), n.fly(l, f)
}

// fly hands a message on.
func (n *network) fly(l int, f Flight) error {
	f.From, f.To, f.Link = n.links[l].from, n.links[l].to, l
	n.last = max(n.last, f.Arrived)
	return n.visit(&f)
}
