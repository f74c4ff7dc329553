package thread

import (
	"slices"
	"sort"
)

// What made a thread write is told by what began its turn. A thread that waited for whatever comes first, and was woken by a packet, had nothing else to
// do: no timer of it was due, and no other thread had left it work. One that looked without a wait may have found that as well, and what it read then is
// no reason for what it wrote.

// began returns what ended the wait with which an actor's turn at an instant began; nil where it began without one, or that is not known.
func (a *actor) began(h *Host, at int64) *wake {
	begin, _ := a.turn(at)
	if a.thread != nil {
		return a.looking(h, begin)
	}
	for _, t := range a.threads {
		i := sort.Search(len(t.states), func(i int) bool { return t.states[i].begin >= begin })
		if i < 1 || i == len(t.states) || t.states[i].begin != begin {
			continue
		}
		if s := &t.states[i-1]; s.kind == blocked && s.wake >= 0 {
			return &h.wakes[s.wake]
		}
	}
	return nil
}

// looking returns what ended a thread's wait in its look for what has come, with which its turn begins.
func (a *actor) looking(h *Host, begin int64) *wake {
	floor := int64(-1 << 63) // the end of the look before
	if n := sort.Search(len(a.looked), func(n int) bool { return a.looked[n] >= begin }); n > 0 {
		floor = a.looked[n-1]
	}
	t := a.thread
	for i := sort.Search(len(t.states), func(i int) bool { return t.states[i].begin > begin }) - 1; i >= 0 && t.states[i].begin > floor; i-- {
		s := &t.states[i]
		switch {
		case s.kind != blocked:
		case s.wake < 0, s.call >= 0 && !t.calls[s.call].loops():
			return nil
		default:
			return &h.wakes[s.wake]
		}
	}
	return nil
}

// begunBy reports whether an actor's turn at an instant began as a packet came, or another of the same connection just before.
func (a *actor) begunBy(h *Host, at int64, p *packet) bool {
	k := a.began(h, at)
	return k != nil && k.packet != nil && k.packet.Length > 0 && wayOf(k.packet.Packet) == wayOf(p.Packet) && p.At-k.packet.At < nearPacket
}

// writesAtOnce reports whether a thread only ever writes in turns in which it has read before, also what it writes to those that it read nothing of
// then. Only turns that a packet began say so, as what else could have made it write would have begun a turn of its own at some time.
func (a *actor) writesAtOnce(h *Host) bool {
	if a.atOnce == 0 && a.thread != nil {
		a.atOnce = -1
		if turns, late := a.turnsAtOnce(h); turns >= fewestTurns && late >= fewestLate {
			a.atOnce = 1
		}
	}
	return a.atOnce > 0
}

// turnsAtOnce counts the turns that packets began in which a thread wrote what follows from what it had read; and those in which it wrote to a connection
// of which it had read nothing. None where it wrote otherwise, too.
func (a *actor) turnsAtOnce(h *Host) (turns, late int) {
	var last []moved // what it wrote in the turn before
	for i := 0; i < len(a.wrote); {
		begin, end := a.turn(a.wrote[i].at)
		wrote := a.wrote[i:]
		wrote = wrote[:max(1, sort.Search(len(wrote), func(n int) bool { return wrote[n].at > end }))]
		k, read := a.began(h, wrote[0].at), between(a.read, begin, wrote[0].at)
		goesOn := bytesOf(last, wrote[0].way) >= longReply && of(wrote, wrote[0].connection)
		switch {
		case len(read) == 0 && goesOn: // there is room for the rest of a reply
		case len(read) == 0:
			return 0, 0
		case k != nil && k.packet != nil:
			turns++
			for n := range wrote {
				if !has(between(a.read, begin, end), wrote[n].connection) {
					late++
					break
				}
			}
		}
		i, last = i+len(wrote), wrote
	}
	return turns, late
}

// bytesOf returns how many bytes of a direction were moved.
func bytesOf(list []moved, k way) (n uint32) {
	for i := range list {
		if list[i].way == k {
			n += list[i].behind - list[i].first
		}
	}
	return n
}

// of reports whether all that was moved was moved on one of some connections.
func of(list []moved, connections ...int32) bool {
	return !slices.ContainsFunc(list, func(x moved) bool { return !slices.Contains(connections, x.connection) })
}

// wroteAlone reports whether an actor wrote to some connections alone after a reading. Where it wrote to several clients, the reading need not
// concern all of them.
func (a *actor) wroteAlone(x *moved, to ...int32) bool {
	return of(between(a.wrote, x.at, a.follows(x.at, x.connection)), to...)
}

// has reports whether any that was moved was moved on a connection.
func has(list []moved, connection int32) bool {
	return slices.ContainsFunc(list, func(x moved) bool { return x.connection == connection })
}

// ofOne reports whether a packet that came and the one before it on the connection were sent by one actor, as far as that is known. Else several threads
// share the connection, and what was last sent to them need not be what the sender went on with.
func (w *World) ofOne(p *packet) bool {
	q := w.other(p)
	if q == nil {
		return true
	}
	h := w.hosts[q.Host]
	last := before(h.sent[wayOf(q.Packet)], q.At)
	if last == nil {
		return true
	}
	one, other := h.sentFrom(q), h.sentFrom(last)
	return one == other || one <= 0 || other <= 0 || h.actorOf(one) == h.actorOf(other)
}

// sentFrom returns the thread that wrote a packet's last byte; 0 where it is not known.
func (h *Host) sentFrom(p *packet) int32 {
	if x, known := h.writer(p); known {
		return x.tid
	}
	if p.inCall {
		return p.tid
	}
	return 0
}
