package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"meridian/internal/retention"
)

// shardFile is the file of a shard's packets.
type shardFile struct {
	mu                     sync.Mutex // the recorder's goroutine writes, any other may remove
	shard                  int
	file                   chunkFile
	sequence               uint64 // of the next packet
	skipped                uint64 // packets that are missing before it
	last                   uint64 // stamp, on the trace's clock
	position               uint64 // of the shard, up to which its events are in a trace
	discarded, overwritten uint64 // what was told of so far
}

// write writes packets of events, which end at a position of the shard, or one without events.
func (d *drain) write(s *shardFile, events []byte, position, discarded uint64) error {
	if skipped := s.skipped; s.file.fresh() && (skipped > 0 || discarded > s.discarded) {
		s.skipped = 0
		if err := d.write(s, nil, s.position, s.discarded); err != nil { // see chunkFile
			return err
		}
		s.skipped = skipped
	}
	d.split(s, events, position, discarded, s.skipped)
	made := d.packets.made
	of := retention.Span{Packets: uint64(len(made)), Begin: made[0].first, End: made[len(made)-1].last}
	for i := range made {
		of.Events += uint64(made[i].events)
	}
	n, err := s.file.append(d.packets.bytes(), of)
	for i := range made { // also where there was no room for all
		if m := &made[i]; m.end-d.packets.from <= n {
			s.written(m, &d.counts)
		}
	}
	d.counts.Bytes += uint64(n)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// written notes a packet that is in the file.
func (s *shardFile) written(m *madePacket, counts *Counts) {
	s.sequence, s.skipped = m.sequence+1, 0
	s.last, s.position = m.last, max(s.position, m.position)
	if m.discarded > s.discarded {
		counts.Lost += m.discarded - s.discarded
		s.discarded = m.discarded
	}
	counts.Events += uint64(m.events)
	counts.Packets++
}

// appendEvents appends events as they lie in the ring, on the trace's clock and without their lengths, which a reader of
// CTF knows from the classes. It returns those that would pass a limit. Stamps that lie before the one ahead, which readers do
// not bear, are raised to it: a goroutine's next event may be on another core, whose counter may be a few cycles behind.
func (d *drain) appendEvents(b, events []byte, last uint64, limit int) (_, rest []byte, _ uint64, count int) {
	le := binary.LittleEndian
	for len(events) >= eventHead {
		size := int(le.Uint16(events[10:]))
		if size < eventHead || size > len(events) {
			return b, nil, last, count
		}
		if len(b)+size-2 > limit {
			return b, events, last, count
		}
		last = max(last, d.at(le.Uint64(events)))
		b = le.AppendUint64(b, last)
		b = append(b, events[8], events[9])
		if class := int(le.Uint16(events[8:])); class < len(d.tests) && d.tests[class] != nil {
			if t := d.tests[class].met(events[eventHead:size]); t != nil {
				d.met(t)
			}
		}
		b = append(b, events[eventHead:size]...)
		events = events[size:]
		count++
	}
	return b, nil, last, count
}

// full says what to do where there is no room.
func full(err error) error {
	if noRoom(err) {
		return fmt.Errorf("%w: the recording has ended, and the trace up to here is complete; free space and record to the same directory again: events that programs emit meanwhile stay in their rings", err)
	}
	return err
}

func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
