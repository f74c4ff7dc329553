package live

import (
	"meridian/clock"
	"meridian/trace"
)

// tags joins the two ends of tagged messages as they come, as match.Tagged does it of whole traces:
//
//	Sends at a     Receives at b, c   a -> b, a -> c: one sender, any number of receivers
//	Sends at a, b  Receives at c      ambiguous: nothing is made of it
//
// A second sender may come after the first message was made, which then was wrong. So a message waits until no end of its key
// has come for the time settle, of the clock by which ends arrive (the caller's, ns). A key is forgotten after the time lifetime:
// ends that come later still are counted as alone. Memory is the keys of that time, at most maxKeys.
type tags struct {
	open      map[trace.Key]*tagged
	settle    int64
	forget    int64
	ageless   int64 // what keys have not aged by, of the caller's time; it never falls
	unsettled fifo  // ends, until their key may be settled
	old       fifo  // keys, until they are forgotten
	spare     []*tagged
	counted   tagCounts
}

// tagCounts says what became of keys.
type tagCounts struct {
	Messages  int64 // that were made
	Ambiguous int64 // keys with several senders
	Alone     int64 // keys of which one end did not come in time
	Local     int64 // messages within one clock
	Dropped   int64 // ends beyond maxKeys, or maxEnds of a key
}

// maxKeys bounds the keys that are open at a time, maxEnds the receivers of one.
const (
	maxKeys = 1 << 18
	maxEnds = 1 << 10
)

// tagged is a key with what has come of it.
type tagged struct {
	key       trace.Key
	life      uint64 // counts the keys for which the value was used
	last      int64  // when its last end came
	senders   int
	sent      tagEnd
	received  []tagEnd
	delivered int // of received, which were made messages
}

type tagEnd struct {
	clock int
	time  clock.HostTime
}

func newTags(settle, lifetime int64) *tags {
	return &tags{open: make(map[trace.Key]*tagged), settle: settle, forget: max(lifetime, settle)}
}

// add takes an end that arrives now, which is not before the last.
func (t *tags) add(now int64, key trace.Key, role trace.Role, at tagEnd) {
	x := t.open[key]
	if x == nil {
		if len(t.open) >= maxKeys {
			t.counted.Dropped++
			return
		}
		if n := len(t.spare); n > 0 {
			x, t.spare = t.spare[n-1], t.spare[:n-1]
		} else {
			x = new(tagged)
		}
		*x = tagged{key: key, life: x.life + 1, received: x.received[:0]}
		t.open[key] = x
		t.old.push(x, now-t.ageless)
	}
	x.last = now
	switch {
	case role == trace.Sends:
		x.senders++
		x.sent = at
	case len(x.received) < maxEnds:
		x.received = append(x.received, at)
	default:
		t.counted.Dropped++
	}
	t.unsettled.push(x, now)
}

// advance makes the messages of keys that are settled now, and forgets those that are old.
func (t *tags) advance(now int64, message func(from, to int, m trace.Message)) {
	for e, ok := t.unsettled.pop(now - t.settle); ok; e, ok = t.unsettled.pop(now - t.settle) {
		if x := e.of; x.life == e.life && x.last == e.at {
			t.deliver(x, message)
		}
	}
	for e, ok := t.old.pop(now - t.ageless - t.forget); ok; e, ok = t.old.pop(now - t.ageless - t.forget) {
		t.end(e.of)
	}
}

// deliver makes the messages of a key that were not made yet.
func (t *tags) deliver(x *tagged, message func(from, to int, m trace.Message)) {
	if x.senders != 1 {
		return
	}
	for _, r := range x.received[x.delivered:] {
		if r.clock == x.sent.clock {
			t.counted.Local++
			continue
		}
		t.counted.Messages++
		message(x.sent.clock, r.clock, trace.Message{Sent: x.sent.time, Received: r.time})
	}
	x.delivered = len(x.received)
}

// end forgets a key.
func (t *tags) end(x *tagged) {
	switch {
	case x.senders == 0 || len(x.received) == 0:
		t.counted.Alone++
	case x.senders > 1:
		t.counted.Ambiguous++
	}
	x.life++
	delete(t.open, x.key)
	t.spare = append(t.spare, x)
}

// fifo is a queue of keys with the time at which each was pushed, which never falls.
type fifo struct {
	entries []queuedKey
	from    int
}

type queuedKey struct {
	of   *tagged
	life uint64
	at   int64
}

func (f *fifo) push(x *tagged, at int64) {
	if f.from > len(f.entries)/2 && f.from >= 1024 {
		n := copy(f.entries, f.entries[f.from:])
		clear(f.entries[n:])
		f.entries, f.from = f.entries[:n], 0
	}
	f.entries = append(f.entries, queuedKey{x, x.life, at})
}

// pop removes the first entry if it was pushed at most at an instant.
func (f *fifo) pop(at int64) (e queuedKey, ok bool) {
	if f.from == len(f.entries) || f.entries[f.from].at > at {
		return e, false
	}
	e = f.entries[f.from]
	f.from++
	return e, true
}
