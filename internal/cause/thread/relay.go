package thread

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// Brokers and stores answer a client with what another client sent: a message that is passed on, a lock that was let go. Then they read last what
// came as another's request. That it is what they went on with is told by how they work.
//
//   - A thread that only ever writes what follows from what it has just read has no timers, and takes nothing over from other threads. What it wrote
//     in a turn in which it read of one connection alone, that made it write.
//   - A connection whose bytes mostly make a program write to others and never back is passed on. Bytes of it answer a request which was
//     itself passed on to that connection.
//
// Either way the turn was begun by the packet that brought those bytes (begun.go), and nobody else was written to: else a timer, another thread or an
// earlier packet may have made it write.
//
// A turn is what a thread does between two of its waits or looks for what has come. A program in Go is one actor: any of its threads may go on with
// what another has read. Its turn ends when none of them has work.

const (
	fewestTurns   = 50    // of a thread, to know how it works
	fewestLate    = 8     // turns in which it wrote to others than it had read of
	longReply     = 16384 // bytes of which a socket may not take all at once
	fewestPassed  = 16    // readings of a connection, to know that it is passed on
	mostNotPassed = 4     // one of so many may not be: that of a busy program is hidden by what it reads at the same time
	mostDropped   = 16    // one of so many may be followed by nothing: a sign of life, or an answer too late
	mostSenders   = 8     // actors of one connection for which its packets say what they read: each of them has a list of all
)

const never = 1<<63 - 1

// stretch is from an instant to another.
type stretch struct{ begin, end int64 }

// actor is a thread, or all threads of a program in Go. What is asked for each request takes O(log n) of its events.
type actor struct {
	thread      *thread   // nil of a program
	threads     []*thread // all but a program's monitor
	busy        []stretch // of a program
	begins      []int64   // of a thread's turns, in order; some are no turn's, as the thread went on
	ends        []int64
	looked      []int64 // when a thread's looks for what has come were over
	read, wrote []moved // in order of time
	other       []int64 // for each reading when the actor next read of another connection
	passing     map[way]bool
	atOnce      int8 // whether it writes only what follows from what it has just read: 1 it does, -1 it does not, 0 not asked yet
}

// actorOf returns the actor of a thread. All events were added before.
func (h *Host) actorOf(tid int32) *actor {
	if a := h.actors[tid]; a != nil {
		return a
	}
	h.moves()
	a, p := &actor{}, h.programOf(tid)
	threads := []int32{tid}
	if p != nil {
		threads = p.threads
	} else {
		a.thread = h.thread(tid)
		a.thread.turns(a)
	}
	for _, other := range threads {
		h.actors[other] = a
		if p == nil || other != p.monitor {
			a.threads = append(a.threads, h.thread(other))
		}
		a.read, a.wrote = append(a.read, h.readBy[other]...), append(a.wrote, h.wroteBy[other]...)
	}
	if p != nil {
		for _, t := range a.threads {
			a.busy = t.work(a.busy)
		}
		a.busy = merged(a.busy)
	}
	if len(h.read) == 0 && len(h.wrote) == 0 {
		a.byPackets(h, threads)
	}
	for _, list := range [][]moved{a.read, a.wrote} {
		slices.SortStableFunc(list, func(a, b moved) int { // what is read at the end of a wait is in the order of its bytes
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.connection, b.connection), cmp.Compare(a.direction, b.direction))
		})
	}
	a.other = make([]int64, len(a.read))
	next := int64(never)
	for i := len(a.read) - 1; i >= 0; i-- {
		if i+1 < len(a.read) && a.read[i+1].connection != a.read[i].connection {
			next = a.read[i+1].at
		}
		a.other[i] = next
	}
	return a
}

// byPackets takes packets for what an actor read and wrote, where that is not recorded: those that its threads sent, and those of the same connections
// that came before a turn. Where many actors sent on one of these connections, it is not known which of them read.
func (a *actor) byPackets(h *Host, threads []int32) {
	if h.sentBy == nil {
		h.findSenders()
	}
	ways := make(map[way]bool)
	for _, tid := range threads {
		a.wrote = append(a.wrote, h.sentBy[tid]...)
		for i := range h.sentBy[tid] {
			ways[h.sentBy[tid][i].way] = true
		}
	}
	for k := range ways {
		if h.crowded[k] {
			a.read = nil
			return
		}
		first := true
		for _, p := range h.received[k.back()] {
			if p.Length > 0 {
				a.read = append(a.read, moved{transfer{a.takes(p.At, first), threads[0], p.Seq, p.Seq + p.Length}, k.back()})
				first = false
			}
		}
	}
}

// findSenders finds what threads sent, and on which ways more actors sent than may be.
func (h *Host) findSenders() {
	h.sentBy, h.crowded = make(map[int32][]moved), make(map[way]bool)
	for k, list := range h.sent {
		senders := make(map[int32]bool) // by one thread of each
		for _, p := range list {
			if !p.inCall || p.Length == 0 || p.after != nil {
				continue
			}
			h.sentBy[p.tid] = append(h.sentBy[p.tid], moved{transfer{p.At, p.tid, p.Seq, p.Seq + p.Length}, k})
			one := p.tid
			if program := h.programOf(one); program != nil {
				one = program.threads[0]
			}
			senders[one] = true
		}
		if len(senders) > mostSenders {
			h.crowded[k] = true
		}
	}
}

// takes returns when an actor takes up at the earliest what came at an instant: when it next has looked for what has come, or has work. What came
// first of a connection is not taken up in the turn in which a connection was accepted.
func (a *actor) takes(at int64, first bool) int64 {
	if a.thread == nil {
		if i := sort.Search(len(a.busy), func(i int) bool { return a.busy[i].end >= at }); i < len(a.busy) {
			return max(at, a.busy[i].begin+1)
		}
		return at
	}
	for i := sort.Search(len(a.looked), func(i int) bool { return a.looked[i] >= at }); i < len(a.looked); i++ {
		if !first || !a.thread.accepts(a.looked[i]) {
			return a.looked[i] + 1
		}
	}
	return at
}

// accepts reports whether a thread accepts a connection before it looks again for what has come.
func (t *thread) accepts(looked int64) bool {
	for i := sort.Search(len(t.calls), func(i int) bool { return t.calls[i].begin > looked }); i < len(t.calls) && !t.calls[i].loops(); i++ {
		if strings.HasPrefix(t.calls[i].name, "accept") && t.calls[i].result >= 0 {
			return true
		}
	}
	return false
}

// work appends the stretches in which a thread ran or could have run.
func (t *thread) work(list []stretch) []stretch {
	for i := range t.states {
		if t.states[i].kind == blocked {
			continue
		}
		end := int64(never)
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
		return a.threadTurn(at)
	}
	i := sort.Search(len(a.busy), func(i int) bool { return a.busy[i].end >= at })
	if i == len(a.busy) || a.busy[i].begin > at {
		return at, at
	}
	return a.busy[i].begin, a.busy[i].end
}

// turns finds where a thread's turns begin and end: at its waits, and its looks for what has come.
func (t *thread) turns(a *actor) {
	for i := range t.states {
		if t.states[i].kind != blocked {
			continue
		}
		a.ends = append(a.ends, t.states[i].begin)
		if i+1 < len(t.states) {
			a.begins = append(a.begins, t.states[i+1].begin)
		}
	}
	for i := range t.calls {
		c := &t.calls[i]
		if !c.loops() {
			continue
		}
		a.ends = append(a.ends, c.begin)
		if c.end < 1<<62 {
			a.looked = append(a.looked, c.end)
		}
	}
	a.begins = append(a.begins, a.looked...)
	slices.Sort(a.begins)
	slices.Sort(a.ends)
}

// threadTurn returns the begin and the end of a thread's turn at an instant: nothing but the instant while it waits.
func (a *actor) threadTurn(at int64) (begin, end int64) {
	states := a.thread.states
	if i := sort.Search(len(states), func(i int) bool { return states[i].begin > at }) - 1; i >= 0 && states[i].kind == blocked {
		return at, at
	}
	begin, end = -1<<63, never
	if i := sort.Search(len(a.begins), func(i int) bool { return a.begins[i] > at }); i > 0 {
		begin = a.begins[i-1]
	}
	if i := sort.Search(len(a.ends), func(i int) bool { return a.ends[i] > at }); i < len(a.ends) {
		end = a.ends[i]
	}
	return begin, end
}

// nextRead returns the number of an actor's first reading after an instant.
func (a *actor) nextRead(at int64) int {
	return sort.Search(len(a.read), func(i int) bool { return a.read[i].at > at })
}

// readsAlone reports whether all that an actor read in (from, to] was of one connection.
func (a *actor) readsAlone(connection int32, from, to int64) bool {
	i := a.nextRead(from)
	return i == len(a.read) || a.read[i].at > to || a.read[i].connection == connection && a.other[i] > to
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
	if x.connection == request.Connection || !w.asks(x.way) || !a.readsAlone(x.connection, begin, until) {
		return input{}, false
	}
	in = input{at: x.at, reply: h.holder(x)}
	if in.reply == nil || in.reply.At <= request.At {
		return input{}, false
	}
	if !a.begunBy(h, until, in.reply) {
		return input{}, false
	}
	if a.writesAtOnce(h) {
		return in, a.wroteAlone(x, request.Connection, x.connection) && w.ofOne(in.reply)
	}
	if !a.wroteAlone(x, request.Connection) {
		return input{}, false
	}
	in.forward = a.forwarded(h, request, x.back(), in.reply.At)
	return in, in.forward != nil && a.passes(x.way)
}

// follows returns until when an actor wrote what follows from a reading: until it read of another connection or its turn was over.
func (a *actor) follows(at int64, connection int32) int64 {
	_, end := a.turn(at)
	switch i := a.nextRead(at); {
	case i == len(a.read):
		return end
	case a.read[i].connection != connection:
		return min(end, a.read[i].at)
	default:
		return min(end, a.other[i])
	}
}

// forwarded returns the packet of a way that the reading of a request made an actor write before it read anything else; nil where it wrote none
// until an instant, or much else meanwhile.
func (a *actor) forwarded(h *Host, request *packet, to way, until int64) *packet {
	list := between(a.read, request.At, until)
	list = list[:min(len(list), mostTransfers)]
	read := slices.IndexFunc(list, func(x moved) bool {
		return x.way == wayOf(request.Packet) && int32(x.behind-(request.Seq+request.Length)) >= 0
	})
	if read < 0 {
		return nil
	}
	if begin, _ := a.turn(list[read].at); !a.readsAlone(request.Connection, begin, list[read].at) { // it may be what was read before that it passes on
		return nil
	}
	wrote := between(a.wrote, list[read].at, min(a.follows(list[read].at, request.Connection), until-1))
	for i := range wrote[:min(len(wrote), mostTransfers)] {
		if wrote[i].way == to {
			return carrier(h.sent[to], &wrote[i])
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
	if a.passing == nil {
		a.findPassing()
	}
	return a.passing[k]
}

// findPassing looks at all readings once.
func (a *actor) findPassing() {
	back := make(map[int32][]moved) // what was written, by connection
	for i := range a.wrote {
		back[a.wrote[i].connection] = append(back[a.wrote[i].connection], a.wrote[i])
	}
	read, passed, dropped := make(map[way]int), make(map[way]int), make(map[way]int)
	for i := range a.read {
		x := &a.read[i]
		read[x.way]++
		end := a.follows(x.at, x.connection)
		if len(between(a.wrote, x.at, end)) > 0 && len(between(back[x.connection], x.at, end)) == 0 {
			passed[x.way]++
		}
		if _, over := a.turn(x.at); over == end && len(between(a.wrote, x.at, end)) == 0 {
			dropped[x.way]++
		}
	}
	a.passing = make(map[way]bool)
	all := 0
	for _, n := range dropped {
		all += n
	}
	if all*mostDropped > len(a.read) { // it keeps requests back: what it writes after another's may be them
		return
	}
	for k, n := range read {
		a.passing[k] = passed[k] >= fewestPassed && (n-passed[k])*mostNotPassed <= n && dropped[k]*mostDropped <= n
	}
}
