package main

// connection is one TCP connection: it is opened, one side sends bursts of full segments, the other acknowledges, and it
// is closed.
type connection struct {
	client     int // the host that opens it
	sender     int // the host that sends the data
	ports      [2]uint16
	next       [2]uint32 // sequence number that each side sends next
	wanted     [2]uint32 // and that it waits for
	echo       [2]uint32 // the last timestamp that it received
	life       int64
	bursts     int
	pause      int64
	unanswered int          // segments that the receiver has not acknowledged
	timer40    bool         // it will do so when the timer runs out
	gaps       [][2]uint32  // ranges that it received beyond a lost one
	again      []sentBefore // what was lost, to be sent again
	closed     [2]bool
	key        uint64
}

type sentBefore struct {
	seq    uint32
	length int
}

// Timers of a connection.
const (
	opening = iota
	bursting
	sending
	answering
	repeating
	closing
)

const segment = 1448

func newConnection(w *world, i int, packets float64, span int64) *connection {
	c := &connection{key: uint64(i) + w.seed<<32}
	if w.random.IntN(10) < 3 {
		c.client = 1
	}
	c.sender = w.random.IntN(2)
	c.ports[c.client] = uint16(10000 + i%50000)
	c.ports[1-c.client] = []uint16{80, 443, 5432, 6379}[w.random.IntN(4)]
	c.next = [2]uint32{w.random.Uint32(), w.random.Uint32()}
	// Two segments and their acknowledgement; bursts of 16 on average.
	segments := max(1, packets-8) / 1.5
	c.bursts = max(1, int(segments/16*(0.5+w.random.Float64())))
	c.life = min(span/2, 30_000_000_000)
	c.pause = c.life / int64(c.bursts+2)
	return c
}

// make returns a packet of one side as it stands.
func (c *connection) make(w *world, side int, flags uint8) packet {
	p := packet{
		sourcePort: c.ports[side], port: c.ports[1-side], flags: flags, window: 501,
		seq: c.next[side], tsEcho: c.echo[side],
		tsVal: uint32(int64(w.hosts[side].clock(w.now)) / 1_000_000),
	}
	if flags&ack != 0 {
		p.ack = c.wanted[side]
	}
	if flags&syn != 0 {
		p.window = 64240
	}
	return p
}

func (c *connection) timer(w *world, what, side int) {
	switch what {
	case opening:
		p := c.make(w, side, syn)
		c.next[side]++
		w.send(c, side, &p, false)
	case bursting:
		// A queue of the sender's card, some 12 us for each segment.
		n := 1 + w.random.IntN(31)
		for i := range n {
			w.after(int64(i)*12_000, c, sending, side)
		}
		if c.bursts--; c.bursts > 0 {
			w.after(int64(float64(c.pause)*(0.5+w.random.Float64())), c, bursting, side)
		} else {
			w.after(500_000_000, c, closing, c.client)
		}
	case sending:
		c.data(w, side, c.next[side], segment)
		c.next[side] += segment
	case repeating:
		r := c.again[0]
		c.again = c.again[1:]
		c.data(w, side, r.seq, r.length)
	case answering:
		if c.timer40 && c.unanswered > 0 {
			c.answer(w, side)
		}
		c.timer40 = false
	case closing:
		p := c.make(w, side, fin|ack)
		c.next[side]++
		c.closed[side] = true
		w.send(c, side, &p, false)
	}
}

func (c *connection) data(w *world, side int, seq uint32, length int) {
	p := c.make(w, side, ack)
	if w.random.IntN(8) == 0 {
		p.flags |= psh
	}
	p.seq, p.length = seq, length
	p.content = scramble(c.key, uint64(seq))
	lost := w.random.IntN(1000) == 0
	if lost {
		c.again = append(c.again, sentBefore{seq, length})
		w.after(700_000, c, repeating, side)
	}
	w.send(c, side, &p, lost)
}

func (c *connection) arrives(w *world, side int, p *packet) {
	c.echo[side] = p.tsVal
	switch {
	case p.flags&syn != 0 && p.flags&ack == 0:
		c.wanted[side] = p.seq + 1
		answer := c.make(w, side, syn|ack)
		c.next[side]++
		w.send(c, side, &answer, false)
	case p.flags&syn != 0:
		c.wanted[side] = p.seq + 1
		answer := c.make(w, side, ack)
		w.send(c, side, &answer, false)
		w.after(1_000_000, c, bursting, c.sender)
	case p.flags&fin != 0:
		c.wanted[side] = p.seq + 1
		if c.closed[side] {
			c.answer(w, side)
			return
		}
		c.timer(w, closing, side)
	case p.length > 0:
		c.receive(w, side, p)
	}
}

// receive takes a segment: every second one is acknowledged, at once if something is missing.
func (c *connection) receive(w *world, side int, p *packet) {
	c.unanswered++
	if p.seq == c.wanted[side] {
		c.wanted[side] += uint32(p.length)
		for len(c.gaps) > 0 && c.gaps[0][0] == c.wanted[side] {
			c.wanted[side] = c.gaps[0][1]
			c.gaps = c.gaps[1:]
		}
	} else if int32(p.seq-c.wanted[side]) > 0 {
		c.beyond(p.seq, p.seq+uint32(p.length))
	}
	if c.unanswered >= 2 || len(c.gaps) > 0 {
		c.answer(w, side)
	} else if !c.timer40 {
		c.timer40 = true
		w.after(40_000_000, c, answering, side)
	}
}

// beyond remembers a range behind a missing one. Ranges are in order and do not touch.
func (c *connection) beyond(from, to uint32) {
	i := 0
	for i < len(c.gaps) && int32(from-c.gaps[i][1]) > 0 {
		i++
	}
	switch {
	case i < len(c.gaps) && c.gaps[i][1] == from:
		c.gaps[i][1] = to
		if i+1 < len(c.gaps) && c.gaps[i+1][0] == to {
			c.gaps[i][1] = c.gaps[i+1][1]
			c.gaps = append(c.gaps[:i+1], c.gaps[i+2:]...)
		}
	case i < len(c.gaps) && c.gaps[i][0] == to:
		c.gaps[i][0] = from
	default:
		c.gaps = append(c.gaps, [2]uint32{})
		copy(c.gaps[i+1:], c.gaps[i:])
		c.gaps[i] = [2]uint32{from, to}
	}
}

func (c *connection) answer(w *world, side int) {
	c.unanswered = 0
	p := c.make(w, side, ack)
	for _, g := range c.gaps[:min(2, len(c.gaps))] {
		p.sack[2*p.blocks], p.sack[2*p.blocks+1] = g[0], g[1]
		p.blocks++
	}
	w.send(c, side, &p, false)
}
