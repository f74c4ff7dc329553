package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"meridian/clock"
	"meridian/sensor/ring"
	"meridian/trace"
)

// drain records the events of a ring.
type drain struct {
	reader   *ring.Reader
	info     ring.Info
	t        *hostTrace
	line     *line
	past     *line // for stamps before the line's first reading; nil for none
	warnings *trace.Warnings

	class   int    // of its streams, as an index into the metadata's
	id      uint64 // its number
	classes int    // of events, in the metadata as it is written
	wanted  []Trigger
	checks  *triggerChecks
	tests   []*ringTriggers // by class; nil without triggers
	met     func(*Trigger)
	shards  []*shardFile
	taken   []int        // bytes of each shard in this pass
	head    []byte       // of each packet
	packets *pagePackets // of the trace
	counts  Counts
	broken  error // the ring cannot be read further
	removed bool  // the ring's file was removed
}

func newDrain(reader *ring.Reader, t *hostTrace, times *times, o *Options, s *snapshots) (*drain, error) {
	d := &drain{reader: reader, info: reader.Info(), t: t, warnings: o.Warnings, class: -1, wanted: o.Trigger, checks: s.checks, met: s.triggered}
	var err error
	if d.line, err = times.line(clock.Source(d.info.Clock.Kind)); err != nil {
		return nil, err
	}
	d.past = past(reader, d.line)
	d.shards, d.taken = make([]*shardFile, d.info.Shards), make([]int, d.info.Shards)
	if class, ok := t.old[d.info.UUID]; ok {
		d.class, d.id = class, t.id(class)
	}
	d.counts.Name, d.counts.PID = d.info.Program, d.info.PID
	if err := d.declare(); err != nil {
		return nil, err
	}
	d.packets, d.head = &t.packets, packetHead(t.m.UUID, d.id, &d.info)
	// What an earlier recorder wrote is known before anything is read: so is what it told of.
	for shard := range d.shards {
		at, ok := t.tails[tailKey{d.info.UUID, uint64(shard)}]
		if !ok {
			continue
		}
		s := d.shard(shard)
		s.sequence, s.last, s.position, s.discarded = at.sequence, at.last, at.position, at.discarded
		s.file.resume(at.path, at.size)
		if consumed := reader.Position(shard); consumed < at.position {
			s.overwritten = at.position - consumed // these may be overwritten: they are in the trace
		}
	}
	return d, nil
}

// declare adds the ring's classes to the trace's metadata, which the caller then writes.
func (d *drain) declare() error {
	// Classes first: one that is registered between the two calls is then in the text only, and is added the next time.
	classes := d.reader.Classes()
	c, slots, err := d.t.declared(d.info, classes, d.reader.Metadata())
	if err != nil {
		return err
	}
	if d.class < 0 {
		d.class = d.t.add(c, slots)
		d.id = d.t.id(d.class)
	} else {
		d.t.replace(d.class, c, slots)
	}
	d.classes = len(classes)
	if len(d.wanted) > 0 {
		d.tests = make([]*ringTriggers, len(classes))
		for i := range c.Events {
			d.tests[c.Events[i].ID] = triggersOfRing(d.wanted, &c, &c.Events[i], d.checks)
		}
	}
	return nil
}

// ended reports whether the ring will get no more events. That its program was killed is found only with alive, which asks the
// system: some 20 us.
func (d *drain) ended(alive bool) bool { return d.reader.Closed() || alive && !d.reader.Alive() }

// pass records the events in the ring and returns the share in use of the fullest shard. An error means that the trace cannot
// be written; damage of the ring is a warning.
func (d *drain) pass() (full float64, err error) {
	var p ring.Packet
	clear(d.taken)
	if err := d.reader.Round(); err != nil {
		d.broken = err
		return 0, nil
	}
	for n := range d.info.Shards * d.info.Buffers {
		if n%16 == 15 && !d.commit() { // the ring need not keep what is written
			return 0, nil
		}
		ok, err := d.reader.Next(&p)
		var damage *ring.DamageError
		switch {
		case errors.As(err, &damage):
			d.warnings.Add(d.info.Path, "part of the ring was damaged and not recorded", err.Error())
			d.counts.Damaged++
			continue
		case err != nil:
			d.broken = err
			return 0, nil
		case !ok:
			d.commit()
			return full, nil
		}
		if err := d.take(&p); err != nil || d.broken != nil {
			return full, err
		}
		d.taken[p.Shard] += len(p.Events)
		full = max(full, float64(d.taken[p.Shard])/float64(d.info.Buffers*d.info.BufferSize))
	}
	d.commit()
	return 1, nil // there may be more
}

func (d *drain) commit() bool {
	if err := d.reader.Commit(); err != nil {
		d.broken = err
	}
	return d.broken == nil
}

// take writes what is in a packet of the ring.
func (d *drain) take(p *ring.Packet) error {
	s := d.shard(p.Shard)
	s.mu.Lock()
	defer s.mu.Unlock()
	events := d.fresh(s, p)
	if highest(events) >= d.classes {
		if err := d.declare(); err != nil {
			d.broken = err
			return nil
		}
		if err := d.t.writeMetadata(); err != nil {
			return err
		}
	}
	if p.Overwritten > s.overwritten {
		lost := p.Overwritten - s.overwritten
		d.counts.Overwritten += lost
		size := uint64(d.info.BufferSize)
		s.skipped += (lost + size - 1) / size // readers count missing packets as lost
		s.overwritten = p.Overwritten
	}
	if len(events) == 0 && p.Discarded <= s.discarded {
		return nil
	}
	d.line.reach(p.Last)
	return d.write(s, events, p.Position+uint64(len(p.Events)), p.Discarded)
}

// fresh returns the events of a packet that an earlier recorder did not write.
func (d *drain) fresh(s *shardFile, p *ring.Packet) []byte {
	events, at := p.Events, p.Position
	for at < s.position && len(events) >= eventHead {
		size := uint64(binary.LittleEndian.Uint16(events[10:]))
		if size < eventHead || size > uint64(len(events)) {
			return nil
		}
		events, at = events[size:], at+size
	}
	return events
}

// shard returns the file of a shard, which may not be open yet.
func (d *drain) shard(shard int) *shardFile {
	if d.shards[shard] == nil {
		s := &shardFile{shard: shard}
		s.file = chunkFile{k: d.t.keeper, base: d.file(shard), row: d.info.Program, lock: &s.mu}
		d.shards[shard] = s
	}
	return d.shards[shard]
}

// tellDiscarded writes a packet without events for each shard that has discarded some since its last packet.
func (d *drain) tellDiscarded() error {
	for shard := range d.shards {
		n := d.reader.Discarded(shard)
		s := d.shards[shard]
		if n == 0 || s != nil && n <= s.discarded {
			continue
		}
		if err := d.tellOf(d.shard(shard), n); err != nil {
			return err
		}
	}
	return nil
}

func (d *drain) tellOf(s *shardFile, discarded uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return d.write(s, nil, s.position, discarded)
}

// finish closes the ring. With remove, for an ended program whose events are all recorded, it removes the ring.
func (d *drain) finish(remove bool) error {
	var errs []error
	if d.broken == nil {
		errs = append(errs, d.tellDiscarded())
	}
	for _, s := range d.shards {
		if s != nil {
			s.mu.Lock()
			if err := s.file.close(); err != nil {
				errs = append(errs, fmt.Errorf("record: %w", err))
			}
			s.mu.Unlock()
		}
	}
	if remove && errors.Join(errs...) == nil {
		err := d.reader.Remove()
		if d.removed = err == nil || errors.Is(err, os.ErrNotExist); !d.removed {
			d.warnings.Add(d.info.Path, "the ring of an ended program cannot be removed", err.Error())
		}
	}
	d.reader.Close()
	return errors.Join(errs...)
}

// file returns the name of a shard's file.
func (d *drain) file(shard int) string {
	return filepath.Join(d.t.dir, fmt.Sprintf("%s%d_%s_%d", sensorFiles, d.id, plain(d.info.Program), shard))
}

// plain returns a program's name as part of a file name.
func plain(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '.' {
			return c
		}
		return '-'
	}, name)
	return name[:min(len(name), 40)]
}

// eventHead is the size of an event's header in a ring: stamp, class, length.
const eventHead = 12

// highest returns the highest class among events, -1 for none.
func highest(events []byte) int {
	class := -1
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
