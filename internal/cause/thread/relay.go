package thread

import (
	"cmp"
	"slices"
	"sort"
)

// Brokers and stores answer a client with what another client sent: a message that is passed on, a lock that was let go. Then they read last what
// came as another's request. That it is what they went on with is told by how they work.
//
//   - A thread that only ever writes what follows from what it has just read has no timers, and takes nothing over from other threads. What it wrote
//     in a turn in which it read of one connection alone, that made it write.
//   - A connection whose bytes mostly make a program write to others and never back is passed on. Bytes of it answer a request which was
//     itself passed on to that connection.
//
// A turn is what a thread does between two of its waits or looks for what has come. A program in Go is one actor: any of its threads may go on with
// what another has read. Its turn ends when none of them has work.

const (
	fewestTurns   = 50 // of a thread, to know how it works
	fewestPassed  = 16 // readings of a connection, to know that it is passed on
	mostNotPassed = 4  // one of so many may not be: that of a busy program is hidden by what it reads at the same time
)

// stretch is from an instant to another.
type stretch struct{ begin, end int64 }

// actor is a thread, or all threads of a program in Go.
type actor struct {
	thread      *thread // nil of a program
	busy        []stretch
	read, wrote []moved // in order of time
	passing     map[way]bool
	atOnce      int8 // whether it writes only what follows from what it has just read: 1 it does, -1 it does not, 0 not asked yet
}

// actorOf returns the actor of a thread. All events were added before.
func (h *Host) actorOf(tid int32) *actor {
	if a := h.actors[tid]; a != nil {
		return a
	}
	h.moves()
	a, p := &actor{passing: make(map[way]bool)}, h.programOf(tid)
	threads := []int32{tid}
	if p != nil {
		threads = p.threads
	} else {
		a.thread = h.thread(tid)
	}
	for _, other := range threads {
		h.actors[other] = a
		a.read, a.wrote = append(a.read, h.readBy[other]...), append(a.wrote, h.wroteBy[other]...)
		if p != nil && other != p.monitor {
			a.busy = h.threads[other].work(a.busy)
		}
	}
	a.busy = merged(a.busy)
	if len(h.read) == 0 && len(h.wrote) == 0 {
		a.byPackets(h, threads)
	}
	for _, list := range [][]moved{a.read, a.wrote} {
		slices.SortFunc(list, func(a, b moved) int { return cmp.Compare(a.at, b.at) })
	}
	return a
}

// byPackets takes packets for what an actor read and wrote, where that is not recorded: those that its threads sent, and those of the same connections
// that came before a turn.
func (a *actor) byPackets(h *Host, threads []int32) {
	if h.sentBy == nil {
		h.sentBy = make(map[int32][]moved)
		for k, list := range h.sent {
			for _, p := range list {
				if p.inCall && p.Length > 0 && p.after == nil {
					h.sentBy[p.tid] = append(h.sentBy[p.tid], moved{transfer{p.At, p.tid, p.Seq, p.Seq + p.Length}, k})
				}
			}
		}
	}
	ways := make(map[way]bool)
	for _, tid := range threads {
		a.wrote = append(a.wrote, h.sentBy[tid]...)
		for i := range h.sentBy[tid] {
			ways[h.sentBy[tid][i].back()] = true
		}
	}
	for k := range ways {
		for _, p := range h.received[k] {
			if p.Length > 0 {
				a.read = append(a.read, moved{transfer{a.takes(p.At), threads[0], p.Seq, p.Seq + p.Length}, k})
			}
		}
	}
}

// takes returns when an actor takes up at the earliest what came at an instant: when it next has looked for what has come, or has work.
func (a *actor) takes(at int64) int64 {
	if a.thread == nil {
		if i := sort.Search(len(a.busy), func(i int) bool { return a.busy[i].end >= at }); i < len(a.busy) {
			return max(at, a.busy[i].begin+1)
		}
		return at
	}
	calls := a.thread.calls
	for i := max(sort.Search(len(calls), func(i int) bool { return calls[i].begin > at })-1, 0); i < len(calls); i++ {
		if calls[i].loops() && calls[i].end >= at && calls[i].end < 1<<62 {
			return calls[i].end + 1
		}
	}
	return at
}

// work appends the stretches in which a thread ran or could have run.
func (t *thread) work(list []stretch) []stretch {
	for i := range t.states {
		if t.states[i].kind == blocked {
			continue
		}
		end := int64(1<<63 - 1)
		if i+1 < len(t.states) {
			end = t.states[i+1].begin
		}
		list = append(list, stretch{t.states[i].begin, end})
	}
	return list
}

// merged joins stretches that touch.
func merged(list []stretch) []stretch {
	slices.SortFunc(list, func(a, b stretch) int { return cmp.Compare(a.begin, b.begin) })
	n := 0
	for _, s := range list {
		if n > 0 && s.begin <= list[n-1].end {
			list[n-1].end = max(list[n-1].end, s.end)
			continue
		}
		list[n] = s
		n++
	}
	return list[:n]
}

// turn returns the begin and the end of an actor's turn at an instant.
func (a *actor) turn(at int64) (begin, end int64) {
	if a.thread != nil {
		return a.thread.turn(at)
	}
	i := sort.Search(len(a.busy), func(i int) bool { return a.busy[i].end >= at })
	if i == len(a.busy) || a.busy[i].begin > at {
		return at, at
	}
	return a.busy[i].begin, a.busy[i].end
}

// turn returns the begin and the end of a thread's turn at an instant.
func (t *thread) turn(at int64) (begin, end int64) {
	begin, end = -1<<63, 1<<63-1
	i := sort.Search(len(t.states), func(i int) bool { return t.states[i].begin > at })
	for k := i - 1; k >= 0; k-- {
		if t.states[k].kind != blocked {
			continue
		}
		if k == i-1 {
			return at, at
		}
		begin = t.states[k+1].begin
		break
	}
	for k := i; k < len(t.states); k++ {
		if t.states[k].kind == blocked {
			end = t.states[k].begin
			break
		}
	}
	first := sort.Search(len(t.calls), func(i int) bool { return t.calls[i].begin > at })
	for k := first - 1; k >= 0 && t.calls[k].end > begin; k-- {
		if c := &t.calls[k]; c.loops() && c.end <= at {
			begin = c.end
			break
		}
	}
	for k := first; k < len(t.calls) && t.calls[k].begin < end; k++ {
		if t.calls[k].loops() {
			end = t.calls[k].begin
			break
		}
	}
	return begin, end
}

// of reports whether all that was moved was moved on one connection.
func of(list []moved, connection int32) bool {
	for i := range list {
		if list[i].connection != connection {
			return false
		}
	}
	return true
}

// passedOn returns what a thread's actor read last, of another client, before the thread wrote its reply to a request at an instant, where that made
// it write; and the packet by which the request had been passed on to that client, where it is an answer to it.
func (w *World) passedOn(h *Host, tid int32, request *packet, until int64) (in input, known bool) {
	a := h.actorOf(tid)
	begin, _ := a.turn(until)
	list := between(a.read, max(begin, request.At), until)
	if len(list) == 0 {
		return input{}, false
	}
	x := &list[len(list)-1]
	if x.connection == request.Connection || !w.asks(x.way) || !of(between(a.read, begin, until), x.connection) {
		return input{}, false
	}
	in = input{at: x.at, reply: h.holder(x)}
	if in.reply == nil || in.reply.At <= request.At {
		return input{}, false
	}
	if a.writesAtOnce() {
		return in, true
	}
	in.forward = a.forwarded(h, request, x.back(), in.reply.At)
	return in, in.forward != nil && a.passes(x.way)
}

// writesAtOnce reports whether a thread only ever writes in turns in which it has read before.
func (a *actor) writesAtOnce() bool {
	if a.atOnce != 0 || a.thread == nil {
		return a.atOnce > 0
	}
	turns, end := 0, int64(-1<<63)
	for i := range a.wrote {
		x := &a.wrote[i]
		if x.at <= end {
			continue
		}
		var begin int64
		if begin, end = a.turn(x.at); len(between(a.read, begin, x.at)) == 0 {
			turns = 0
			break
		}
		turns++
	}
	if a.atOnce = -1; turns >= fewestTurns {
		a.atOnce = 1
	}
	return a.atOnce > 0
}

// follows returns what an actor wrote from a reading on until it read of another connection or its turn was over.
func (a *actor) follows(at int64, connection int32) []moved {
	_, end := a.turn(at)
	i := sort.Search(len(a.read), func(i int) bool { return a.read[i].at > at })
	for ; i < len(a.read) && a.read[i].at <= end; i++ {
		if a.read[i].connection != connection {
			end = a.read[i].at
			break
		}
	}
	return between(a.wrote, at, end)
}

// forwarded returns the packet of a way that the reading of a request made an actor write before it read anything else; nil where it wrote none
// until an instant.
func (a *actor) forwarded(h *Host, request *packet, to way, until int64) *packet {
	read := slices.IndexFunc(between(a.read, request.At, until), func(x moved) bool {
		return x.way == wayOf(request.Packet) && int32(x.behind-(request.Seq+request.Length)) >= 0
	})
	if read < 0 {
		return nil
	}
	for _, x := range a.follows(between(a.read, request.At, until)[read].at, request.Connection) {
		if x.at >= until {
			break
		}
		if x.way == to {
			return carrier(h.sent[to], &x)
		}
	}
	return nil
}

// carrier returns the packet with the last byte of what was written; nil where it is not recorded.
func carrier(list []*packet, x *moved) *packet {
	from := sort.Search(len(list), func(i int) bool { return list[i].At >= x.at })
	for i := max(from-mostTransfers, 0); i < min(from+mostTransfers, len(list)); i++ {
		if p := list[i]; p.Length > 0 && x.behind-1-p.Seq < p.Length {
			return p
		}
	}
	return nil
}

// passes reports whether what comes of a way mostly makes an actor write to other connections, and not back.
func (a *actor) passes(k way) bool {
	passes, known := a.passing[k]
	if known {
		return passes
	}
	passed, read := 0, 0
	for i := range a.read {
		if a.read[i].way != k {
			continue
		}
		read++
		wrote := a.follows(a.read[i].at, k.connection)
		back := slices.ContainsFunc(wrote, func(x moved) bool { return x.connection == k.connection })
		if len(wrote) > 0 && !back {
			passed++
		}
	}
	passes = passed >= fewestPassed && (read-passed)*mostNotPassed <= read
	a.passing[k] = passes
	return passes
}
