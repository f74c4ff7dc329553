package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
)

// Packet is what a shard's sub-buffer had to give: whole events, one behind another as they lie in the ring.
type Packet struct {
	Shard       int
	Position    uint64 // of the first event
	Events      []byte // valid until the next call of Next or Snapshot
	Count       int
	First, Last uint64 // stamps of the first and the last event
	Discarded   uint64 // events of this shard that the writer found no room for, so far
	Overwritten uint64 // bytes of this shard that were overwritten before this reader took them, so far (overwrite mode)
}

// DamageError says that part of a shard could not be understood and was left out. Next may be called again: it goes on
// behind it.
type DamageError struct {
	Path     string
	Shard    int
	Position uint64 // in the shard
	Offset   uint64 // in the file
	Bytes    uint64 // how many were left out; 0 where the shard is given up
	Reason   string
}

func (e *DamageError) Error() string {
	rest := fmt.Sprintf("%d bytes are left out", e.Bytes)
	if e.Bytes == 0 {
		rest = "the shard is read no further"
	}
	return fmt.Sprintf("ring: %s: shard %d, position %d (offset %d of the file): %s; %s", e.Path, e.Shard, e.Position, e.Offset, e.Reason, rest)
}

// cursor is how far a reader has got in a shard. Bytes before committed belong to the writer again; those from committed to
// position were returned by Next and are not safe yet.
type cursor struct {
	position, committed uint64
	overwritten         uint64
	givenUp             bool
}

// Next fills p with the events that are published in one sub-buffer, of each shard in turn. It returns false if there are none
// now. p.Events is valid until the next call of Next or Snapshot. After a [DamageError] Next may be called again; after
// any other error the reader is of no more use.
func (r *Reader) Next(p *Packet) (ok bool, err error) {
	if r.broken != nil {
		return false, r.broken
	}
	defer r.fault(&err, debug.SetPanicOnFault(true))
	for range r.cursors {
		i := r.turn
		r.turn = (i + 1) % len(r.cursors)
		limit := uint64(math.MaxUint64)
		if r.limits != nil {
			limit = r.limits[i]
		}
		if ok, err := r.take(i, &r.cursors[i], limit, p); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// Round begins a round: until the next, Next returns what is published by now and no more. A loop that takes all there is
// then ends while the program goes on. Without rounds Next returns a packet for nearly every event of a busy program.
func (r *Reader) Round() (err error) {
	if r.broken != nil {
		return r.broken
	}
	r.limits, err = r.produced(r.limits)
	return err
}

// Commit stores in the ring that everything Next returned is safe: no reader will see it again, and the writer may use
// its room.
func (r *Reader) Commit() (err error) {
	if r.broken != nil {
		return r.broken
	}
	defer r.fault(&err, debug.SetPanicOnFault(true))
	for i := range r.cursors {
		if at := &r.cursors[i]; at.position != at.committed && !r.watches {
			atomic.StoreUint64(word64(r.mem, r.control(i)+atConsumed), at.position)
			at.committed = at.position
		}
	}
	return nil
}

// Position returns where in a shard the next packet begins, or a later one behind what is lost by then; 0 for a shard that the
// ring does not have.
func (r *Reader) Position(shard int) uint64 {
	if shard < 0 || shard >= len(r.cursors) {
		return 0
	}
	return r.cursors[shard].position
}

// Discarded returns how many events of a shard found no room so far; 0 for a shard that the ring does not have.
func (r *Reader) Discarded(shard int) (n uint64) {
	if r.broken != nil || shard < 0 || shard >= len(r.cursors) {
		return 0
	}
	var err error
	defer r.fault(&err, debug.SetPanicOnFault(true))
	return atomic.LoadUint64(word64(r.mem, r.control(shard)+atDiscarded))
}

// Snapshot calls each with all that the ring holds at this moment and no reader has committed, in order within a shard,
// and takes nothing. Damage is returned at the end, joined ([DamageError]). Events that the writer overwrites meanwhile are
// missing at the beginning of a shard. An error of each ends the snapshot and is returned.
func (r *Reader) Snapshot(each func(*Packet) error) (err error) {
	if r.broken != nil {
		return r.broken
	}
	limits, err := r.produced(nil)
	if err != nil {
		return err
	}
	var damage []error
	for i, limit := range limits {
		at := cursor{position: r.cursors[i].committed, givenUp: r.cursors[i].givenUp}
		if err := r.snapshot(i, &at, limit, each, &damage); err != nil {
			return err
		}
	}
	return errors.Join(damage...)
}

// produced returns up to where each shard is published, in a slice that may be given.
func (r *Reader) produced(all []uint64) (_ []uint64, err error) {
	defer r.fault(&err, debug.SetPanicOnFault(true))
	if all == nil {
		all = make([]uint64, len(r.cursors))
	}
	for i := range all {
		all[i] = atomic.LoadUint64(word64(r.mem, r.control(i)+atProduced))
	}
	return all, nil
}

func (r *Reader) snapshot(i int, at *cursor, limit uint64, each func(*Packet) error, damage *[]error) error {
	step := func(p *Packet) (ok bool, err error) {
		defer r.fault(&err, debug.SetPanicOnFault(true))
		return r.take(i, at, limit, p)
	}
	// As many sub-buffers as there are and one for the part before the first, each with damage in it: more is a writer that
	// never stops.
	for range 2 * (r.bufferCount + 1) {
		var p Packet
		ok, err := step(&p)
		switch d := (*DamageError)(nil); {
		case errors.As(err, &d):
			*damage = append(*damage, err)
		case err != nil:
			return err
		case ok:
			if err := each(&p); err != nil {
				return err
			}
		case !r.ahead(at, limit):
			return nil
		}
	}
	return nil
}

// ahead moves the cursor half of the way to limit, in a shard whose writer outran the reader repeatedly: it gives up the events
// that are about to be overwritten for those that are not. It returns false if there is nothing more.
func (r *Reader) ahead(at *cursor, limit uint64) bool {
	if at.givenUp || at.position >= limit {
		return false
	}
	size := uint64(r.bufferSize)
	half := at.position + (limit-at.position)/2
	to := min(half+size-1, limit) &^ (size - 1)
	if to <= at.position {
		return false
	}
	at.overwritten += to - at.position
	at.position = to
	return true
}

// take fills p with what one sub-buffer holds from at.position on and before limit, and moves at behind it.
func (r *Reader) take(i int, at *cursor, limit uint64, p *Packet) (bool, error) {
	// A writer in overwrite mode may outrun the copying. One that does so again and again is left for the next turn. Else
	// each round goes on by a sub-buffer that holds nothing, and there are not more of these than the shard has.
	for outrun := 0; outrun < 4; {
		if at.givenUp {
			return false, nil
		}
		oldest, produced, steady := r.bounds(i)
		if !steady {
			outrun++
			continue
		}
		if produced < at.position {
			return false, r.damaged(i, at, 0, fmt.Sprintf("published up to %d, but %d are taken already", produced, at.position))
		}
		if produced < oldest { // no writer enters two sub-buffers without an event between
			return false, r.damaged(i, at, 0, fmt.Sprintf("published up to %d, but overwritten up to %d", produced, oldest))
		}
		if at.position < oldest {
			at.overwritten += oldest - at.position
			at.position = oldest
		}
		if produced-at.position > r.shardSize() || oldest%uint64(r.bufferSize) != 0 {
			return false, r.damaged(i, at, produced-at.position, fmt.Sprintf("published up to %d, which is more than the shard holds", produced))
		}
		produced = min(produced, limit)
		if produced <= at.position {
			return false, nil
		}
		within := at.position & uint64(r.bufferSize-1)
		end := at.position - within + uint64(r.bufferSize)
		upto := min(produced, end)
		copied := r.copied[:upto-at.position]
		copy(copied, r.mem[r.data(i)+at.position&(r.shardSize()-1):])
		if r.overwrite {
			// The other half of enter's fence: the copy is good only if, after it, oldest still does not pass its first byte.
			// Without the fence the load of oldest could be satisfied before the loads of the copy.
			fence()
			if now := atomic.LoadUint64(word64(r.mem, r.control(i)+atOldest)); now > at.position {
				outrun++ // perhaps overwritten while it was copied
				continue
			}
		}
		*p = Packet{Shard: i, Position: at.position, Overwritten: at.overwritten}
		reason := p.walk(copied, r.classCount())
		p.Discarded = atomic.LoadUint64(word64(r.mem, r.control(i)+atDiscarded))
		n := uint64(len(p.Events))
		switch {
		case n == uint64(len(copied)):
			at.position = upto
		case reason == "" && upto == end:
			at.position = end
		case n > 0:
			at.position += n // the damage behind it is the next call's
		default:
			if reason == "" {
				reason = "the rest of the sub-buffer is empty, but published"
			}
			return false, r.damaged(i, at, upto-at.position, reason)
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, nil
}

// bounds loads the first and the last position of a shard, and says whether the two belong together: oldest is loaded before and
// after produced, as with a sequence lock. A writer that moves faster than two loads leaves steady false.
func (r *Reader) bounds(i int) (oldest, produced uint64, steady bool) {
	control := r.control(i)
	if !r.overwrite {
		return 0, atomic.LoadUint64(word64(r.mem, control+atProduced)), true
	}
	for range 8 {
		oldest = atomic.LoadUint64(word64(r.mem, control+atOldest))
		produced = atomic.LoadUint64(word64(r.mem, control+atProduced))
		if oldest == atomic.LoadUint64(word64(r.mem, control+atOldest)) {
			return oldest, produced, true
		}
	}
	return 0, 0, false
}

// damaged leaves bytes out of a shard, or gives it up.
func (r *Reader) damaged(i int, at *cursor, bytes uint64, reason string) error {
	e := &DamageError{Path: r.info.Path, Shard: i, Position: at.position, Bytes: bytes, Reason: reason,
		Offset: r.data(i) + at.position&(r.shardSize()-1)}
	at.position += bytes
	at.givenUp = bytes == 0
	return e
}

// walk goes over the events at the beginning of b, as far as they are whole and of known classes, and says why it ends
// before b does; "" where the rest is what a writer leaves at the end of a sub-buffer.
func (p *Packet) walk(b []byte, classes int) (reason string) {
	le := binary.LittleEndian
	n := 0
	defer func() { p.Events = b[:n] }()
	for len(b)-n >= eventHead {
		event := b[n:]
		class, size := int(le.Uint16(event[8:])), int(le.Uint16(event[10:]))
		switch {
		case size == 0:
			return ""
		case size < eventHead || size > len(event):
			return fmt.Sprintf("an event of class %d has length %d, where %d to %d are possible", class, size, eventHead, len(event))
		case class >= classes:
			return fmt.Sprintf("an event of class %d, and there are %d classes", class, classes)
		}
		p.Last = le.Uint64(event)
		if p.Count == 0 {
			p.First = p.Last
		}
		p.Count++
		n += size
	}
	return ""
}
