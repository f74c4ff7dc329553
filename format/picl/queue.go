package picl

import (
	"math"
	"strconv"

	"meridian/clock"
)

// queue is what cannot be written yet because an end of a message in front of it does not know the other end.
//
//	front -> text | send 77 to ? | text | receive 78 from ? | text        entries
//	known:  flow 77 at node 0, task 2     ring of the flows met last
//
// Entries leave at the front when they are complete, or when there are too many behind them.
type queue struct {
	entries []entry
	first   int // index of the front
	held    int // bytes of texts
	known   map[uint64]*ending
	ring    []uint64 // flows in known, oldest at next
	next    int
}

// entry is text, or an end of a message.
type entry struct {
	text []byte
	end  *ending
}

type place struct{ node, task int }

// ending is an end of a message.
type ending struct {
	flow  uint64
	at    clock.TimelineTime
	bytes int64
	place
	peer  place
	sends bool
	met   bool // peer is known
}

const (
	mostWaiting = 16_384
	mostHeld    = 8 << 20
	mostKnown   = 65_536
)

func newQueue() queue { return queue{known: make(map[uint64]*ending)} }

// text puts a line at the end.
func (q *queue) text(line []byte) {
	q.held += len(line)
	if n := len(q.entries); n > q.first && q.entries[n-1].end == nil {
		q.entries[n-1].text = append(q.entries[n-1].text, line...)
		return
	}
	q.entries = append(q.entries, entry{text: append([]byte(nil), line...)})
}

// end puts an end of a message there, and tells both ends of each other if the other one is known.
func (q *queue) end(e *ending) {
	e.peer = place{-1, -1}
	q.entries = append(q.entries, entry{end: e})
	other := q.known[e.flow]
	switch {
	case e.flow == 0:
		e.met = true // nothing will come
	case other == nil:
		q.remember(e)
	case other.sends != e.sends:
		e.peer, e.met = other.place, true
		other.peer, other.met = e.place, true
	}
}

func (q *queue) remember(e *ending) {
	if len(q.ring) < mostKnown {
		q.ring = append(q.ring, e.flow)
	} else {
		delete(q.known, q.ring[q.next])
		q.ring[q.next] = e.flow
		q.next = (q.next + 1) % mostKnown
	}
	q.known[e.flow] = e
}

// everything is the instant before which all ends of messages are.
const everything = clock.TimelineTime(math.MaxInt64)

// drain writes what need not wait: ends of messages before an instant do not.
func (p *Writer) drain(before clock.TimelineTime) {
	q := &p.waiting
	for q.first < len(q.entries) {
		e := &q.entries[q.first]
		waits := e.end != nil && !e.end.met && before != everything && e.end.at >= before
		if waits && len(q.entries)-q.first <= mostWaiting && q.held <= mostHeld {
			break
		}
		text := e.text
		if e.end != nil {
			text = p.ends(e.end)
		}
		q.held -= len(e.text)
		_, err := p.out.Write(text)
		p.fail(err)
		*e = entry{}
		q.first++
	}
	if q.first == len(q.entries) {
		q.entries, q.first = q.entries[:0], 0
	} else if q.first > mostWaiting {
		n := copy(q.entries, q.entries[q.first:])
		clear(q.entries[n:])
		q.entries, q.first = q.entries[:n], 0
	}
}

// ends makes the two lines of an end of a message.
func (p *Writer) ends(e *ending) []byte {
	tag := strconv.FormatUint(e.flow&(1<<31-1), 10)
	peer := strconv.Itoa(e.peer.node) + " " + strconv.Itoa(e.peer.task)
	full := " 4 2 " + strconv.FormatInt(e.bytes, 10) + " " + tag + " " + peer + "\n"
	var lines []byte
	if e.sends {
		p.head(begin, send, e.at, e.node, e.task)
		lines = append(append(lines, p.line...), full...)
		p.head(end, send, e.at, e.node, e.task)
		return append(append(lines, p.line...), " 0\n"...)
	}
	p.head(begin, receive, e.at, e.node, e.task)
	lines = append(append(lines, p.line...), " 3 2 "+tag+" "+peer+"\n"...)
	p.head(end, receive, e.at, e.node, e.task)
	return append(append(lines, p.line...), full...)
}
