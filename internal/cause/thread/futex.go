package thread

import "sort"

const (
	// briefly is how long a thread runs at most between two waits for one word, ns, if it only looks again: some microseconds are usual.
	briefly = 1_000_000
	// conditionBytes is the size of a condition variable of C libraries. It has two words for which threads wait by turns.
	conditionBytes = 64
)

// release is a call that woke threads that waited for a futex's word.
type release struct {
	at  int64
	tid int32
}

// released notes that a thread's call woke others. Only calls that wake return more than 0.
func (h *Host) released(at int64, tid int32, c *call) {
	if c.name == "futex" && c.result > 0 {
		h.releases[c.word] = append(h.releases[c.word], release{at, tid})
	}
}

// nextRelease returns which other thread released a word first in (from, to]; 0 for none.
func (h *Host) nextRelease(word uint64, tid int32, from, to int64) (at int64, who int32) {
	list := h.releases[word]
	for n := sort.Search(len(list), func(n int) bool { return list[n].at > from }); n < len(list) && list[n].at <= to; n++ {
		if list[n].tid != tid {
			return list[n].at, list[n].tid
		}
	}
	return to + 1, 0
}

// releasedBy finds the thread that had what a thread waits for in a state, a futex's wait that an interrupt ended. One that timed out is part
// of a longer wait if the thread goes on to wait for the same word, or the other one of the condition, with no other calls between than of
// futexes: so threads wait for the lock of Python's interpreter, every 5 ms anew. One that returns well after its timer has woken it was ended by
// a release meanwhile. It is 0 where no other thread ended it: the time-out was what was waited for.
func (h *Host) releasedBy(th *thread, tid int32, i int) int32 {
	begun, last := th.states[i].begin, th.states[i].call
	words := [2]uint64{th.calls[last].word, th.calls[last].word}
	for j := i; j < len(th.states); j++ {
		s := &th.states[j]
		if s.kind != blocked {
			if s.kind == running && j+1 < len(th.states) && th.states[j+1].begin-s.begin > briefly {
				return 0
			}
			continue
		}
		for ; last < s.call; last++ {
			if th.calls[last+1].name != "futex" {
				return 0
			}
		}
		c := &th.calls[last]
		if s.call != last || s.wake < 0 || c.word-words[0]+conditionBytes > 2*conditionBytes {
			return 0
		}
		if c.word != words[0] {
			words[1] = c.word
		}
		switch {
		case c.result == timedOut:
			continue
		case c.result < 0:
			return 0
		}
		// Who releases it next had it: threads that wait get it one after the other. A release may return after those that it woke.
		until := c.end + briefly
		at, who := h.nextRelease(words[0], tid, begun, until)
		if at2, who2 := h.nextRelease(words[1], tid, begun, until); at2 < at {
			who = who2
		}
		if k := &h.wakes[s.wake]; who == 0 && h.context(k, "futex") == InThread {
			who = max(k.waker, 0) // its calls are not recorded
		}
		return who
	}
	return 0
}
