package thread

import (
	"sort"
	"strings"

	"meridian/internal/cause"
)

// GoState is what a goroutine does.
type GoState uint8

const (
	GoRuns  GoState = iota // on a thread
	GoCalls                // a system call, on the same thread
	GoReady                // it could run
	GoWaits
)

// goroutineID names a goroutine of a program.
type goroutineID struct {
	program int
	id      int64
}

// goroutine returns the number of a goroutine among the threads, which is below 0.
func (h *Host) goroutine(g goroutineID) int32 {
	n, known := h.goroutines[g]
	if !known {
		n = -2 - int32(len(h.goroutines))
		h.goroutines[g] = n
	}
	return n
}

// Goroutine adds that a goroutine of a program began a state: on which thread it runs, why it waits, or which other made it ready
// (0 for none).
func (h *Host) Goroutine(at int64, program int, id int64, row int, is GoState, reason string, tid int32, by int64) {
	n := h.goroutine(goroutineID{program, id})
	t := h.thread(n)
	t.row = row
	h.rows[row] = true
	var before *state
	if len(t.states) > 0 {
		before = &t.states[len(t.states)-1]
	}
	if before != nil && before.kind == running && is != GoCalls && h.on[before.thread] == n {
		delete(h.on, before.thread)
	}
	switch is {
	case GoRuns:
		t.states = append(t.states, state{begin: at, kind: running, call: -1, wake: -1, cpu: -1, thread: tid})
		h.on[tid] = n
	case GoCalls: // its thread tells the rest
	case GoReady:
		if before != nil && before.kind == blocked {
			w := wake{at: at, cpu: -1}
			if by > 0 {
				w.waker = h.goroutine(goroutineID{program, by})
			}
			h.wakes = append(h.wakes, w)
			before.wake = int32(len(h.wakes) - 1)
		}
		t.states = append(t.states, state{begin: at, kind: runnable, call: -1, wake: -1, cpu: -1})
	default:
		t.states = append(t.states, state{begin: at, kind: blocked, call: -1, wake: -1, cpu: -1, reason: reason})
	}
}

// parked resolves a goroutine's wait, as blocked does a thread's.
func (w *walk) parked(of waiter, s *state, from, t, bound int64, request *packet) int64 {
	if s.wake < 0 {
		w.add(of, cause.WakeUnknown, from, t, s.reason)
		return from
	}
	k := &of.h.wakes[s.wake]
	if k.at > t {
		w.add(of, cause.AskerUnknown, from, t, s.reason)
		return from
	}
	t = k.at
	switch {
	case s.reason == "sleep":
		w.add(of, cause.Sleep, from, t, s.reason)
	case strings.HasPrefix(s.reason, "GC"):
		w.add(of, cause.Collector, from, t, s.reason)
	case k.waker != 0 && k.waker != of.tid && of.depth < mostDepth:
		next := waiter{h: of.h, tid: k.waker, wait: of.wait, depth: of.depth + 1}
		if next.wait == cause.NoWait {
			if next.wait = cause.ForThread; s.reason == "sync" || strings.HasPrefix(s.reason, "sync.") {
				next.wait = cause.ForLock
			}
		}
		w.thread(next, t, from, nil)
	case s.reason == "network":
		p := of.h.packetOf(of.tid, s.begin, t)
		switch {
		case p == nil: // a pipe, or what is not recorded
			w.add(of, cause.WakerUnknown, from, t, s.reason)
			return from
		case p.At < bound:
			w.add(of, cause.Poller, from, t, "")
			return from
		}
		w.polled(of, p.At, t)
		return w.answered(of, p, s.begin, from, bound, request)
	default:
		w.add(of, cause.WakerUnknown, from, t, s.reason)
	}
	return from
}

// polled goes over the time from a packet's arrival until its goroutine was made ready. In it the thread that polled may have waited for a processor.
func (w *walk) polled(of waiter, from, t int64) {
	th := of.h.poller(from, t)
	for t > from {
		i := -1
		if th != nil {
			i = th.at(t)
		}
		if i < 0 {
			w.add(of, cause.Poller, from, t, "")
			return
		}
		s := &th.states[i]
		begin := max(s.begin, from)
		if s.kind == runnable {
			w.add(of, cause.RunQueue, begin, t, of.h.ran(s.cpu, begin, t))
		} else {
			w.add(of, cause.Poller, begin, t, "")
		}
		t = begin
	}
}

// poller returns the thread whose wait for descriptors last ended with some in (from, to]; nil if there was none.
func (h *Host) poller(from, to int64) (who *thread) {
	last := from
	for _, th := range h.threads {
		for i := sort.Search(len(th.calls), func(i int) bool { return th.calls[i].begin >= to }) - 1; i >= 0 && th.calls[i].end > from; i-- {
			if c := &th.calls[i]; waits[c.name] && c.result > 0 && c.end > last && c.end <= to {
				who, last = th, c.end
			}
		}
	}
	return who
}

// packetOf returns the packet for which a goroutine waited: the last with payload that it read, or else on a connection on which it sends; else the
// last of its host, if all were of one connection. nil where that is not known.
func (h *Host) packetOf(tid int32, from, to int64) *packet {
	var own, last *packet
	several := false
	for i := sort.Search(len(h.all), func(i int) bool { return h.all[i].At > to }) - 1; i >= 0 && h.all[i].At >= from; i-- {
		p := h.all[i]
		if p.Length == 0 {
			continue
		}
		switch x, known := h.reader(p); {
		case known && x.tid == tid:
			return p
		case known && x.tid < 0: // another goroutine read it
			continue
		}
		if own == nil && h.owner[wayOf(p.Packet).back()] == tid {
			own = p
		}
		if last == nil {
			last = p
		}
		several = several || p.Connection != last.Connection
	}
	if own == nil && !several {
		return last
	}
	return own
}
