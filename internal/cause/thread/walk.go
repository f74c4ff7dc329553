package thread

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
)

const (
	mostSteps = 20_000
	mostDepth = 40
	// delayedACK is how long the receiver keeps an acknowledgement at least that counts as delayed, ns: kernels wait 40 ms or more, and
	// others acknowledge at once.
	delayedACK = 5_000_000
)

// walk collects pieces from the last to the first.
type walk struct {
	*World
	pieces []cause.Piece
	steps  int
	met    *packet // the request that the walk came back to by the wake-up that it made
}

// waiter is a thread with what others wait for it for.
type waiter struct {
	h     *Host
	tid   int32
	wait  cause.Wait
	depth int
	at    *packet // whose row stands for the host where no thread has one; nil: the host's
}

// Path returns the critical path of a request, from its first packet to its last; false where the hosts' events do not tell.
func (w *World) Path(r *wire.Request) ([]cause.Piece, bool) {
	last, asked := w.of[r.Last], w.of[r.Sent]
	if last == nil || asked == nil || r.Overlaps {
		return nil, false
	}
	if r.ByServer {
		return w.serverPath(r, last, asked)
	}
	x := &walk{World: w}
	h := w.hosts[last.Host]
	client := waiter{h: h, tid: h.owner[wayOf(asked.Packet)], at: asked}
	switch q, came := w.other(last), w.other(asked); {
	case q != nil && came != nil && q.At < came.At: // the reply was not one to this
		return nil, false
	case q == nil || came == nil:
		x.add(client, cause.Peer, asked.At, last.At, "")
	default:
		x.way(q, last, 0)
		x.away(q, came, 1)
		x.way(asked, came, 0)
	}
	from := w.of[r.First].At
	t, who := x.sent(client, asked, from)
	x.thread(waiter{h: h, tid: who, at: asked}, t, from, nil)
	slices.Reverse(x.pieces)
	x.tie()
	return x.pieces, true
}

// serverPath returns the path of a request whose client is not recorded, from its first packet's arrival to the sending of the reply's last.
func (w *World) serverPath(r *wire.Request, last, asked *packet) ([]cause.Piece, bool) {
	first := w.of[r.First]
	if first == nil || last.At < asked.At {
		return nil, false
	}
	x := &walk{World: w}
	x.away(last, asked, 0)
	x.add(waiter{h: w.hosts[first.Host], tid: -1, at: first}, cause.Peer, first.At, asked.At, "")
	slices.Reverse(x.pieces)
	x.tie()
	return x.pieces, true
}

// Between returns the path of a thread from one instant to a later one.
func (w *World) Between(host int, tid int32, from, to int64) ([]cause.Piece, bool) {
	if host < 0 || host >= len(w.hosts) || w.hosts[host] == nil || w.hosts[host].threads[tid] == nil {
		return nil, false
	}
	x := &walk{World: w}
	x.thread(waiter{h: w.hosts[host], tid: tid}, to, from, nil)
	slices.Reverse(x.pieces)
	x.tie()
	return x.pieces, true
}

func (w *walk) add(of waiter, s cause.State, from, to int64, detail string) {
	if to <= from {
		return
	}
	row, known := of.h.rowOf(of.tid)
	if !known && of.at != nil {
		row = of.at.Row
	}
	w.pieces = append(w.pieces, cause.Piece{Row: row, From: -1, Begin: from, End: to, Class: -1, Depth: of.depth, State: s, Wait: of.wait, Detail: detail})
}

// way adds a packet on its way, from thread to thread where these are known.
func (w *walk) way(sent, received *packet, depth int) {
	p := cause.Piece{Begin: sent.At, End: received.At, Class: -1, Depth: depth}
	p.From, p.Loose[0] = w.hosts[sent.Host].sender(sent)
	p.Row, p.Loose[1] = w.hosts[received.Host].receiver(received)
	w.pieces = append(w.pieces, p)
}

// tie leads messages of which the thread is not known to the thread that the path goes on with there, before the sending or after the receiving.
func (w *walk) tie() {
	thread := func(i, host int) (int, bool) {
		if i < 0 || i >= len(w.pieces) || w.pieces[i].From >= 0 {
			return 0, false
		}
		row := w.pieces[i].Row
		return row, w.model.Hosts[row] == host && w.hosts[host].rows[row]
	}
	for i := range w.pieces {
		p := &w.pieces[i]
		if p.From < 0 {
			continue
		}
		if row, is := thread(i-1, w.model.Hosts[p.From]); is && p.Loose[0] {
			p.From = row
		}
		if row, is := thread(i+1, w.model.Hosts[p.Row]); is && p.Loose[1] {
			p.Row = row
		}
	}
}

// named says which packet one is.
func (w *walk) named(p *packet) string {
	ends := ""
	if w.Ends != nil {
		from, to := w.Ends(p.Connection, p.Direction)
		ends = fmt.Sprintf("%s → %s, ", from, to)
	}
	return fmt.Sprintf("%s%d bytes from sequence number %d", ends, p.Length, p.Seq)
}

// thread walks a thread back from t to a bound. Request is the packet that began what it does, which it may have waited for.
func (w *walk) thread(of waiter, t, bound int64, request *packet) {
	th := of.h.threads[of.tid]
	if of.h.switches == 0 {
		w.host(of, t, bound, request)
		return
	}
	if request != nil && th != nil && of.tid > 0 && w.shared(of.h, of.tid, request, t) {
		w.loop(of, th, t, bound, request)
		return
	}
	for t > bound {
		if w.steps++; w.steps > mostSteps || th == nil {
			w.add(of, cause.Unrecorded, bound, t, "")
			return
		}
		i := th.at(t)
		if i < 0 {
			w.add(of, cause.Unrecorded, bound, t, "")
			return
		}
		s := &th.states[i]
		from := max(s.begin, bound)
		switch s.kind {
		case running:
			if s.thread > 0 && of.h.threads[s.thread] != nil {
				w.thread(waiter{h: of.h, tid: s.thread, wait: of.wait, depth: of.depth, at: of.at}, t, from, nil)
			} else {
				w.add(of, cause.CPU, from, t, "")
			}
			t = from
		case runnable:
			w.add(of, cause.RunQueue, from, t, of.h.ran(s.cpu, from, t))
			t = from
		default:
			if of.tid < 0 {
				t = w.parked(of, s, from, t, bound, request)
				break
			}
			t = w.blocked(of, th, i, from, t, bound, request)
		}
	}
}

// ran says which thread had a processor longest meanwhile.
func (h *Host) ran(cpu int32, from, to int64) string {
	list := h.tenures[cpu]
	longest, who := int64(0), int32(-1)
	for i := max(sort.Search(len(list), func(i int) bool { return list[i].begin > from })-1, 0); i < len(list) && list[i].begin < to; i++ {
		end := to
		if i+1 < len(list) {
			end = min(to, list[i+1].begin)
		}
		if d := end - max(from, list[i].begin); d > longest {
			longest, who = d, list[i].tid
		}
	}
	switch {
	case who < 0:
		return fmt.Sprintf("CPU %d", cpu)
	case who == 0:
		return fmt.Sprintf("CPU %d was idle", cpu)
	}
	return fmt.Sprintf("CPU %d ran thread %d", cpu, who)
}

// blocked resolves a wait from an instant to t by what ended it, and returns how far back that led.
func (w *walk) blocked(of waiter, th *thread, i int, from, t, bound int64, request *packet) int64 {
	s := &th.states[i]
	if s.wake < 0 {
		w.add(of, cause.WakeUnknown, from, t, th.callOf(s).name)
		return from
	}
	k := &of.h.wakes[s.wake]
	if k.at > t { // the path came back in the midst of the wait: an interrupt sent what the thread had asked to send
		w.add(of, cause.AskerUnknown, from, t, th.callOf(s).name)
		return from
	}
	t = k.at
	r := of.h.reason(th, of.tid, i, from, of.depth < mostDepth)
	switch r.state {
	case cause.SoftIRQ:
		return w.byPacket(of, s, k, from, t, bound, request)
	case cause.Unnamed:
		if c := th.callOf(s); of.h.isParked(of.tid, &c) {
			return w.unparked(of, r.waker, from, t, bound, request)
		}
		next := waiter{h: of.h, tid: r.waker, wait: cmp.Or(of.wait, r.wait), depth: of.depth + 1, at: of.at}
		w.thread(next, t, from, nil)
	case cause.Timer:
		if other := of.h.beside(of.tid, from, t); other > 0 { // what was waited for may have been there
			r.state, r.detail = cause.ThreadUnknown, fmt.Sprintf("its timer, or thread %d, which had work", other)
		}
		w.add(of, r.state, from, t, r.detail)
	default:
		w.add(of, r.state, from, t, r.detail)
	}
	return from
}

// byPacket resolves a wait that a packet ended.
func (w *walk) byPacket(of waiter, s *state, k *wake, from, t, bound int64, request *packet) int64 {
	p := of.h.waited(k, of.tid)
	if p.At < bound {
		w.add(of, cause.SoftIRQ, from, t, "")
		return from
	}
	w.add(of, cause.SoftIRQ, p.At, t, "")
	return w.answered(of, p, s.begin, from, bound, request)
}

// answered goes on from a packet that ended a wait, which began at an instant. It returns how far back that led.
func (w *walk) answered(of waiter, p *packet, begun, from, bound int64, request *packet) int64 {
	if p == request || of.depth > mostDepth {
		if p == request {
			w.met = p
			w.add(of, cause.Unrecorded, bound, p.At, "")
		}
		return bound
	}
	at, who := w.arrived(of, p, nil, bound)
	if at <= begun || at <= bound {
		return max(at, bound)
	}
	// Another thread of this host asked: on with that, as far as this one waited.
	if who == of.tid || who == 0 || who == -1 || of.depth > mostDepth {
		w.add(of, cause.AskerUnknown, from, at, "")
		return from
	}
	w.thread(waiter{h: of.h, tid: who, wait: cause.ForThread, depth: of.depth + 1, at: of.at}, at, from, nil)
	return from
}

// waited returns the packet that a thread was woken by: of those that came just before on the processor, the last on a connection
// that the thread reads or sends on; else the last of all.
func (h *Host) waited(k *wake, tid int32) *packet {
	var own *packet
	for i := sort.Search(len(h.all), func(i int) bool { return h.all[i].At > k.at }) - 1; i >= 0 && h.all[i].At > k.at-200_000; i-- {
		p := h.all[i]
		if p.cpu != k.packet.cpu {
			continue
		}
		if x, known := h.reader(p); known && x.tid == tid {
			return p
		}
		if own == nil && h.owner[wayOf(p.Packet).back()] == tid {
			own = p
		}
	}
	return cmp.Or(own, k.packet)
}

// arrived goes on from a packet that a thread waited for, and returns where on its own clock the path came back to its host, and to
// which thread. It answers a packet that is given, else the last that was sent the other way.
func (w *walk) arrived(of waiter, p, asked *packet, bound int64) (int64, int32) {
	q := w.other(p)
	var came *packet
	if asked != nil {
		came = w.other(asked)
	} else {
		asked = before(of.h.sent[wayOf(p.Packet).back()], p.At)
		if q != nil {
			came = before(w.hosts[q.Host].received[wayOf(p.Packet).back()], q.At)
		}
	}
	known := asked != nil && asked.At >= bound
	if q == nil {
		if !known {
			w.add(of, cause.Peer, bound, p.At, "")
			return bound, of.tid
		}
		w.add(of, cause.Peer, asked.At, p.At, "")
		return w.sent(of, asked, bound)
	}
	var from *packet
	if came != nil {
		from = w.other(came)
	}
	if from == nil || of.depth > mostDepth {
		w.add(of, cause.Peer, bound, p.At, "")
		return bound, of.tid
	}
	if !known || from.At < bound {
		// It was asked before the wait began. What happened there counts as far as the wait is long.
		mark := len(w.pieces)
		w.way(q, p, of.depth)
		w.away(q, came, of.depth+1)
		w.way(from, came, of.depth)
		w.cut(mark, p.At-bound)
		return bound, of.tid
	}
	w.way(q, p, of.depth)
	w.away(q, came, of.depth+1)
	w.way(from, came, of.depth)
	return w.sent(of, from, bound)
}

// away goes from the sending of a reply back to the arrival of its request.
func (w *walk) away(q, request *packet, depth int) {
	h := w.hosts[q.Host]
	of := waiter{h: h, tid: q.tid, depth: depth, at: request}
	t := q.At
	if !q.inCall {
		if who, known := h.owner[wayOf(q.Packet)]; known {
			of.tid = who
		}
	}
	if x, known := h.writer(q); known {
		of.tid = x.tid
	}
	if first := w.of[q.Earlier]; q.Earlier != nil && first != nil && first.At > request.At {
		w.add(of, cause.Retransmission, first.At, t, w.named(q))
		t = first.At
	}
	t, of.tid = w.held(of, q, t, request.At)
	mark := len(w.pieces)
	w.thread(of, t, request.At, request)
	w.inTurn(request, mark)
}

// held goes over what kept a packet that was sent when an acknowledgement came.
func (w *walk) held(of waiter, s *packet, t, bound int64) (int64, int32) {
	x, known := of.h.writer(s)
	a := s.after
	if a == nil && known {
		a = of.h.acknowledged(s)
	}
	if a == nil || a.Length > 0 || s.At > t || a.At <= bound || known && x.at >= t {
		return w.kept(of, s, t, bound)
	}
	q := w.other(a)
	if q == nil {
		return w.kept(of, s, t, bound)
	}
	d := before(w.hosts[q.Host].received[wayOf(s.Packet)], q.At)
	if d == nil || w.other(d) == nil || w.other(d).At < bound {
		return w.kept(of, s, t, bound)
	}
	if of.h.switches == 0 { // whose softirq it was is not known
		w.add(of, cause.AtHost, a.At, t, "")
	} else {
		w.add(of, cause.SoftIRQ, a.At, t, "")
	}
	w.way(q, a, of.depth)
	state := cause.Acknowledgement
	if q.At-d.At > delayedACK {
		state = cause.DelayedACK
	}
	w.add(waiter{h: w.hosts[q.Host], tid: -1, depth: of.depth + 1, at: d}, state, d.At, q.At, "")
	w.way(w.other(d), d, of.depth)
	return w.sent(of, w.other(d), bound)
}

// sent goes on from a packet of a host: to the thread that sent it, or to what kept it.
func (w *walk) sent(of waiter, s *packet, bound int64) (int64, int32) {
	if w.steps++; w.steps > mostSteps {
		return s.At, of.tid
	}
	if first := w.of[s.Earlier]; s.Earlier != nil && first != nil {
		w.add(of, cause.Retransmission, max(first.At, bound), s.At, w.named(s))
		if first.At <= bound {
			return bound, of.tid
		}
		return w.sent(of, first, bound)
	}
	who := s.tid
	if !s.inCall {
		who = of.h.owner[wayOf(s.Packet)]
	}
	if x, known := of.h.writer(s); known {
		who = x.tid
	}
	if s.At <= bound {
		return bound, who
	}
	return w.held(waiter{h: of.h, tid: who, wait: of.wait, depth: of.depth, at: s}, s, s.At, bound)
}
