package main

import (
	"cmp"
	"slices"
)

// stream is one TCP connection: from sends, the other end acknowledges.
type stream struct {
	*world
	class class
	port  uint16
	seq   [2]uint32
	six   bool
	ids   [2]uint16
	base  [2]uint32 // of the timestamps
	tick  int64
	sack  uint32 // of the next acknowledgement
}

func (w *world) stream(c class) *stream {
	s := &stream{world: w, class: c, port: w.nextPort(), six: c == tcpSix, tick: 1_000_000}
	s.seq = [2]uint32{w.Uint32(), w.Uint32()}
	if w.adverse != nil { // it begins anew soon
		s.seq[0] |= 0xfff00000
	}
	s.ids = [2]uint16{uint16(w.Uint32()), uint16(w.Uint32())}
	s.base = [2]uint32{w.Uint32(), w.Uint32()}
	return s
}

// segment sends one packet of a connection.
func (s *stream) segment(from int, at int64, seq, ack uint32, flags uint8, length int) (int64, bool) {
	p := packet{from: from, sourcePort: s.port, port: 80, protocol: protocolTCP, seq: seq, ack: ack, flags: flags, length: length, six: s.six, window: 500}
	if from == 1 {
		p.sourcePort, p.port = p.port, p.sourcePort
	}
	if s.class == tcpLinux {
		s.ids[from]++
		p.id = s.ids[from]
	}
	if s.class != tcpPlain {
		p.stamps, p.sack = true, s.sack
		p.tsVal = s.base[from] + uint32(at/s.tick)
		p.tsEcho = s.base[1-from] + uint32((at-s.delay)/s.tick)
	}
	return s.send(s.class, at, p)
}

// open makes the connection; it gives up nothing.
func (s *stream) open(at int64) int64 {
	for {
		arrived, ok := s.segment(0, at, s.seq[0], 0, syn, 0)
		if ok {
			if back, ok := s.segment(1, arrived+5_000, s.seq[1], s.seq[0]+1, syn|ack, 0); ok {
				s.seq[0]++
				s.seq[1]++
				s.segment(0, back+5_000, s.seq[0], s.seq[1], ack, 0)
				return back + 10_000
			}
		}
		at += 1_000_000_000
	}
}

// transfer sends many segments one way, and again what is lost, some in vain.
func (w *world) transfer(c class, at int64) {
	s := w.stream(c)
	at = s.open(at)
	trip := 2 * (w.delay + w.jitter)
	type due struct {
		at    int64
		index int
		tries int
	}
	var queue []due
	n, window := 100+w.IntN(4000), 1+w.IntN(40)
	for i := range n {
		if i%window == 0 {
			at += trip
		}
		at += 1_000 + w.Int64N(12_000)
		queue = append(queue, due{at, i, 0})
	}
	type arrival struct {
		at    int64
		index int
	}
	var arrivals []arrival
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		when, ok := s.segment(0, d.at, s.seq[0]+uint32(1448*d.index), s.seq[1], ack, 1448)
		if ok {
			arrivals = append(arrivals, arrival{when, d.index})
		}
		if !ok || d.tries == 0 && w.IntN(100) == 0 { // lost, or repeated in vain
			again := due{d.at + trip/2 + w.Int64N(trip), d.index, d.tries + 1}
			if (d.index+1)%window == 0 && w.IntN(2) == 0 {
				again.at += 200_000_000
			}
			place, _ := slices.BinarySearchFunc(queue, again, func(a, b due) int { return cmp.Compare(a.at, b.at) })
			queue = slices.Insert(queue, place, again)
		}
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	have := make([]bool, n+1)
	next := 0
	for k, a := range arrivals {
		have[a.index] = true
		for have[next] {
			next++
		}
		if k%2 == 0 || next != a.index+1 {
			if s.sack = 0; next != a.index+1 {
				s.sack = s.seq[0] + uint32(1448*a.index)
			}
			s.segment(1, a.at+2_000+w.Int64N(30_000), s.seq[1], s.seq[0]+uint32(1448*next), ack, 0)
		}
	}
}

// requests sends small segments there and back, each the last one in flight.
func (w *world) requests(c class, at int64) {
	s := w.stream(c)
	at = s.open(at)
	deliver := func(from, length int) {
		for {
			arrived, ok := s.segment(from, at, s.seq[from], s.seq[1-from], ack|psh, length)
			if ok {
				if back, ok := s.segment(1-from, arrived+3_000, s.seq[1-from], s.seq[from]+uint32(length), ack, 0); ok {
					at = max(arrived+20_000, back)
					break
				}
			}
			at += s.timeout()
		}
		s.seq[from] += uint32(length)
	}
	for range 20 + w.IntN(1000) {
		deliver(0, 20+w.IntN(300))
		deliver(1, 20+w.IntN(1000))
		at += w.Int64N(5_000_000)
	}
}
