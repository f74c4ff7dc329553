package kernel

import "encoding/binary"

// queue puts the records of one processor in the order of their stamps.
//
// A program takes its record's room first and the stamp then. An interrupt between the two has its own records behind it
// in the ring, with earlier stamps. They are whole before the interrupted program goes on, so that of any record all that
// belong before it stand directly behind it and can be read as soon as it can:
//
//	ring:   a 100   b 60   c 70   d 110       read as: b c a, when d has come or the ring is empty
//
// So records are held until a later one comes, mostly a single one. A kernel that lets programs be preempted by threads
// can break this by a few us; such a stamp is raised to the one before and counted, since nobody who writes a stream
// can go back.
type queue struct {
	held [][]byte // in the order of their stamps
	free [][]byte
	last uint64 // the greatest stamp given
	late uint64 // stamps that had to be raised
}

// mostHeld bounds what a ring with nonsense in it can make us hold.
const mostHeld = 1 << 10

// room returns a buffer for the next record.
func (q *queue) room() []byte {
	if n := len(q.free); n > 0 {
		b := q.free[n-1]
		q.free = q.free[:n-1]
		return b[:0]
	}
	return make([]byte, 0, 512)
}

func stampOf(record []byte) uint64 { return binary.LittleEndian.Uint64(record) }

// put takes the next record of the ring, of headSize bytes at least, and gives those whose turn has come.
func (q *queue) put(record []byte, give func(stamp uint64, record []byte) error) error {
	t, n := stampOf(record), len(q.held)
	var err error
	if n > 0 && (t > stampOf(q.held[n-1]) || n == mostHeld) { // one of the same stamp may have been interrupted itself
		err, n = q.flush(give), 0
	}
	at := n
	for at > 0 && stampOf(q.held[at-1]) > t {
		at--
	}
	q.held = append(q.held, nil)
	copy(q.held[at+1:], q.held[at:n])
	q.held[at] = record
	return err
}

// flush gives all that is held: what is read from now on is later.
func (q *queue) flush(give func(stamp uint64, record []byte) error) error {
	var first error
	for _, record := range q.held {
		q.free = append(q.free, record)
		if first != nil {
			continue // the caller has ended the reading
		}
		t := stampOf(record)
		if t < q.last {
			t = q.last
			q.late++
		}
		q.last = t
		first = give(t, record)
	}
	q.held = q.held[:0]
	return first
}
