package live

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// messageWindow is what the matcher sees of all hosts from one instant on, and which messages were used since.
//
// A packet that is used by a later round than its neighbours must not be matched with another copy whose sending was before the window.
// Such a message has both ends at least windowMargin behind the first packets of their hosts in the window, or the window has seen all.
type messageWindow struct {
	begun int64 // how far packets had come
	whole bool  // nothing was read before
	// from is the latest instant on the timeline that was read when the window began, by component. A host that is read later than
	// others leaves out what is before: the sendings of what it received then are not in the window.
	from    map[int]clock.TimelineTime
	settled map[string]clock.HostTime // by host: what was used before the window has both ends up to here
	used    map[messageKey]messageUse
}

// windowMargin is longer than a packet is on its way, ns.
const windowMargin = 2_000_000_000

// messageKey is a message by the numbers of its hosts' clocks.
type messageKey struct {
	from, to       int
	sent, received clock.HostTime
}

// messageUse counts the messages of one key, of which there are several where stamps are coarse.
type messageUse struct {
	used, found uint16 // by all rounds, by the round
	round       uint32 // that found it last; 0 for none while this was the window that is matched
	inside      bool   // it was found behind the margin
}

// use says whether a message that a round has found is one that none has used.
func (w *messageWindow) use(key messageKey, round uint32, inside bool) bool {
	u := w.used[key]
	if u.round != round {
		u.round, u.found = round, 0
	}
	u.inside = inside
	u.found++
	fresh := u.found > u.used
	if fresh {
		u.used = u.found
	}
	w.used[key] = u
	return fresh
}

// note notes a message that was used by what another window saw.
func (w *messageWindow) note(key messageKey) {
	u := w.used[key]
	u.used++
	w.used[key] = u
}

// withdrawn counts the messages that were used by what the window saw, and that its last round no longer found.
func (w *messageWindow) withdrawn(round uint32) (n int64) {
	for _, u := range w.used {
		if u.round != 0 && u.round != round && u.inside {
			n += int64(u.used)
		}
	}
	return n
}

// before says whether what an input read last is from before the window.
func (w *messageWindow) before(s *Session, in *input) bool {
	place := s.place(in.number, in.event.Time)
	from, known := w.from[place.Component]
	return known && place.At < from
}

// inside returns from when on messages of each host may be used however late they are found.
func (w *messageWindow) inside(hosts map[*packetHost]clock.HostTime, window int) map[*packetHost]clock.HostTime {
	inside := make(map[*packetHost]clock.HostTime)
	for h := range hosts {
		at := clock.HostTime(math.MaxInt64)
		for _, x := range h.sources {
			if x.reducers[window].Packets() > 0 {
				at = min(at, x.first[window])
			}
		}
		if inside[h] = noHostTime; !w.whole && at < math.MaxInt64 {
			inside[h] = clock.Add(at, windowMargin)
		}
	}
	return inside
}

// longer returns the number of the window that has seen more.
func (p *packets) longer() int {
	if p.windows[1].begun < p.windows[0].begun {
		return 1
	}
	return 0
}

// begin begins a window anew, of all hosts at once: a copy of a packet must not be in it at one end alone.
func (p *packets) begin(window int) {
	w := messageWindow{begun: p.at, from: make(map[int]clock.TimelineTime), settled: p.settled(), used: make(map[messageKey]messageUse)}
	for component, l := range p.s.lanes {
		w.from[component] = clock.TimelineTime(l.at)
	}
	p.windows[window] = w
	p.drop(func(x *packetSource) bool { return x.over && x.reducers[1-window].Packets() == 0 })
	for _, x := range p.sources {
		if x.reducers[window], x.early[window] = reducer(nothing{}), true; !x.over {
			x.reducers[window] = p.reducer(x.in)
		}
	}
}

// settled returns up to when the packets of each host have been read.
func (p *packets) settled() map[string]clock.HostTime {
	all := make(map[string]clock.HostTime)
	for _, h := range p.hosts {
		if h.settled > noHostTime {
			all[h.in.name] = h.settled
		}
	}
	return all
}

// withdrawnMessages warns of messages that the matcher would not find again.
const withdrawnMessages = "messages of packets were used that later packets made ambiguous: align does not use them, and bounds of events shown may count on them"

// account says of a window that ends which messages it would not have used.
func (p *packets) account(window int) {
	if n := p.windows[window].withdrawn(p.rounds); n > 0 {
		p.withdrawn += n
		p.s.warnings.AddN("", withdrawnMessages, "", n)
	}
}

// nothing is the packets of a source that is over.
type nothing struct{}

func (nothing) add(*input)              {}
func (nothing) Packets() int            { return 0 }
func (nothing) Capture() *trace.Capture { return new(trace.Capture) }
