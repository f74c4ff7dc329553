package shm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"meridian/clock"
	"meridian/sensor/ring"
	"meridian/trace"
)

// Event is an event as it lies in a ring. Its texts are valid until the next call of [Reader.Next].
type Event struct {
	Number     uint64 // of the ring's events, from 0
	Time       clock.TimelineTime
	Low, High  clock.TimelineTime // Bounded: it happened between them; both equal Time otherwise
	Bounded    bool
	Recorded   clock.HostTime
	Late       time.Duration // how far it is behind the latest before it; 0 in order
	Flow       uint64        // pairs the ends of a message
	Slice      uint64        // pairs the ends of a slice
	Phase      trace.Phase
	Role       trace.Role
	RowKind    trace.StreamKind
	Component  int // -1: Time is the stamp as it was recorded
	HostNumber int
	RowNumber  int
	Class      int

	Host, Row, Category, Name []byte
	Fields                    []byte // a JSON object
	Cut                       bool   // the fields did not fit and are missing
}

// Reader reads the events of a ring from the oldest that it holds. One goroutine at a time may use it.
type Reader struct {
	ring    *ring.Reader
	packet  ring.Packet
	rest    []byte // of packet
	next    uint64 // number of the next event
	lost    uint64
	started bool
}

// Open opens the ring that a [Writer] makes.
func Open(path string) (*Reader, error) {
	r, err := ring.Subscribe(path)
	if err != nil {
		return nil, err
	}
	if info := r.Info(); info.Shards != 1 || info.BufferSize != bufferSize || !isTimeline(r) {
		return nil, errors.Join(fmt.Errorf("shm: %s is a ring of program %q, not of a timeline; 'meridian tail --ring' makes those", path, info.Program), r.Close())
	}
	return &Reader{ring: r}, nil
}

func isTimeline(r *ring.Reader) bool {
	classes := r.Classes()
	return len(classes) == 1 && classes[0].Name == "event" && classes[0].Category == "meridian"
}

// Next returns the next event, false if there is none now. It makes no system call. After an error the reader is of no more
// use, unless it is a [ring.DamageError].
func (r *Reader) Next(e *Event) (bool, error) {
	for len(r.rest) == 0 {
		ok, err := r.ring.Next(&r.packet)
		if !ok || err != nil {
			return false, err
		}
		r.rest = r.packet.Events
	}
	size := int(binary.LittleEndian.Uint16(r.rest[10:])) // of the ring's reader, which has looked at it
	b := r.rest[:size]
	r.rest = r.rest[size:]
	if size < atTexts {
		return false, fmt.Errorf("shm: %s: an event of %d bytes, and the least is %d", r.ring, size, atTexts)
	}
	e.decode(b)
	if r.started && e.Number > r.next {
		r.lost += e.Number - r.next
	}
	r.started, r.next = true, e.Number+1
	return true, nil
}

func (e *Event) decode(b []byte) {
	le := binary.LittleEndian
	*e = Event{
		Number: le.Uint64(b[atNumber:]), Time: clock.TimelineTime(le.Uint64(b)), Low: clock.TimelineTime(le.Uint64(b[atLow:])),
		High: clock.TimelineTime(le.Uint64(b[atHigh:])), Bounded: b[atFlags]&flagBounded != 0, Cut: b[atFlags]&flagCut != 0,
		Recorded: clock.HostTime(le.Uint64(b[atRecorded:])), Late: time.Duration(le.Uint64(b[atLate:])),
		Flow: le.Uint64(b[atFlow:]), Slice: le.Uint64(b[atSlice:]), Phase: trace.Phase(b[atPhase]), Role: trace.Role(b[atRole]),
		RowKind: trace.StreamKind(b[atKind]), Component: int(int32(le.Uint32(b[atComponent:]))),
		HostNumber: int(le.Uint32(b[atHost:])), RowNumber: int(le.Uint32(b[atRow:])), Class: int(le.Uint32(b[atEvent:])),
	}
	texts := b[atTexts:]
	for _, text := range []*[]byte{&e.Host, &e.Row, &e.Category, &e.Name, &e.Fields} {
		*text, texts, _ = bytes.Cut(texts, []byte{0})
	}
}

// Lost returns how many events were overwritten before this reader came to them, since its first.
func (r *Reader) Lost() uint64 { return r.lost }

// Ended says that no more events are written. Ask before Next: what it then returns until there is no more is all.
func (r *Reader) Ended() bool { return r.ring.Closed() || !r.ring.Alive() }

// Close gives the memory back.
func (r *Reader) Close() error { return r.ring.Close() }
