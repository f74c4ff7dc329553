package live

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"maps"

	"meridian/clock"
	"meridian/trace"
)

// messageProgress says which messages of packets are written: those of any of the spans, but for those that were found and wait to be
// written.
type messageProgress struct {
	Spans   []messageSpan  `json:",omitempty"` // one of each session whose reading had got further somewhere
	Waiting []namedMessage `json:",omitempty"`

	waiting map[namedMessage]int // of Waiting, those that were not found again, with their number; nil before the first look
}

// messageSpan is the messages that a session had written: those of which both ends are up to an instant of their host's clock, and
// some between that and another, where messages may be found that were not found before.
type messageSpan struct {
	Up      map[string]clock.HostTime `json:",omitempty"` // by host
	Until   map[string]clock.HostTime
	Between []byte `json:",omitempty"` // 8 bytes of each

	between map[uint64]int // those that were not found again
}

// namedMessage is a message by the names of its hosts.
type namedMessage struct {
	From, To       string
	Sent, Received clock.HostTime
}

// sum returns a number that hardly two messages share: some 1e-8 is the chance that any two of a million do.
func (m *namedMessage) sum() uint64 {
	h := fnv.New64a()
	for _, name := range []string{m.From, m.To} {
		_, _ = io.WriteString(h, name) // it never fails
		_, _ = h.Write([]byte{0})
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(m.Sent))
	binary.LittleEndian.PutUint64(b[8:], uint64(m.Received))
	_, _ = h.Write(b[:])
	return h.Sum64()
}

// prepare reads what an earlier session wrote.
func (r *messageProgress) prepare() {
	if r.waiting != nil {
		return
	}
	r.waiting = make(map[namedMessage]int)
	for _, m := range r.Waiting {
		r.waiting[m]++
	}
	for i := range r.Spans {
		x := &r.Spans[i]
		x.between = make(map[uint64]int)
		for b := x.Between; len(b) >= 8; b = b[8:] {
			x.between[binary.LittleEndian.Uint64(b)]++
		}
	}
}

// shown says whether a message that is found now was written by an earlier session.
func (r *resumption) shown(from, to *input, m trace.Message) bool {
	if r == nil {
		return false
	}
	p := &r.Messages
	p.prepare()
	name := namedMessage{from.name, to.name, m.Sent, m.Received}
	if takeOne(p.waiting, name) {
		return false
	}
	for i := range p.Spans {
		if x := &p.Spans[i]; takeOne(x.between, name.sum()) || x.has(&name) {
			return true
		}
	}
	return false
}

// takeOne takes one of a key, if there is one.
func takeOne[K comparable](counts map[K]int, key K) bool {
	n := counts[key]
	switch n {
	case 0:
		return false
	case 1:
		delete(counts, key)
	default:
		counts[key] = n - 1
	}
	return true
}

// has says whether both ends of a message are up to the instants at which nothing was open.
func (x *messageSpan) has(m *namedMessage) bool {
	sent, knowsSender := x.Up[m.From]
	received, knowsReceiver := x.Up[m.To]
	return knowsSender && knowsReceiver && m.Sent <= sent && m.Received <= received
}

// written returns which messages are written, by this session and those before it.
func (p *packets) written() (w messageProgress) {
	window := &p.windows[p.longer()]
	now := messageSpan{Up: window.settled, Until: p.settled()}
	if r := p.s.resumed; r != nil {
		r.Messages.prepare()
		for i := range r.Messages.Spans {
			if x := &r.Messages.Spans[i]; !covers(now.Up, x.Until) {
				w.Spans = append(w.Spans, messageSpan{Up: maps.Clone(x.Up), Until: maps.Clone(x.Until), Between: sums(x.between)})
			}
		}
		for m, n := range r.Messages.waiting {
			for range n {
				w.Waiting = append(w.Waiting, m)
			}
		}
	}
	waiting := make(map[uint64]int)
	for i := range p.ends.found {
		m := &p.ends.found[i]
		name := namedMessage{m.from.name, m.to.name, m.Sent, m.Received}
		w.Waiting = append(w.Waiting, name)
		waiting[name.sum()]++
	}
	if len(now.Until) == 0 {
		return w
	}
	between := make(map[uint64]int)
	for key, u := range window.used {
		name := namedMessage{p.hosts[key.from].in.name, p.hosts[key.to].in.name, key.sent, key.received}
		sum := name.sum()
		for range u.used {
			if !takeOne(waiting, sum) {
				between[sum]++
			}
		}
	}
	now.Between = sums(between)
	w.Spans = append(w.Spans, now)
	return w
}

func sums(counts map[uint64]int) (b []byte) {
	for sum, n := range counts {
		for range n {
			b = binary.LittleEndian.AppendUint64(b, sum)
		}
	}
	return b
}

// covers says whether one list of instants reaches as far as another for each host.
func covers(x, other map[string]clock.HostTime) bool {
	for host, at := range other {
		if has, known := x[host]; !known || has < at {
			return false
		}
	}
	return true
}
