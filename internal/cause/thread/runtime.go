package thread

import (
	"cmp"
	"fmt"
	"sort"

	"meridian/internal/cause"
)

// Programs in Go schedule goroutines on threads themselves. Two habits tell such a program without its symbols. One of its threads, the monitor,
// sleeps for short times and wakes others, and calls nothing else. A thread without a goroutine is parked: it waits for a word of its own.
//
// What a thread did before it was parked says nothing of what it does after: that is what its waker found, or had made ready. The monitor takes
// nothing up: it wakes a thread because another's call lasts, and then that call is what was waited for.

const (
	// leastSleeps is how often a thread has slept that can be told to be a monitor.
	leastSleeps = 16
	// retakes is how long a call lasts at least, ns, whose thread's goroutines a monitor hands to another: it looks every 20 us at most.
	retakes = 20_000
)

// ofMonitor are the calls of a monitor. It sleeps by nanosleep, which C libraries do not use.
var ofMonitor = map[string]bool{"nanosleep": true, "futex": true, "epoll_pwait": true, "getpid": true, "tgkill": true, "rt_sigreturn": true, "sched_yield": true,
	"clone": true, "clone3": true, "rt_sigprocmask": true, "mmap": true, "madvise": true, "gettid": true, "rt_sigaction": true, "sigaltstack": true, "write": true,
	"munmap": true, "mprotect": true, "set_robust_list": true, "rseq": true, "arch_prctl": true, "exit": true}

// rareOfMonitor are calls by which a monitor looks, once a second at most, how many processors its program has: at its affinity and the limit of its
// cgroup (Go 1.25).
var rareOfMonitor = map[string]bool{"sched_getaffinity": true, "pread64": true}

// parks are the calls in which a thread waits that has no goroutine.
var parks = map[string]bool{"futex": true, "epoll_pwait": true, "nanosleep": true, "": true}

// program is threads that wake each other, with a monitor.
type program struct {
	monitor int32
	threads []int32
}

// programOf returns the program in Go of a thread; nil for other threads.
func (h *Host) programOf(tid int32) *program {
	if h.programs == nil {
		h.findPrograms()
	}
	return h.programs[tid]
}

// findPrograms joins threads that woke each other from futexes and keeps what has one monitor. It goes over all states once.
func (h *Host) findPrograms() {
	h.programs = make(map[int32]*program)
	parent := make(map[int32]int32)
	root := func(tid int32) int32 {
		for parent[tid] != 0 {
			if next := parent[parent[tid]]; next != 0 {
				parent[tid] = next // halves the way, so that many threads take no longer
			}
			tid = parent[tid]
		}
		return tid
	}
	monitors := make(map[int32]bool)
	for tid, t := range h.threads {
		if tid <= 0 {
			continue
		}
		monitors[tid] = h.monitors(t)
		for i := range t.states {
			s := &t.states[i]
			if s.kind != blocked || s.wake < 0 || s.call < 0 || t.calls[s.call].name != "futex" {
				continue
			}
			k := &h.wakes[s.wake]
			if k.waker <= 0 || h.context(k, "futex") != InThread {
				continue
			}
			if a, b := root(tid), root(k.waker); a != b {
				parent[a] = b
			}
		}
	}
	groups := make(map[int32]*program)
	several := make(map[int32]bool)
	for tid := range monitors {
		r := root(tid)
		if groups[r] == nil {
			groups[r] = &program{}
		}
		g := groups[r]
		g.threads = append(g.threads, tid)
		if monitors[tid] {
			several[r] = several[r] || g.monitor != 0
			g.monitor = tid
		}
	}
	for r, g := range groups {
		if g.monitor == 0 || several[r] {
			continue
		}
		sort.Slice(g.threads, func(i, k int) bool { return g.threads[i] < g.threads[k] })
		for _, tid := range g.threads {
			h.programs[tid] = g
		}
	}
}

// monitors reports whether a thread does what a monitor does: half of its waits at least are sleeps, and it calls nothing that does work, but for
// what it looks at rarely.
func (h *Host) monitors(t *thread) bool {
	waits, slept, rare := 0, 0, 0
	for i := range t.calls {
		switch name := t.calls[i].name; {
		case rareOfMonitor[name]:
			rare++
		case !ofMonitor[name]:
			return false
		}
	}
	for i := range t.states {
		if s := &t.states[i]; s.kind == blocked && s.call >= 0 {
			if waits++; t.calls[s.call].name == "nanosleep" {
				slept++
			}
		}
	}
	return slept >= leastSleeps && 2*slept >= waits && rare <= 2*slept/leastSleeps
}

// isParked reports whether a thread waits in a call as one of a program in Go without a goroutine.
func (h *Host) isParked(tid int32, c *call) bool {
	return c.name == "futex" && len(h.words[c.word]) == 1 && h.programOf(tid) != nil
}

// unparked goes on from the wake-up of a parked thread with its waker, for all of the time to the bound. Of a monitor it goes on with the thread
// whose call lasted. Where that is not one, it is not known what was waited for.
func (w *walk) unparked(of waiter, waker int32, from, t, bound int64, request *packet) int64 {
	p := of.h.programOf(of.tid)
	byMonitor := waker == p.monitor
	if byMonitor {
		waker = of.h.calling(p, of.tid, t)
	}
	if waker <= 0 || waker == of.tid {
		w.add(of, cause.ThreadUnknown, from, t, fmt.Sprintf("woken by thread %d, which watches the others", p.monitor))
		return from
	}
	next := waiter{h: of.h, tid: waker, wait: of.wait, depth: of.depth, at: of.at}
	if next.wait == cause.NoWait {
		next.wait, next.depth = cause.ForThread, of.depth+1
	}
	if byMonitor {
		t = w.inDisk(next, t, bound)
	}
	w.thread(next, t, bound, request)
	return bound
}

// inDisk goes over a thread's wait for a disk up to an instant in its midst, and returns where it began; the instant if there is none.
func (w *walk) inDisk(of waiter, t, bound int64) int64 {
	th := of.h.threads[of.tid]
	i := th.at(t)
	if i < 0 || th.states[i].kind != blocked || th.states[i].call < 0 || th.states[i].wake < 0 {
		return t
	}
	s := &th.states[i]
	c, until := &th.calls[s.call], of.h.wakes[s.wake].at
	if until <= t || !of.h.mayBeDisk(s, c, s.begin, until) {
		return t
	}
	from := max(s.begin, bound)
	w.add(of, cause.Disk, from, t, cmp.Or(of.h.disk(of.tid, s.begin, until), c.name))
	return from
}

// calling returns the one thread of a program that was in a call so long that a monitor hands its goroutines to another; 0 for none or several.
func (h *Host) calling(p *program, except int32, at int64) (who int32) {
	for _, tid := range p.threads {
		calls := h.threads[tid].calls
		i := sort.Search(len(calls), func(i int) bool { return calls[i].begin >= at }) - 1
		if tid == except || tid == p.monitor || i < 0 || parks[calls[i].name] || calls[i].end < at || at-calls[i].begin < retakes {
			continue
		}
		if who != 0 {
			return 0
		}
		who = tid
	}
	return who
}

// beside returns which other thread of a thread's program in Go had work for half of a stretch at least; 0 for none.
func (h *Host) beside(tid int32, from, to int64) int32 {
	p := h.programOf(tid)
	if p == nil {
		return 0
	}
	for _, other := range p.threads {
		if other != tid && other != p.monitor && 2*h.threads[other].worked(from, to) >= to-from {
			return other
		}
	}
	return 0
}

// worked returns how long a thread ran, could have run, or waited for a disk.
func (t *thread) worked(from, to int64) (sum int64) {
	for i := max(t.at(from+1), 0); i < len(t.states) && t.states[i].begin < to; i++ {
		s := &t.states[i]
		if s.kind == blocked && !s.sleepsDeeply() && (s.call < 0 || !disks[t.calls[s.call].name]) {
			continue
		}
		end := to
		if i+1 < len(t.states) {
			end = min(to, t.states[i+1].begin)
		}
		sum += max(0, end-max(from, s.begin))
	}
	return sum
}
