package kernel

import "encoding/binary"

// stampSorter puts the records of one processor in the order of their stamps.
//
// A program first reserves space in the ring and then reads the clock. An interrupt between the two writes its own records
// behind that space, with earlier stamps. These are complete before the interrupted program goes on. So the records that
// belong before a record stand directly behind it, and they can be read whenever it can be read:
//
//	ring:   a 100   b 60   c 70   d 110       order: b c a, passed on when d is read or the ring is empty
//
// So a record waits until a later one is read; mostly one waits at a time. A kernel that lets threads preempt the programs
// can break this by a few us. Such a stamp is raised to the one before it and counted: the stamps of a stream must not decrease.
type stampSorter struct {
	waiting [][]byte // in the order of their stamps
	free    [][]byte
	last    uint64 // the greatest stamp passed on
	late    uint64 // stamps that were raised
}

// maxWaiting bounds the memory that invalid records can take.
const maxWaiting = 1 << 10

// buffer returns an empty buffer for the next record, which put takes over.
func (s *stampSorter) buffer() []byte {
	if n := len(s.free); n > 0 {
		b := s.free[n-1]
		s.free = s.free[:n-1]
		return b[:0]
	}
	return make([]byte, 0, 512)
}

func stampOf(record []byte) uint64 { return binary.LittleEndian.Uint64(record) }

// put takes the next record of the ring, at least headSize bytes, and passes on the records that precede all later ones.
func (s *stampSorter) put(record []byte, each func(stamp uint64, record []byte) error) error {
	t, n := stampOf(record), len(s.waiting)
	var err error
	if n > 0 && (t > stampOf(s.waiting[n-1]) || n == maxWaiting) { // one of the same stamp may have been interrupted itself
		err, n = s.flush(each), 0
	}
	at := n
	for at > 0 && stampOf(s.waiting[at-1]) > t {
		at--
	}
	s.waiting = append(s.waiting, nil)
	copy(s.waiting[at+1:], s.waiting[at:n])
	s.waiting[at] = record
	return err
}

// flush passes on all waiting records: those read from now on are later.
func (s *stampSorter) flush(each func(stamp uint64, record []byte) error) error {
	var first error
	for _, record := range s.waiting {
		s.free = append(s.free, record)
		if first != nil {
			continue // the caller has ended the reading
		}
		t := stampOf(record)
		if t < s.last {
			t = s.last
			s.late++
		}
		s.last = t
		first = each(t, record)
	}
	s.waiting = s.waiting[:0]
	return first
}
