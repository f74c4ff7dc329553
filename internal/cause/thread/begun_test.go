package thread

import (
	"strings"
	"testing"

	"meridian/internal/cause"
)

// blames reports an error where a path of a request says what it waited for, other than the server's own work.
func blames(t *testing.T, name, path string) {
	t.Helper()
	if !strings.Contains(path, cause.RequestUnknown.Words(cause.NoWait)) || strings.Contains(path, "@2") || strings.Contains(path, "@3") {
		t.Errorf("%s: the path is %s", name, path)
	}
}

// The other client asks again and again, so that the loop finds a request at each look. In the turn with the last of them a timer of client A's is due.
func TestALoopThatNeverWaitsMayHaveATimer(t *testing.T) {
	t.Parallel()
	for _, transfers := range []bool{true, false} {
		s := newLoop(transfers)
		b := s.storing(2*fewestTurns, fewestLate, false)
		for at := b + 1100; at < b+30_000; at += 400 {
			s.sends(at, otherClient, clientB, serverEnd)
			s.call(1, at+110, at+115, server1, "epoll_wait", 5, 1)
			s.reads(at+130, server1, clientB, serverEnd)
			s.sends(at+200, server1, serverEnd, clientB)
		}
		s.sends(b+30_000, server1, serverEnd, clientA)
		blames(t, "a busy store", s.lastPath(t))
	}
}

// passing has the broker pass on requests of clients A and B at an instant.
func (s *loopScript) passing(b int64) {
	s.sends(b+1000, client1, clientA, serverEnd)
	s.sleeps(1, b-1200, b+1104, server1, "epoll_wait", InSoftIRQ, 1)
	s.reads(b+1130, server1, clientA, serverEnd)
	s.sends(b+1150, server1, serverEnd, worker)
	s.other(b+1160, true)
	s.sends(b+1200, otherClient, clientB, serverEnd)
	s.sleeps(1, b+1180, b+1304, server1, "epoll_wait", InSoftIRQ, 1)
	s.reads(b+1330, server1, clientB, serverEnd)
	s.sends(b+1350, server1, serverEnd, worker)
	s.sleeps(2, b-1500, b+1254, db1, "epoll_wait", InSoftIRQ, 1)
	s.reads(b+1280, db1, serverEnd, worker)
}

// The worker answers client A's request at once, and client B's much later, while the broker computes. Which of them the first of two writings is for is
// not told by what came last.
func TestABusyBrokerThatReadsTwoAnswersWaitedForNeither(t *testing.T) {
	t.Parallel()
	for _, transfers := range []bool{true, false} {
		s := newLoop(transfers)
		b := s.brokering(2*fewestPassed, 0, 0, 3000)
		s.passing(b)
		s.sends(b+1300, db1, worker, serverEnd)
		s.sleeps(2, b+1400, b+20_000, db1, "clock_nanosleep", InHardIRQ, 0)
		s.sends(b+20_100, db1, worker, serverEnd)
		s.call(1, b+30_000, b+30_005, server1, "epoll_wait", 5, 1)
		s.reads(b+30_020, server1, worker, serverEnd)
		s.sends(b+30_100, server1, serverEnd, clientA)
		s.call(1, b+30_110, b+30_115, server1, "epoll_wait", 5, 0)
		s.sends(b+30_200, server1, serverEnd, clientB)
		blames(t, "two answers", s.lastPath(t))
	}
}

// The worker's answer is client B's. In the same turn client A's time is up.
func TestABrokerThatWritesToTwoClientsWasMadeToByOneAnswerAtMost(t *testing.T) {
	t.Parallel()
	for _, transfers := range []bool{true, false} {
		s := newLoop(transfers)
		b := s.brokering(2*fewestPassed, 0, 0, 3000)
		s.passing(b)
		s.sleeps(2, b+1400, b+20_000, db1, "clock_nanosleep", InHardIRQ, 0)
		s.sends(b+20_100, db1, worker, serverEnd)
		s.sleeps(1, b+1400, b+20_204, server1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b+20_230, server1, worker, serverEnd)
		s.sends(b+20_300, server1, serverEnd, clientB)
		s.sends(b+20_320, server1, serverEnd, clientA)
		blames(t, "an answer and a timer", s.lastPath(t))
	}
}

// Of some of what the worker says, signs of life or answers that come too late, nothing follows. Client A's time is up as such comes.
func TestABrokerThatDropsSomeOfWhatItReadsMayHaveATimer(t *testing.T) {
	t.Parallel()
	for _, transfers := range []bool{true, false} {
		s := newLoop(transfers)
		b := s.brokering(20, 0, 5, 3000)
		s.passing(b)
		s.sleeps(2, b+1400, b+20_000, db1, "clock_nanosleep", InHardIRQ, 0)
		s.sends(b+20_100, db1, worker, serverEnd)
		s.sleeps(1, b+1400, b+20_204, server1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b+20_230, server1, worker, serverEnd)
		s.sends(b+20_300, server1, serverEnd, clientA)
		blames(t, "what nothing follows of", s.lastPath(t))
	}
}

// A reply that a socket does not take at once is written on when there is room, in a turn in which nothing is read. A short one that is written so was
// made to be by something else.
func TestTheRestOfALongReplyIsNoWritingOfItself(t *testing.T) {
	t.Parallel()
	for length, want := range map[uint32]int{longReply: 2, longReply - 1: 0} {
		a := &actor{thread: &thread{}, begins: []int64{10, 30, 50}, ends: []int64{20, 40, 60}, looked: []int64{10, 30, 50}}
		h := &Host{wakes: []wake{{at: 9, packet: &packet{}}, {at: 49, packet: &packet{}}}}
		for i, at := range []int64{8, 48} {
			a.thread.states = append(a.thread.states, state{begin: at, kind: blocked, call: -1, wake: int32(i)}, state{begin: at + 1, kind: running, call: -1, wake: -1})
		}
		a.read = []moved{{transfer{at: 12}, way{1, 0}}, {transfer{at: 52}, way{1, 0}}}
		a.wrote = []moved{{transfer{at: 15, behind: length}, way{1, 1}}, {transfer{at: 35, first: length, behind: length + 100}, way{1, 1}}, {transfer{at: 55}, way{1, 1}}}
		if turns, _ := a.turnsAtOnce(h); turns != want {
			t.Errorf("after %d bytes: %d turns, want %d", length, turns, want)
		}
	}
}

func TestWhatComesFirstOfAConnectionIsReadAfterTheTurnThatAcceptsIt(t *testing.T) {
	t.Parallel()
	a := &actor{looked: []int64{20, 50}, thread: &thread{calls: []call{
		{begin: 10, end: 20, name: "epoll_wait", word: 5}, {begin: 22, end: 25, name: "accept4", result: 7}, {begin: 40, end: 50, name: "epoll_wait", word: 5},
	}}}
	for first, want := range map[bool]int64{true: 51, false: 21} {
		if got := a.takes(15, first); got != want {
			t.Errorf("first %v: read at %d, want %d", first, got, want)
		}
	}
}

// The broker reads client B's request and keeps it; as it reads client A's it passes on that of B, on which the worker computes long. It passes on A's
// much later, by its own timer.
func TestWhatABrokerWritesThatKeepsRequestsBackMayBeOthers(t *testing.T) {
	t.Parallel()
	for _, transfers := range []bool{true, false} {
		s := newLoop(transfers)
		b := s.brokering(20, 0, 0, 3000)
		s.other(b-1190, true)
		for range 5 { // requests that are kept
			s.sends(b-1100, otherClient, clientB, serverEnd)
			s.sleeps(1, b-1200, b-996, server1, "epoll_wait", InSoftIRQ, 1)
			s.reads(b-970, server1, clientB, serverEnd)
			s.sleeps(1, b-900, b-800, server1, "epoll_wait", InHardIRQ, 0)
			s.sends(b-700, server1, serverEnd, clientB)
			b += 1200
		}
		s.sends(b-1100, otherClient, clientB, serverEnd)
		s.other(b-1000, false)
		s.sleeps(1, b-1200, b-996, server1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b-970, server1, clientB, serverEnd)
		s.sends(b+1000, client1, clientA, serverEnd)
		s.sleeps(1, b-900, b+1104, server1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b+1130, server1, clientA, serverEnd)
		s.passesLate(b, b-7500)
		blames(t, "a queue", s.lastPath(t))
	}
}

// passesLate has the broker pass on client B's request, on which the worker computes long, and client A's much later, by its own timer.
func (s *loopScript) passesLate(b, slept int64) {
	s.sends(b+1150, server1, serverEnd, worker)
	s.sleeps(2, slept, b+1254, db1, "epoll_wait", InSoftIRQ, 1)
	s.reads(b+1280, db1, serverEnd, worker)
	s.sends(b+18_100, db1, worker, serverEnd)
	s.sleeps(1, b+1200, b+18_204, server1, "epoll_wait", InSoftIRQ, 1)
	s.reads(b+18_230, server1, worker, serverEnd)
	s.sends(b+18_250, server1, serverEnd, clientB)
	s.sleeps(1, b+18_300, b+20_000, server1, "epoll_wait", InHardIRQ, 0)
	s.sends(b+20_050, server1, serverEnd, worker)
	s.sleeps(2, b+18_200, b+20_154, db1, "epoll_wait", InSoftIRQ, 1)
	s.reads(b+20_180, db1, serverEnd, worker)
	s.sends(b+20_300, db1, worker, serverEnd)
	s.sleeps(1, b+20_100, b+20_404, server1, "epoll_wait", InSoftIRQ, 1)
	s.reads(b+20_430, server1, worker, serverEnd)
	s.sends(b+20_500, server1, serverEnd, clientA)
}

// The broker reads requests of clients B and A, and passes on that of B alone.
func TestWhatABrokerWritesOfTwoRequestsItHasReadMayBeEithers(t *testing.T) {
	t.Parallel()
	for _, transfers := range []bool{true, false} {
		s := newLoop(transfers)
		b := s.brokering(20, 0, 0, 3000)
		s.sends(b+1000, client1, clientA, serverEnd)
		s.other(b+1001, true)
		s.sends(b+1002, otherClient, clientB, serverEnd)
		s.sleeps(1, b-1200, b+1104, server1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b+1125, server1, clientB, serverEnd)
		s.reads(b+1130, server1, clientA, serverEnd)
		s.passesLate(b, b-1500)
		blames(t, "two requests", s.lastPath(t))
	}
}

// Several threads of client B share its connection: one lets the lock go after a sleep, another has computed and asked meanwhile.
func TestAConnectionThatThreadsShareDoesNotSayWhatItsSenderWaitedFor(t *testing.T) {
	t.Parallel()
	for _, transfers := range []bool{true, false} {
		s := newLoop(transfers)
		b := s.storing(2*fewestTurns, fewestLate, false)
		before := b + 1200
		for at := b + 1300; at < b+28_000; at += 1000 {
			s.sends(at, otherClient, clientB, serverEnd)
			s.sleeps(1, before, at+104, server1, "epoll_wait", InSoftIRQ, 1)
			s.reads(at+130, server1, clientB, serverEnd)
			s.sends(at+200, server1, serverEnd, clientB)
			before = at + 250
		}
		s.switchTo(0, b+29_000, otherClient, 0, 1)
		s.switchTo(0, b+29_010, 0, 102, 0)
		s.sends(b+29_100, 102, clientB, serverEnd)
		s.sleeps(1, before, b+29_204, server1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b+29_230, server1, clientB, serverEnd)
		s.sends(b+29_240, server1, serverEnd, clientB)
		s.sends(b+29_300, server1, serverEnd, clientA)
		blames(t, "a shared connection", s.lastPath(t))
	}
}
