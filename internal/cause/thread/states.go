package thread

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"meridian/internal/cause"
)

// StateSum is how often and how long a thread was in a state within a stretch.
type StateSum struct {
	Row     int    `json:"row"`
	State   string `json:"state"`          // running, runnable, blocked, ended, not known
	Why     string `json:"why,omitempty"`  // of blocked: what ended the wait; of runnable: how it began
	Call    string `json:"call,omitempty"` // of blocked: the system call in progress
	Count   int64  `json:"count"`          // how often it is there at some instant of the stretch
	Sum     int64  `json:"sum"`            // ns within the stretch
	Longest int64  `json:"longest"`        // ns within the stretch
}

// Bits of the state in which a thread is left (linux/sched.h) that say why it does not go on by itself.
const (
	stopped = 0x4 | 0x8          // by a signal or a debugger
	exited  = 0x10 | 0x20 | 0x80 // EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD
)

// Recorded reports whether the states of a host's threads are known.
func (w *World) Recorded(host int) bool {
	return host >= 0 && host < len(w.hosts) && w.hosts[host] != nil && w.hosts[host].switches > 0
}

// States sums up what the threads on wanted rows did in [from, to), those that took most first. Of each thread the sums add up to the
// stretch: what was before its first event, or after its host's last, is "not known". Goroutines are left out. The cost is some 0.1 us for
// each state, on all processors. No events may be added meanwhile.
func (w *World) States(ctx context.Context, from, to int64, wanted func(row int) bool) ([]StateSum, error) {
	parts := make(chan []StateSum)
	group, ctx := errgroup.WithContext(ctx)
	go func() {
		defer close(parts)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for _, h := range w.hosts {
			if h == nil || h.switches == 0 || to <= from {
				continue
			}
			for tid, th := range h.threads {
				if tid <= 0 || th.row < 0 || len(th.states) == 0 || !wanted(th.row) {
					continue
				}
				group.Go(func() error {
					if ctx.Err() == nil {
						parts <- h.states(th, tid, from, to)
					}
					return ctx.Err()
				})
			}
		}
		_ = group.Wait() // it is told again below
	}()
	var out []StateSum
	for list := range parts {
		out = append(out, list...)
	}
	slices.SortFunc(out, func(a, b StateSum) int {
		return cmp.Or(cmp.Compare(b.Sum, a.Sum), cmp.Compare(a.Row, b.Row), cmp.Compare(a.State, b.State), cmp.Compare(a.Why, b.Why), cmp.Compare(a.Call, b.Call))
	})
	return out, group.Wait()
}

// states sums up what one thread did in [from, to).
func (h *Host) states(th *thread, tid int32, from, to int64) []StateSum {
	type key struct{ state, why, call string }
	sums := make(map[key]*StateSum)
	// Most states are the same as one before: their sums are found without the map.
	var recent [4]struct {
		key
		sum *StateSum
	}
	oldest := 0
	find := func(k key) *StateSum {
		for i := range recent {
			if r := &recent[i]; r.sum != nil && r.key == k {
				return r.sum
			}
		}
		x := sums[k]
		if x == nil {
			x = &StateSum{Row: th.row, State: k.state, Why: k.why, Call: k.call}
			sums[k] = x
		}
		recent[oldest].key, recent[oldest].sum = k, x
		oldest = (oldest + 1) % len(recent)
		return x
	}
	add := func(state, why, call string, begin, end int64) {
		length := min(end, to) - max(begin, from)
		if length <= 0 {
			return
		}
		x := find(key{state, why, call})
		x.Count, x.Sum, x.Longest = x.Count+1, x.Sum+length, max(x.Longest, length)
	}
	first, last := th.states[0].begin, max(h.last, th.states[len(th.states)-1].begin)
	add("not known", "before its first event", "", from, min(first, to))
	ended := false
	for i := max(th.at(from+1), 0); i < len(th.states) && th.states[i].begin < to; i++ {
		s, end := &th.states[i], last
		if i+1 < len(th.states) {
			end = th.states[i+1].begin
		}
		switch {
		case s.kind == running:
			add("running", "", "", s.begin, end)
		case s.kind == runnable && i > 0 && th.states[i-1].kind == blocked:
			add("runnable", "woken", "", s.begin, end)
		case s.kind == runnable:
			add("runnable", "preempted or yielded", "", s.begin, end)
		case s.left&exited != 0 && s.wake < 0:
			if ended = i+1 == len(th.states); ended {
				end = to
			}
			add("ended", "", "", s.begin, end)
		default:
			add("blocked", h.why(th, tid, i), th.callOf(s).name, s.begin, end)
		}
	}
	if !ended {
		add("not known", "after the last event of its host", "", max(from, last), to)
	}
	out := make([]StateSum, 0, len(sums))
	for _, x := range sums {
		out = append(out, *x)
	}
	return out
}

// why says for people what ended a wait.
func (h *Host) why(th *thread, tid int32, i int) string {
	s := &th.states[i]
	if s.left&stopped != 0 {
		return "stopped"
	}
	if s.wake < 0 {
		return cause.WakeUnknown.Words(cause.NoWait)
	}
	switch r := h.reason(th, tid, i, s.begin, true); r.state {
	case cause.SoftIRQ:
		return "packet"
	case cause.Unnamed:
		if r.wait == cause.ForLock {
			return cause.Lock.Words(cause.NoWait)
		}
		return "another thread"
	default:
		return r.state.Words(cause.NoWait)
	}
}
