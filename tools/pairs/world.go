package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// class is a habit of traffic, as the score lists it.
type class int

const (
	tcpLinux  class = iota // identification and timestamps
	tcpSix                 // IPv6: timestamps alone
	tcpPlain               // neither
	udpOwn                 // datagrams of different content
	udpNumber              // constant content, identification counts up
	icmpEcho
	dns       // one question each, repeated when nothing answers
	udpRepeat // datagrams repeated soon after, as nothing tells
	udpSame   // constant content, nothing tells
	classes
)

var classNames = [...]string{"TCP", "TCP over IPv6", "TCP, no options", "UDP", "UDP, same content", "ICMP", "DNS", "UDP repeated", "UDP alike"}

// habits of captures that hold frames twice.
const (
	single  = iota
	mirror  // the same frame twice
	tagged  // with a VLAN tag, and without
	routed  // before and after a router on the host: other addresses of the link, one hop less
	cooked  // -i any: in and out
	doubles // number of them
)

// habit of one capture.
type habit struct {
	loss    float64
	snap    int
	doubled int
	offset  int64
	*clockHabit
	burst int64 // length of the times in which all or nothing is lost, ns; 0 where each frame is lost for itself
}

// world is what happens between two hosts, 0 and 1.
type world struct {
	*rand.Rand
	seed    uint64
	habits  [2]habit
	loss    float64 // of the network
	repeats float64 // of the network
	jitter  int64
	delay   int64
	repeat  float64 // share of datagrams that their application sends again
	after   int64   // and when
	sent    []sending
	ports   uint16
	ids     [2]uint16
	adverse *adverse // nil in worlds of every day
}

// sending is a packet that left a host.
type sending struct {
	packet
	class   class
	at      int64
	arrived []int64 // none if it was lost
}

func newWorld(seed uint64, hostile bool) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 77)), seed: seed, ports: 20000}
	losses := []float64{0, 0, 0.001, 0.005, 0.02, 0.1}
	for i := range w.habits {
		w.habits[i] = habit{loss: pick(w, losses), snap: pick(w, []int{96, 128, 65535}), offset: w.Int64N(7_200_000_000_000) - 3_600_000_000_000}
		if w.IntN(3) == 0 {
			w.habits[i].doubled = w.IntN(doubles)
		}
	}
	w.loss = pick(w, []float64{0, 0, 0.001, 0.01, 0.1})
	w.repeats = pick(w, []float64{0, 0, 0, 0.001, 0.01})
	w.delay = pick(w, []int64{15_000, 100_000, 1_000_000, 20_000_000})
	w.jitter = 1 + pick(w, []int64{0, 0, w.delay / 100, w.delay / 10, w.delay, 5 * w.delay})
	w.repeat = pick(w, []float64{0.001, 0.01, 0.1, 0.1, 0.5})
	w.after = pick(w, []int64{350_000, 350_000, 5_000, 20_000_000, 1_000_000_000})
	pieces := 2 + w.IntN(6)
	if hostile {
		w.beAdverse()
	}
	for range pieces {
		w.traffic()
		if hostile {
			w.adverseTraffic()
		}
	}
	slices.SortStableFunc(w.sent, func(a, b sending) int { return cmp.Compare(a.at, b.at) })
	return w
}

func (w *world) about() string {
	return fmt.Sprintf("captures lose %v and %v, hold frames as %d and %d; network loses %v, repeats %v, delay %d +- %d; %v repeated after %d",
		w.habits[0].loss, w.habits[1].loss, w.habits[0].doubled, w.habits[1].doubled, w.loss, w.repeats, w.delay, w.jitter, w.repeat, w.after)
}

func pick[T any](w *world, list []T) T { return list[w.IntN(len(list))] }

// send notes a packet that leaves, and returns when it arrives first.
func (w *world) send(c class, at int64, p packet) (arrived int64, ok bool) {
	s := sending{packet: p, class: c, at: at}
	if w.Float64() >= w.loss {
		s.arrived = append(s.arrived, at+w.delay+w.Int64N(w.jitter)+w.tail())
		if w.Float64() < w.repeats {
			s.arrived = append(s.arrived, s.arrived[0]+1+w.Int64N(w.jitter+1000))
		}
	}
	w.sent = append(w.sent, s)
	if s.arrived == nil {
		return 0, false
	}
	return s.arrived[0], true
}

// traffic adds one piece of traffic.
func (w *world) traffic() {
	start := w.Int64N(2_000_000_000)
	switch w.IntN(8) {
	case 0:
		w.transfer(tcpLinux, start)
	case 1:
		w.transfer(tcpSix, start)
	case 2:
		if w.IntN(3) == 0 {
			w.transfer(tcpPlain, start)
		} else {
			w.requests(pick(w, []class{tcpLinux, tcpLinux, tcpSix}), start)
		}
	case 3:
		w.datagrams(udpOwn, start)
	case 4:
		w.datagrams(pick(w, []class{udpNumber, icmpEcho}), start)
	case 5:
		w.questions(start)
	case 6:
		w.datagrams(udpRepeat, start)
	case 7:
		w.datagrams(pick(w, []class{icmpEcho, udpOwn, udpSame}), start)
	}
}

func (w *world) nextPort() uint16 {
	w.ports++
	return w.ports
}

// datagrams sends many of one flow, which are answered where the class says so.
func (w *world) datagrams(c class, at int64) {
	p := packet{from: w.IntN(2), sourcePort: w.nextPort(), port: 4000 + uint16(c), protocol: protocolUDP, length: 20 + w.IntN(1200), content: w.Uint64(), six: w.IntN(4) == 0}
	if c == icmpEcho {
		p.protocol, p.port = protocolICMP, 0
	}
	p.six = p.six && c != udpNumber
	n, pause := 50+w.IntN(6000), pick(w, []int64{3_000, 50_000, 1_000_000, 10_000_000})
	numbered := c == udpNumber || c == udpOwn && w.IntN(2) == 0
	for i := range n {
		at += 1 + w.Int64N(2*pause)
		if c != udpNumber && c != udpSame {
			p.content = w.Uint64()
		}
		if p.id = 0; numbered {
			w.ids[p.from]++
			p.id = w.ids[p.from]
		}
		p.echo = uint16(i)
		arrived, ok := w.send(c, at, p)
		if c == udpRepeat && w.Float64() < w.repeat {
			w.send(c, at+w.again(), p)
			if w.IntN(20) == 0 {
				w.send(c, at+2*w.after, p)
			}
		}
		if ok && (c == icmpEcho || c == udpOwn && i%3 == 0) {
			w.send(c, arrived+10_000, p.answer(w))
		}
	}
}

func (p packet) answer(w *world) packet {
	p.from, p.sourcePort, p.port = 1-p.from, p.port, p.sourcePort
	p.reply = true
	if p.protocol == protocolUDP {
		p.content = w.Uint64()
	}
	return p
}

// questions are short: one datagram and its answer, sent again as it stands where that does not come.
func (w *world) questions(at int64) {
	from := w.IntN(2)
	for range 20 + w.IntN(2000) {
		at += 1 + w.Int64N(4_000_000)
		p := packet{from: from, sourcePort: w.nextPort(), port: 53, protocol: protocolUDP, length: 30 + w.IntN(40), content: w.Uint64()}
		for try := range int64(3) {
			when := at + try*w.timeout()
			arrived, ok := w.send(dns, when, p)
			if !ok {
				continue
			}
			a := p.answer(w)
			a.content = p.content + 1
			if _, ok := w.send(dns, arrived+20_000, a); ok {
				break
			}
		}
	}
}

func (w *world) timeout() int64 { return 5*(w.delay+w.jitter) + 1_000_000 }
