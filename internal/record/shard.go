package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"
	"syscall"

	"meridian/clock"
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

// write writes a packet of events, which end at a position of the shard.
func (d *drain) write(s *shardFile, events []byte, position, discarded uint64) error {
	if skipped := s.skipped; s.file.fresh() && (skipped > 0 || discarded > s.discarded) {
		s.skipped = 0
		if err := d.write(s, nil, s.position, s.discarded); err != nil { // see chunkFile
			return err
		}
		s.skipped = skipped
	}
	s.sequence, s.skipped = s.sequence+s.skipped, 0
	le := binary.LittleEndian
	b := le.AppendUint32(d.packet[:0], packetMagic)
	b = append(b, d.t.m.UUID[:]...)
	b = le.AppendUint32(b, uint32(d.id))
	b = le.AppendUint64(b, uint64(s.shard))
	begin := len(b)
	b = append(b, make([]byte, atSequence-begin)...) // begin, end and sizes
	b = le.AppendUint64(b, s.sequence)
	b = le.AppendUint64(b, discarded)
	b = append(b, 0, 0, 0, 0) // checksum
	b = le.AppendUint64(b, binary.BigEndian.Uint64(d.info.UUID[:]))
	b = le.AppendUint64(b, binary.BigEndian.Uint64(d.info.UUID[8:]))
	b = le.AppendUint64(b, position)
	b = append(append(b, strings.ReplaceAll(d.info.Program, "\x00", "")...), 0)
	b = append(append(b, "process"...), 0)
	b = le.AppendUint64(b, uint64(d.info.PID))
	content := len(b)

	first, last := s.last, s.last
	if len(events) >= eventHead {
		first = max(first, d.at(le.Uint64(events)))
		last = first
	} else if last == 0 { // a packet that only tells of discarded events, and the first
		first = clock.Monotonic.Now()
		last = first
	}
	b, last, count := d.appendEvents(b, events, last)
	le.PutUint64(b[begin:], first)
	le.PutUint64(b[atEnd:], last)
	le.PutUint64(b[atContent:], uint64(len(b))*8)
	le.PutUint64(b[atSize:], uint64(len(b))*8)
	le.PutUint32(b[atChecksum:], crc32.Checksum(b[content:], castagnoli))
	d.packet = b
	of := retention.Span{Packets: 1, Events: uint64(count), Begin: first, End: last}
	if err := s.file.append(b, of, func([]byte) int { return 0 }); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	s.sequence++
	s.last, s.position = last, max(s.position, position)
	if discarded > s.discarded {
		d.counts.Lost += discarded - s.discarded
		s.discarded = discarded
	}
	d.counts.Events += uint64(count)
	d.counts.Bytes += uint64(len(b))
	d.counts.Packets++
	return nil
}

// appendEvents appends events as they lie in the ring, on the trace's clock and without their lengths, which a reader of
// CTF knows from the classes. Stamps that lie before the one ahead, which readers do not bear, are raised to it: a goroutine's
// next event may be on another core, whose counter may be a few cycles behind.
func (d *drain) appendEvents(b, events []byte, last uint64) (_ []byte, _ uint64, count int) {
	le := binary.LittleEndian
	for len(events) >= eventHead {
		size := int(le.Uint16(events[10:]))
		if size < eventHead || size > len(events) {
			break
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
	return b, last, count
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
