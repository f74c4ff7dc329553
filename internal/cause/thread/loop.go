package thread

import (
	"cmp"
	"slices"
	"sort"

	"meridian/internal/cause"
)

// A thread that serves several requests by turns, as event loops do, is woken for any of them. What ended its wait is then no reason why one of
// them waited: another client's request, another's reply, a timer of another task. What tells is what the thread read last before it went on with
// a request: a reply to what had been asked since the request came. Where that is not so, it is not known what the request waited for.

// moved is bytes that a thread wrote or read, with where.
type moved struct {
	transfer
	way
}

// movedBy returns what threads moved, by thread and in order of time.
func movedBy(all map[way][]transfer) map[int32][]moved {
	by := make(map[int32][]moved)
	for k, list := range all {
		for _, x := range list {
			by[x.tid] = append(by[x.tid], moved{x, k})
		}
	}
	for _, list := range by {
		slices.SortFunc(list, func(a, b moved) int { return cmp.Compare(a.at, b.at) })
	}
	return by
}

// moves sorts what threads moved by thread, once. All events were added before.
func (h *Host) moves() {
	if h.readBy == nil {
		h.readBy, h.wroteBy = movedBy(h.read), movedBy(h.wrote)
	}
}

// between returns what a list has in (from, to].
func between(list []moved, from, to int64) []moved {
	i := sort.Search(len(list), func(i int) bool { return list[i].at > from })
	k := sort.Search(len(list), func(i int) bool { return list[i].at > to })
	return list[i:max(i, k)]
}

// asks reports whether bytes of a direction are a client's.
func (w *World) asks(k way) bool { return w.Client != nil && k.direction == w.Client(k.connection) }

// shared reports whether a thread served others beside a request, from its arrival until an instant: requests of other connections, of which it
// read or wrote bytes, or others of the same.
func (w *World) shared(h *Host, tid int32, request *packet, until int64) bool {
	h.moves()
	own := wayOf(request.Packet)
	for _, x := range between(h.readBy[tid], request.At, until) {
		if x.connection != own.connection && w.asks(x.way) {
			return true
		}
	}
	for _, x := range between(h.wroteBy[tid], request.At, until) {
		if x.connection != own.connection && w.asks(x.back()) {
			return true
		}
	}
	return h.others(request, request.At, until, func(x *served) bool {
		return x.request.Connection == own.connection || h.owner[wayOf(x.request).back()] == tid
	})
}

// holder returns the packet by which the last byte of what was read had come; nil where it is not recorded.
func (h *Host) holder(x *moved) *packet {
	list := h.received[x.way]
	i := sort.Search(len(list), func(i int) bool { return list[i].At > x.at }) - 1
	for n := 0; i >= 0 && n < mostTransfers; i, n = i-1, n+1 {
		if p := list[i]; p.Length > 0 && x.behind-1-p.Seq < p.Length {
			return p
		}
	}
	return nil
}

// input is what a thread read last before it went on with a request.
type input struct {
	at      int64
	reply   *packet // that brought the last of it, if it answers what was asked since the request came
	forward *packet // by which the request was passed on, where the reply is another client's and answers that
	none    bool    // it read nothing, or the request itself
}

// input returns what a thread read last up to an instant, since a request came. Of several connections that it read one after the other, without
// writing between, any may be what it goes on with.
func (w *World) input(h *Host, tid int32, request *packet, until int64) input {
	if in, known := w.passedOn(h, tid, request, until); known {
		return in
	}
	list, wrote := between(h.readBy[tid], request.At, until), h.wroteBy[tid]
	own := func(x *moved) bool {
		return x.way == wayOf(request.Packet) && int32(x.behind-(request.Seq+request.Length)) <= 0
	}
	if len(list) == 0 {
		if a := h.actorOf(tid); len(h.read) == 0 && a.thread != nil { // what came of others may have been read, and served
			if came := between(a.read, request.At, until); len(came) > 0 && !own(&came[len(came)-1]) {
				return input{at: came[len(came)-1].at}
			}
		}
		return input{at: request.At, none: true}
	}
	x := &list[len(list)-1]
	in := input{at: x.at, none: own(x)}
	if in.none || w.asks(x.way) {
		return in
	}
	for i := len(list) - 2; i >= 0 && len(between(wrote, list[i].at, x.at)) == 0; i-- {
		if list[i].way != x.way && !own(&list[i]) {
			return in
		}
	}
	if p := h.holder(x); p != nil && p.At > request.At {
		if asked := before(h.sent[x.back()], p.At); asked != nil && asked.At >= request.At {
			in.reply = p
		}
	}
	return in
}

// polls reports whether a state is a wait for whatever comes first.
func (t *thread) polls(s *state) bool {
	if s.call < 0 || s.left&stopped != 0 {
		return s.left&stopped == 0 && !s.sleepsDeeply()
	}
	c := &t.calls[s.call]
	return c.loops() || c.name == "io_uring_enter"
}

// loop walks a thread that serves others beside a request, from t back to a bound.
func (w *walk) loop(of waiter, th *thread, t, bound int64, request *packet) {
	for t > bound {
		in := w.input(of.h, of.tid, request, t)
		stop := bound
		switch {
		case in.reply != nil:
			stop = max(in.reply.At, bound)
		case !in.none:
			stop = max(in.at, bound)
		}
		mark := len(w.pieces)
		var woken bool
		switch t, woken = w.turn(of, th, t, stop, in.at, request); {
		case !woken:
			w.queued(mark, in.at)
		case in.none:
			w.met = request
		}
		if t > stop && in.forward != nil { // another of the program's threads had read it
			w.add(of, cause.ThreadUnknown, stop, t, "")
			t = stop
		}
		if t > stop || in.reply == nil {
			w.add(of, cause.RequestUnknown, bound, t, "the thread served others meanwhile")
			return
		}
		if stop == bound || of.depth > mostDepth {
			w.add(of, cause.Unrecorded, bound, t, "")
			return
		}
		at, who := w.arrived(of, in.reply, in.forward, bound)
		switch {
		case at >= t || who <= 0:
			w.add(of, cause.AskerUnknown, bound, at, "")
			return
		case who != of.tid:
			w.thread(waiter{h: of.h, tid: who, wait: cause.ForThread, depth: of.depth + 1, at: of.at}, at, bound, nil)
			return
		}
		t = at
	}
}

// turn walks what a thread did from t back to an instant at which something came that it took up later. It returns how far: less where the thread
// waited meanwhile for whatever would come first, which was not that; and whether that woke it.
func (w *walk) turn(of waiter, th *thread, t, stop, taken int64, request *packet) (at int64, woken bool) {
	for t > stop {
		i := th.at(t)
		if w.steps++; w.steps > mostSteps || i < 0 {
			return t, false
		}
		s := &th.states[i]
		from := max(s.begin, stop)
		switch {
		case s.kind == running:
			w.add(of, cause.CPU, from, t, "")
		case s.kind == runnable:
			w.add(of, cause.RunQueue, from, t, of.h.ran(s.cpu, from, t))
		case !th.polls(s):
			from = w.blocked(of, th, i, from, t, stop, request)
		case s.begin <= stop && s.wake >= 0 && of.h.wakes[s.wake].packet != nil && (of.h.wakes[s.wake].at <= taken || of.h.wakes[s.wake].packet == request):
			w.add(of, cause.SoftIRQ, from, t, "")
			woken = true
		default:
			return t, woken
		}
		t = from
	}
	return t, woken
}
