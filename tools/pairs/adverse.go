package main

import "math"

// Worlds that are made to deceive: clocks that run apart and are set, captures that lose all of some milliseconds, delays with a heavy
// tail, repeats at any distance, and connections that send the same again and again.

// adverse is what such a world does.
type adverse struct {
	tail   float64 // greatest part of a delay's tail, in jitters
	repeat int64   // mean time after which a datagram is sent again; 0 where it is constant
}

// clockHabit is how a clock departs from the time.
type clockHabit struct {
	rate float64 // relative
	set  int64   // by so much
	from int64   // and from then on
}

func (c *clockHabit) clock(at int64) int64 {
	if c == nil {
		return at
	}
	shown := at + int64(c.rate*float64(at))
	if at >= c.from {
		shown += c.set
	}
	return shown
}

func (w *world) beAdverse() {
	w.adverse = &adverse{tail: pick(w, []float64{0, 0, 1, 10}), repeat: pick(w, []int64{0, 20_000, 1_000_000, 50_000_000})}
	for i := range w.habits {
		w.habits[i].clockHabit = &clockHabit{rate: pick(w, []float64{0, 1e-6, 5e-5, -2e-4}), set: pick(w, []int64{0, 0, 0, 50_000, 3_000_000, 700_000_000}),
			from: w.Int64N(4_000_000_000)}
		w.habits[i].burst = pick(w, []int64{0, 0, 100_000, 5_000_000})
	}
}

// missed tells whether host h's capture misses a frame at an instant.
func (w *world) missed(h int, at int64) bool {
	habit := &w.habits[h]
	if habit.burst == 0 {
		return w.Float64() < habit.loss
	}
	x := (w.seed*2+uint64(h))*0x9e3779b97f4a7c15 + uint64(at/habit.burst)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11)/(1<<53) < habit.loss
}

// tail returns by how much a packet is late for once.
func (w *world) tail() int64 {
	if w.adverse == nil || w.adverse.tail == 0 {
		return 0
	}
	return int64(min(1000, math.Pow(w.Float64(), -1/1.5)-1) * 0.05 * w.adverse.tail * float64(w.jitter+w.delay/10))
}

// again returns after what time an application sends a datagram again.
func (w *world) again() int64 {
	if w.adverse == nil || w.adverse.repeat == 0 {
		return w.after
	}
	return 1 + int64(w.ExpFloat64()*float64(w.adverse.repeat))
}

func (w *world) adverseTraffic() {
	start := w.Int64N(2_000_000_000)
	c := pick(w, []class{tcpLinux, tcpSix, tcpPlain, tcpPlain})
	switch w.IntN(3) {
	case 0:
		w.requests(c, start)
	case 1:
		w.probes(c, start)
	case 2:
		w.bursts(start)
	}
}

// probes keeps a connection alive, or asks a closed window: the same byte or none, again and again, and the same answer.
func (w *world) probes(c class, at int64) {
	s := w.stream(c)
	at = s.open(at)
	pause, grows := pick(w, []int64{2_000_000, 200_000_000, 1_000_000_000}), w.IntN(2) == 0
	for range 5 + w.IntN(40) {
		length := w.IntN(2)
		for range 1 + w.IntN(12) {
			arrived, ok := s.segment(0, at, s.seq[0]-1, s.seq[1], ack, length)
			if ok {
				s.segment(1, arrived+3_000, s.seq[1], s.seq[0], ack, 0)
			}
			if at += pause; grows {
				at += pause
			}
		}
		for { // the window opens
			arrived, ok := s.segment(0, at, s.seq[0], s.seq[1], ack|psh, 100)
			at += s.timeout()
			if ok {
				s.segment(1, arrived+3_000, s.seq[1], s.seq[0]+100, ack, 0)
				break
			}
		}
		s.seq[0] += 100
	}
}

// bursts sends every datagram several times, at distances of its own.
func (w *world) bursts(at int64) {
	p := packet{from: w.IntN(2), sourcePort: w.nextPort(), port: 4000 + uint16(udpRepeat), protocol: protocolUDP, length: 100}
	mean := pick(w, []float64{0.3, 1, 3, 30}) * float64(w.delay+w.jitter)
	for range 200 + w.IntN(3000) {
		at += 1 + w.Int64N(2_000_000)
		p.content = w.Uint64()
		when := at
		for range 1 + w.IntN(3) {
			w.send(udpRepeat, when, p)
			when += 1 + int64(w.ExpFloat64()*mean)
		}
	}
}
