package thread

import (
	"strings"
	"testing"

	"meridian/internal/cause/wire"
)

const watcher = 290

// on1 has the server's processor 1 go on from a thread to another.
func (s *script) on1(at int64, from, to int32, left int64) {
	s.on(1, at, func(_ *World, h *Host, _ *wire.Set) { h.Switch(at, 1, from, to, left, true, true) })
}

// watched has a thread of the server sleep again and again, and once wake the server's thread from a futex, as the monitor of a program in Go does.
func (s *script) watched(calls ...string) {
	s.on1(40, 0, watcher, 0)
	for i := range int64(20) {
		at := 50 + 10*i
		s.call(1, at, at+8, watcher, "nanosleep", 0, 0)
		s.on1(at+2, watcher, 0, 1)
		s.wake(1, at+4, watcher, 0, InHardIRQ)
		s.on1(at+6, 0, watcher, 0)
	}
	for i, name := range calls {
		s.call(1, 300+int64(2*i), 301+int64(2*i), watcher, name, 0, 0)
	}
	s.on1(320, watcher, 0, 1)
	for tid, at := range map[int32]int64{202: 400, 201: 500} { // woken by it once, so that they are of its program
		s.on1(at, 0, tid, 0)
		s.call(1, at+5, at+30, tid, "futex", uint64(tid), 0)
		s.on1(at+10, tid, 0, 1)
		s.wake(1, at+20, tid, watcher, InThread)
		s.on1(at+25, 0, tid, 0)
	}
}

// parked has the server's thread wait for a word of its own until a thread wakes it.
func (s *script) parked(from, to int64, waker int32) {
	s.call(1, from, to+60, server1, "futex", 0x70, 0)
	s.switchTo(1, from+100, server1, 0, 1)
	s.wake(1, to, server1, waker, InThread)
	s.switchTo(1, to+50, 0, server1, 0)
}

// syncs has a thread wait for a disk.
func (s *script) syncs(from, to int64, tid int32) {
	s.call(1, from, to+100, tid, "fsync", 5, 0)
	s.on1(from+100, tid, 0, uninterruptible)
	s.wake(1, to, tid, 0, InHardIRQ)
	s.on1(to+50, 0, tid, 0)
}

func TestThePathGoesThroughThreadsOfAProgramInGoByWhatTheyHadToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		add  func(s *script)
		want string
	}{
		"its monitor wakes a thread because another syncs": {func(s *script) {
			s.watched()
			s.syncs(50_000, 700_000, 201)
			s.parked(1500, 600_000, watcher)
		}, "another thread's CPU@1 49_010, another thread's disk@1 549_900, run queue@1 50"},
		"its monitor wakes a thread, and two others are in calls": {func(s *script) {
			s.watched()
			s.syncs(50_000, 700_000, 201)
			s.syncs(60_000, 700_000, 202)
			s.parked(1500, 600_000, watcher)
		}, "waiting (for which thread is not recorded)@1 598_400, run queue@1 50"},
		"its monitor wakes a thread, and no other is in a call": {func(s *script) {
			s.watched()
			s.on1(1000, 201, 0, 1)
			s.on1(1000, 202, 0, 1)
			s.parked(1500, 600_000, watcher)
		}, "waiting (for which thread is not recorded)@1 598_400, run queue@1 50"},
		"its monitor looked once how many processors there are": {func(s *script) {
			s.watched("sched_getaffinity", "pread64")
			s.syncs(50_000, 700_000, 201)
			s.parked(1500, 600_000, watcher)
		}, "another thread's CPU@1 49_010, another thread's disk@1 549_900, run queue@1 50"},
		"a thread that looks so after each few sleeps is no monitor": {func(s *script) {
			s.watched("pread64", "pread64", "pread64")
			s.syncs(50_000, 700_000, 201)
			s.parked(1500, 600_000, watcher)
		}, "waiting (wake-up not recorded)@1 598_400, run queue@1 50"},
		"a thread that slept and reads too is no monitor: its own wait is walked": {func(s *script) {
			s.watched("read")
			s.syncs(50_000, 700_000, 201)
			s.parked(1500, 600_000, watcher)
		}, "waiting (wake-up not recorded)@1 598_400, run queue@1 50"},
		"a parked thread ran briefly and found nothing": {func(s *script) {
			s.watched()
			s.parked(1500, 300_000, watcher)
			s.parked(301_000, 600_000, 201) // which computed all the time
		}, "another thread's CPU@1 598_910, run queue@1 50"},
		"a timer's end says nothing while another thread computes": {func(s *script) {
			s.watched()
			s.parked(1500, 2000, 201)
			s.call(1, 2500, 600_100, server1, "epoll_pwait", 5, 0)
			s.switchTo(1, 2600, server1, 0, 1)
			s.wake(1, 600_000, server1, 0, InHardIRQ)
			s.switchTo(1, 600_050, 0, server1, 0)
		}, "waiting (for which thread is not recorded)@1 597_400, run queue@1 50"},
		"a timer ends while all others wait": {func(s *script) {
			s.watched()
			s.parked(1500, 2000, 201)
			s.call(1, 2100, 900_000, 201, "futex", 201, 0)
			s.on1(2200, 201, 0, 1)
			s.call(1, 2100, 900_000, 202, "futex", 202, 0)
			s.on1(2200, 202, 0, 1)
			s.call(1, 2500, 600_100, server1, "epoll_pwait", 5, 0)
			s.switchTo(1, 2600, server1, 0, 1)
			s.wake(1, 600_000, server1, 0, InHardIRQ)
			s.switchTo(1, 600_050, 0, server1, 0)
		}, "timer of an event loop@1 597_400, run queue@1 50"},
	} {
		s := asked(900_000)
		c.add(s)
		w, set := s.play(nil)
		list := set.Requests()
		pieces, known := w.Path(&list[0])
		if !known {
			t.Fatalf("%s: there is no path", name)
		}
		for i := 1; i < len(pieces); i++ {
			if pieces[i].Begin != pieces[i-1].End {
				t.Errorf("%s: a gap before piece %d: %+v", name, i, pieces)
			}
		}
		got := drawn(pieces)
		if !strings.Contains(got, strings.ReplaceAll(c.want, "_", "")) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}
