package thread

import (
	"cmp"

	"meridian/internal/cause"
)

// reason is what ended a thread's wait. A state of Unnamed says that another thread did; SoftIRQ, that a packet did.
type reason struct {
	state  cause.State
	detail string
	waker  int32      // the other thread
	wait   cause.Wait // and whether it had a lock
}

var (
	sleeps = map[string]bool{"nanosleep": true, "clock_nanosleep": true}
	disks  = map[string]bool{"fsync": true, "fdatasync": true, "sync_file_range": true, "pread64": true, "pwrite64": true, "openat": true, "io_getevents": true, "sync": true}
	// waits return 0 when their time is over.
	waits = map[string]bool{"epoll_wait": true, "epoll_pwait": true, "epoll_pwait2": true, "poll": true, "ppoll": true, "select": true, "pselect6": true}
)

const timedOut = -110 // -ETIMEDOUT

// context tells from where a wake-up came where the recording does not say it. Who was on the processor need not be who woke.
func (h *Host) context(k *wake, name string) uint8 {
	if k.context != ContextUnknown {
		return k.context
	}
	switch u := h.threads[k.waker]; {
	case sleeps[name], k.waker == 0:
		return InHardIRQ
	case k.waker > 0 && k.calling:
		return InThread
	case k.waker > 0 && u != nil && len(u.calls) > 0: // its calls are recorded, and it was in none
		return InHardIRQ
	}
	return ContextUnknown
}

// callOf returns the call in which a state began; the zero call where it began in none.
func (t *thread) callOf(s *state) (c call) {
	if s.call >= 0 {
		c = t.calls[s.call]
	}
	return c
}

// reason says what ended a wait, a blocked state that has a wake-up, of which the part from an instant on is asked for. Threads are
// named only if that is wanted.
func (h *Host) reason(th *thread, tid int32, i int, from int64, threads bool) reason {
	s := &th.states[i]
	k, c := &h.wakes[s.wake], th.callOf(s)
	context := h.context(k, c.name)
	byItself := c.name == "futex" && c.result == timedOut || waits[c.name] && c.result == 0 && c.end < 1<<62
	waker := k.waker
	if c.name == "futex" && context != InThread && context != InSoftIRQ {
		if who := h.releasedBy(th, tid, i); who > 0 {
			waker, context, byItself = who, InThread, false
		}
	}
	switch {
	case s.left&stopped != 0: // whoever lets it go on
		return reason{state: cause.Stopped, detail: c.name}
	case byItself && context != InThread && context != InSoftIRQ && c.loops():
		return reason{state: cause.Timer, detail: c.name}
	case byItself && context != InThread && context != InSoftIRQ && c.name == "futex" && len(h.words[c.word]) > 1:
		// A lock for which threads wait by such turns may have been let go just then.
		return reason{state: cause.ThreadUnknown, detail: "futex timed out, for which other threads have waited too"}
	case sleeps[c.name] || byItself && context != InThread && context != InSoftIRQ:
		return reason{state: cause.Sleep, detail: c.name}
	case k.block > 0:
		return reason{state: cause.Disk, detail: h.blocks[k.block-1].words()}
	case context == InSoftIRQ && k.packet != nil:
		return reason{state: cause.SoftIRQ, detail: c.name}
	case h.mayBeDisk(s, &c, from, k.at):
		return reason{state: cause.Disk, detail: cmp.Or(h.disk(tid, from, k.at), c.name)}
	case context == InThread && waker > 0 && waker != tid && threads:
		// A word for which one thread alone ever waits is where that thread is parked; what others wait for too is a lock.
		if c.name == "futex" && len(h.words[c.word]) > 1 || s.left&rtLock != 0 {
			return reason{waker: waker, wait: cause.ForLock, detail: c.name}
		}
		return reason{waker: waker, wait: cause.ForThread, detail: c.name}
	case s.sleepsDeeply():
		return reason{state: cause.Uninterruptible, detail: c.name}
	case context == InHardIRQ || context == InNMI:
		return reason{state: cause.Device, detail: c.name}
	}
	return reason{state: cause.WakerUnknown, detail: c.name}
}

// loops reports whether a call that timed out waits for several things at a time, so that its timer may be that of any task of the program.
func (c *call) loops() bool { return waits[c.name] && c.word != 0 }

// sleepsDeeply reports whether a thread waits uninterruptibly, as threads do for disks. Idle threads of the kernel look so too.
func (s *state) sleepsDeeply() bool { return s.left&uninterruptible != 0 && s.left&noLoad == 0 }

// mayBeDisk reports whether a wait is one for a disk: by its state or its call, and where requests to devices are recorded, by one that was done
// meanwhile.
func (h *Host) mayBeDisk(s *state, c *call, from, to int64) bool {
	if !disks[c.name] && !s.sleepsDeeply() {
		return false
	}
	return len(h.blocks) == 0 || h.disk(0, from, to) != ""
}
