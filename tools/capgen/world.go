package main

import (
	"math/rand/v2"

	"meridian/clock"
)

type options struct {
	packets, connections int
	seconds              float64
	seed                 uint64
	snap                 int
}

// event is something that happens at an instant of true time: a packet arrives, or a timer of a talk runs out.
type event struct {
	at   clock.HostTime
	talk talk
	what int // a timer of the talk, or arrival
	side int // where it happens
	p    packet
}

const arrival = -1

// talk is one conversation. It reacts to timers and arrivals by sending packets and setting timers.
type talk interface {
	timer(w *world, what, side int)
	arrives(w *world, side int, p *packet)
}

// world is the simulation.
type world struct {
	options
	random *rand.Rand
	now    clock.HostTime
	events []event // a heap by time
	hosts  [2]host
	free   [2]clock.HostTime // when the last packet to each host arrives: paths keep the order
	frame  []byte
	err    error
}

// start is the true time of the beginning, an instant in 2023.
const start = clock.HostTime(1_700_000_000_000_000_000)

func newWorld(o options, outs [2]output) *world {
	w := &world{options: o, random: rand.New(rand.NewPCG(o.seed, 0x6d6572696469616e)), now: start, frame: make([]byte, 2048)}
	w.hosts[0] = newHost(w, 0, outs[0], 1_250_000_000, 22)
	w.hosts[1] = newHost(w, 1, outs[1], -3_700_000_000, -18)
	return w
}

// run plans all talks and lets time pass until both captures are full or nothing happens any more.
func (w *world) run() error {
	span := int64(w.seconds * 1e9)
	connections := max(1, min(w.connections, w.packets/100))
	// One in twenty packets is a datagram, and each host sees all of both directions.
	perConnection := float64(w.packets) * 0.95 / float64(connections)
	for i := range connections {
		c := newConnection(w, i, perConnection, span)
		at := int64(float64(span-c.life) * (float64(i) + w.random.Float64()) / float64(connections))
		w.after(at, c, opening, c.client)
	}
	datagrams := newDatagrams(w, float64(w.packets)*0.05, span)
	w.after(0, datagrams, nextQuery, 0)
	for len(w.events) > 0 && w.err == nil {
		e := w.pop()
		w.now = e.at
		if e.what != arrival {
			e.talk.timer(w, e.what, e.side)
			continue
		}
		w.capture(e.side, &e.p)
		e.talk.arrives(w, e.side, &e.p)
	}
	return w.err
}

// after sets a timer.
func (w *world) after(delay int64, t talk, what, side int) {
	w.push(event{at: w.now + clock.HostTime(delay), talk: t, what: what, side: side})
}

// send lets a packet leave a host, and arrive at the other unless it is lost.
func (w *world) send(t talk, from int, p *packet, lost bool) {
	h := &w.hosts[from]
	p.from = from
	p.id = h.id
	h.id++
	w.capture(from, p)
	if lost {
		return
	}
	// The way has a minimum, different in each direction, and queues that are mostly short.
	minimum := [2]int64{85_000, 110_000}[from]
	queue := int64(w.random.ExpFloat64() * 20_000)
	if w.random.IntN(2000) == 0 {
		queue += int64(w.random.ExpFloat64() * 2_000_000)
	}
	to := 1 - from
	at := max(w.now+clock.HostTime(minimum)+clock.HostTime(queue), w.free[to]+clock.HostTime(p.wire()*8))
	w.free[to] = at
	w.push(event{at: at, talk: t, what: arrival, side: to, p: *p})
}

// capture writes a packet as a host sees it now.
func (w *world) capture(side int, p *packet) {
	h := &w.hosts[side]
	if h.count == w.packets {
		return
	}
	h.count++
	n := p.build(w.frame[:min(w.snap, 2048)])
	if err := h.out.write(h.clock(w.now), w.frame[:n], p.wire()); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *world) push(e event) {
	w.events = append(w.events, e)
	h := w.events
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 2
		if h[p].at <= e.at {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = e
}

func (w *world) pop() event {
	h := w.events
	first := h[0]
	n := len(h) - 1
	e := h[n]
	h = h[:n]
	w.events = h
	if n == 0 {
		return first
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h[c+1].at < h[c].at {
			c++
		}
		if h[c].at >= e.at {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = e
	return first
}
