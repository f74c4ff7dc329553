package sensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"meridian/clock"
	"meridian/sensor/ring"
)

// traceFile writes the packets of a ring as a directory in CTF 1.8:
//
//	DIR/metadata        in TSDL: clock, streams, classes; written anew whenever there are new classes
//	    sensor_N        the packets of shard N
//
//	packet header    magic 4, uuid 16, stream_id 4, stream_instance_id 8
//	packet context   timestamp_begin 8, timestamp_end 8, content_size 8, packet_size 8 (bits), packet_seq_num 8,
//	                 events_discarded 8, crc32c 4, row, row_kind, row_id 8
//	event            timestamp 8, id 2, context, fields
//
// crc32c is of the events. What was overwritten before it was read is missing among the sequence numbers. The directory
// is good at any instant: metadata is put in place whole and before the first packet that needs it, and a packet cut
// short costs itself.
type traceFile struct {
	dir     string
	info    ring.Info
	host    string
	title   string
	hz      clock.Frequency
	origin  int64
	streams map[int]*streamFile
	classes int // in the metadata that was written last
	packet  []byte
}

// streamFile is the file of a shard.
type streamFile struct {
	f                      *os.File
	size                   int64
	sequence               uint64
	last                   uint64 // stamp
	discarded, overwritten uint64
}

// newTraceFile begins a trace in a directory that has none.
func newTraceFile(dir string, info ring.Info, o Options) (*traceFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("sensor: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "metadata")); !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("sensor: %s: there is a trace already; name another directory or remove it", dir)
	}
	t := &traceFile{dir: dir, info: info, host: o.Host, title: o.Title, origin: info.Clock.Origin, streams: map[int]*streamFile{}}
	if t.host == "" {
		t.host, _ = os.Hostname()
	}
	hz := float64(info.Clock.Frequency)
	off := hz * float64(info.Clock.FrequencyError) * 1e-12
	t.hz = clock.Frequency{Hz: hz, Low: hz - off, High: hz + off}
	if info.Clock.Frequency == 0 {
		return nil, fmt.Errorf("sensor: %s: the ring's clock has a frequency of 0 Hz", info.Path)
	}
	return t, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// write writes a packet of the ring.
func (t *traceFile) write(p *ring.Packet) error {
	s, err := t.stream(p.Shard)
	if err != nil {
		return err
	}
	if p.Overwritten > s.overwritten {
		size := uint64(t.info.BufferSize)
		s.sequence += (p.Overwritten - s.overwritten + size - 1) / size
		s.overwritten = p.Overwritten
	}
	return t.append(s, p.Shard, max(s.last, p.First), p.Discarded, p.Events)
}

// append writes a packet that begins at a stamp.
func (t *traceFile) append(s *streamFile, shard int, first, discarded uint64, events []byte) error {
	le := binary.LittleEndian
	b := le.AppendUint32(t.packet[:0], 0xc1fc1fc1)
	b = append(b, t.info.UUID[:]...)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, uint64(shard))
	context := len(b)
	b = le.AppendUint64(b, first)
	b = append(b, make([]byte, 24)...) // end and sizes
	b = le.AppendUint64(b, s.sequence)
	b = le.AppendUint64(b, discarded)
	b = append(b, make([]byte, 4)...) // checksum
	b = append(append(b, strings.ReplaceAll(t.info.Program, "\x00", "")...), 0)
	b = append(append(b, "process"...), 0)
	b = le.AppendUint64(b, uint64(t.info.PID))
	content := len(b)
	b = s.appendEvents(b, events)
	le.PutUint64(b[context+8:], s.last)
	le.PutUint64(b[context+16:], uint64(len(b))*8)
	le.PutUint64(b[context+24:], uint64(len(b))*8)
	le.PutUint32(b[context+48:], crc32.Checksum(b[content:], castagnoli))
	t.packet = b
	s.sequence++
	s.discarded = discarded
	if _, err := s.f.Write(b); err != nil {
		// Half a packet would keep other readers from those before it.
		return fmt.Errorf("sensor: %w", errors.Join(err, s.f.Truncate(s.size)))
	}
	s.size += int64(len(b))
	return nil
}

// appendEvents appends events as they lie in the ring without their lengths, which a reader of CTF knows from the classes.
// Stamps that lie before the one ahead, which readers do not bear, are raised to it: a goroutine's next event may be on another
// core, whose counter may be a few cycles behind.
func (s *streamFile) appendEvents(b, events []byte) []byte {
	for len(events) >= eventHead {
		s.last = max(s.last, binary.LittleEndian.Uint64(events))
		size := int(binary.LittleEndian.Uint16(events[10:]))
		if size < eventHead || size > len(events) {
			break
		}
		b = binary.LittleEndian.AppendUint64(b, s.last)
		b = append(b, events[8], events[9])
		b = append(b, events[eventHead:size]...)
		events = events[size:]
	}
	return b
}

// highest returns the highest class among events.
func highest(events []byte) (class int) {
	for len(events) >= eventHead {
		class = max(class, int(binary.LittleEndian.Uint16(events[8:])))
		size := int(binary.LittleEndian.Uint16(events[10:]))
		if size < eventHead || size > len(events) {
			break
		}
		events = events[size:]
	}
	return class
}

// stream returns the file of a shard.
func (t *traceFile) stream(shard int) (*streamFile, error) {
	if s := t.streams[shard]; s != nil {
		return s, nil
	}
	f, err := os.OpenFile(filepath.Join(t.dir, fmt.Sprintf("sensor_%d", shard)), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sensor: %w", err)
	}
	s := &streamFile{f: f}
	t.streams[shard] = s
	return s, nil
}

// finish tells of events that were discarded behind the last packets, or where there are none, and closes the files.
func (t *traceFile) finish(discarded func(shard int) uint64) error {
	var failed []error
	latest := uint64(0)
	for _, s := range t.streams {
		latest = max(latest, s.last)
	}
	for shard := range t.info.Shards {
		n := discarded(shard)
		if n == 0 || t.streams[shard] != nil {
			continue
		}
		s, err := t.stream(shard)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		s.last = latest
	}
	for shard, s := range t.streams {
		if n := discarded(shard); n > s.discarded {
			failed = append(failed, t.append(s, shard, s.last, n, nil))
		}
		failed = append(failed, s.f.Close())
	}
	return errors.Join(failed...)
}
