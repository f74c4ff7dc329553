package live

import (
	"maps"

	"meridian/clock"
	"meridian/trace"
)

// messageProgress says which messages of packets are written: those of which both ends are up to an instant of their host's clock, by any
// of the lists of instants, but for those that were found and wait to be written.
type messageProgress struct {
	Up      []map[string]clock.HostTime `json:",omitempty"` // by host; one list of each session whose reading had got further somewhere
	Waiting []namedMessage              `json:",omitempty"`

	waiting map[namedMessage]int // of Waiting, those that were not found again, with their number; nil before the first look
}

// namedMessage is a message by the names of its hosts.
type namedMessage struct {
	From, To       string
	Sent, Received clock.HostTime
}

// shown says whether a message that is found now was written by an earlier session.
func (r *resumption) shown(from, to *input, m trace.Message) bool {
	if r == nil {
		return false
	}
	p := &r.Messages
	if p.waiting == nil {
		p.waiting = make(map[namedMessage]int)
		for _, m := range p.Waiting {
			p.waiting[m]++
		}
	}
	name := namedMessage{from.name, to.name, m.Sent, m.Received}
	if p.waiting[name] > 0 {
		if p.waiting[name]--; p.waiting[name] == 0 {
			delete(p.waiting, name)
		}
		return false
	}
	for _, up := range p.Up {
		sent, knowsSender := up[from.name]
		received, knowsReceiver := up[to.name]
		if knowsSender && knowsReceiver && m.Sent <= sent && m.Received <= received {
			return true
		}
	}
	return false
}

// written returns which messages are written, by this session and those before it.
func (p *packets) written() (w messageProgress) {
	now := make(map[string]clock.HostTime)
	for _, h := range p.hosts {
		if h.settled > noHostTime {
			now[h.in.name] = h.settled
		}
	}
	if r := p.s.resumed; r != nil {
		for _, up := range r.Messages.Up {
			if !covers(now, up) {
				w.Up = append(w.Up, maps.Clone(up))
			}
		}
		if r.Messages.waiting == nil { // nothing has been found yet
			w.Waiting = append(w.Waiting, r.Messages.Waiting...)
		}
		for m, n := range r.Messages.waiting {
			for range n {
				w.Waiting = append(w.Waiting, m)
			}
		}
	}
	if len(now) > 0 {
		w.Up = append(w.Up, now)
	}
	for i := range p.ends.found {
		m := &p.ends.found[i]
		w.Waiting = append(w.Waiting, namedMessage{m.from.name, m.to.name, m.Sent, m.Received})
	}
	return w
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
