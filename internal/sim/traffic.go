package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// Link sends messages from one host to another, at random instants that are Period apart in the mean.
type Link struct {
	From, To int // indices into Traffic.Hosts
	Period   time.Duration
	Delay    Delay
	Back     *Delay // if not nil, To answers each message at once: exchanges, asymmetric if Back is not Delay
}

// Traffic is what the hosts send to each other during Span, from the true time Start.
type Traffic struct {
	Hosts       []Clock
	Links       []Link
	Start       clock.TimelineTime // true time, ns
	Span        time.Duration
	Seed        uint64
	Granularity int64 // step of the stamps, which are cut down to it; 0 is 1 ns
}

// Generate returns the messages as the hosts' clocks stamped them, and the function that tells the true time of a
// host's stamp (of which a granularity above 1 ns hides up to one step). A link that the span leaves without messages
// still has its channel. Generate panics for a clock that does not pass [Clock.Check]: it is the test that is wrong.
func (t Traffic) Generate() (trace.Problem, func(clock int, host clock.HostTime) clock.TimelineTime) {
	step := max(t.Granularity, 1)
	var p trace.Problem
	for i := range t.Hosts {
		if err := t.Hosts[i].Check(); err != nil {
			panic(err)
		}
		name := fmt.Sprintf("host%d", i)
		p.Clocks = append(p.Clocks, trace.Clock{Name: name, Host: name, Granularity: step})
	}
	channels := make(map[[2]int]int)
	channel := func(from, to int) int {
		key := [2]int{from, to}
		i, known := channels[key]
		if !known {
			i = len(p.Channels)
			channels[key] = i
			p.Channels = append(p.Channels, trace.Channel{From: from, To: to})
		}
		return i
	}
	stamp := func(host int, instant clock.TimelineTime) clock.HostTime {
		s := t.Hosts[host].At(instant)
		s -= clock.HostTime(((int64(s) % step) + step) % step)
		c := &p.Clocks[host]
		if c.Events == 0 {
			c.First, c.Last = s, s
		}
		c.First, c.Last = min(c.First, s), max(c.Last, s)
		c.Events++
		return s
	}
	send := func(channel int, sent, received clock.TimelineTime) {
		c := &p.Channels[channel]
		c.Messages = append(c.Messages, trace.Message{Sent: stamp(c.From, sent), Received: stamp(c.To, received)})
	}
	for i, link := range t.Links {
		// A source of its own for each link: one more link leaves the others' messages as they were.
		random := rand.New(rand.NewPCG(t.Seed, uint64(i)))
		there, back := channel(link.From, link.To), -1
		if link.Back != nil {
			back = channel(link.To, link.From)
		}
		pause := Delay{Jitter: link.Period}
		for at := pause.Draw(random); at < t.Span; at += pause.Draw(random) {
			sent := t.Start + clock.TimelineTime(at)
			received := sent + clock.TimelineTime(int64(link.Delay.Draw(random)))
			send(there, sent, received)
			if back >= 0 {
				send(back, received, received+clock.TimelineTime(link.Back.Draw(random)))
			}
		}
	}
	return p, func(clock int, host clock.HostTime) clock.TimelineTime { return t.Hosts[clock].Inverse(host) }
}

// On returns what the reference's clock showed at the true instant of another clock's stamp: where an alignment to that
// reference should put the stamp.
func (t Traffic) On(reference, number int, host clock.HostTime) clock.TimelineTime {
	return clock.TimelineTime(t.Hosts[reference].At(t.Hosts[number].Inverse(host)))
}
