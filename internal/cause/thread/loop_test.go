package thread

import (
	"net/netip"
	"strings"
	"testing"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
)

// loopScript is a server with an event loop on one thread, which serves two clients of host 0 and asks a database for both, by two connections.
type loopScript struct {
	script
	seq     map[[2]netip.AddrPort]uint32
	packets bool // alone are recorded: not who wrote and read which bytes

	brokered int64 // when what the broker has done so far was over
}

var (
	clientA   = netip.MustParseAddrPort("10.0.0.1:40001")
	clientB   = netip.MustParseAddrPort("10.0.0.1:40002")
	serverEnd = netip.MustParseAddrPort("10.0.0.2:7000")
	upstreamA = netip.MustParseAddrPort("10.0.0.2:50001")
	upstreamB = netip.MustParseAddrPort("10.0.0.2:50002")
	dbEnd     = netip.MustParseAddrPort("10.0.0.3:6379")
)

const otherClient = 101

func hostOf(a netip.AddrPort) int { return int(a.Addr().As4()[3]) - 1 }

// sends has a thread write 16 bytes, which arrive 100 later.
func (s *loopScript) sends(at int64, tid int32, from, to netip.AddrPort) {
	k, back := [2]netip.AddrPort{from, to}, [2]netip.AddrPort{to, from}
	seq, ack := s.seq[k]+1, s.seq[back]+1
	s.seq[k] += 16
	s.call(hostOf(from), at-5, at+5, tid, "sendto", 4, 16)
	put := func(host int, at int64, out bool) {
		s.on(host, at, func(w *World, h *Host, set *wire.Set) {
			w.Packet(h, set.Add(wire.Packet{At: at, Event: at, Host: host, Row: host, Out: out, Flags: 16, ID: uint16(seq), Seq: seq, Length: 16, Ack: ack}, from, to), 0)
		})
	}
	put(hostOf(from), at, true)
	put(hostOf(to), at+100, false)
	s.moves(at+2, tid, from, to, seq, true)
}

func (s *loopScript) moves(at int64, tid int32, from, to netip.AddrPort, seq uint32, writes bool) {
	if s.packets {
		return
	}
	host := hostOf(to)
	if writes {
		host = hostOf(from)
	}
	s.on(host, at, func(_ *World, h *Host, set *wire.Set) {
		c, d, _ := set.Way(host, from, to)
		if writes {
			h.Wrote(at, tid, c, d, seq, 16)
		} else {
			h.Read(at, tid, c, d, seq, 16)
		}
	})
}

// reads has a thread read the last 16 bytes of a connection.
func (s *loopScript) reads(at int64, tid int32, from, to netip.AddrPort) {
	s.moves(at, tid, from, to, s.seq[[2]netip.AddrPort{from, to}]-15, false)
}

// sleeps has a thread wait in a call until an interrupt or a softirq wakes it.
func (s *loopScript) sleeps(host int, from, to int64, tid int32, call string, context uint8, result int64) {
	s.call(host, from-1, to+12, tid, call, 5, result)
	s.switchTo(host, from, tid, 0, 1)
	if context == InSoftIRQ {
		s.soft(host, to-6, to+2)
	}
	s.wake(host, to, tid, 0, context)
	s.switchTo(host, to+10, 0, tid, 0)
}

// inTurn begins with client A's request, which the loop reads at 1130.
func inTurn() *loopScript {
	s := newLoop(true)
	s.sleeps(1, 30, 1104, server1, "epoll_wait", InSoftIRQ, 1)
	s.sends(1000, client1, clientA, serverEnd)
	s.reads(1130, server1, clientA, serverEnd)
	return s
}

func TestALoopThatServesOthersWaitedForWhatItReadLast(t *testing.T) {
	t.Parallel()
	s := inTurn()
	s.sends(1200, server1, upstreamA, dbEnd)
	s.sleeps(2, 100, 1304, db1, "epoll_wait", InSoftIRQ, 1)
	s.reads(1330, db1, upstreamA, dbEnd)
	s.sleeps(2, 1400, 31_400, db1, "clock_nanosleep", InHardIRQ, 0)
	// The other client thinks, asks, and has the loop compute while the database's reply comes.
	s.switchTo(0, 1010, client1, 0, 1)
	s.switchTo(0, 1020, 0, otherClient, 0)
	s.sleeps(0, 1100, 30_000, otherClient, "clock_nanosleep", InHardIRQ, 0)
	s.sleeps(1, 1300, 30_204, server1, "epoll_wait", InSoftIRQ, 1)
	s.sends(30_100, otherClient, clientB, serverEnd)
	s.reads(30_230, server1, clientB, serverEnd)
	s.sends(31_500, db1, dbEnd, upstreamA)
	s.sends(33_000, server1, serverEnd, clientB)
	s.reads(33_100, server1, dbEnd, upstreamA)
	s.sends(33_200, server1, serverEnd, clientA)
	want := "0>1 100, softirq@1 4, run queue@1 10, CPU@1 86, 1>2 100, softirq@2 4, run queue@2 10, CPU@2 86, sleep@2 30000, run queue@2 10, CPU@2 90, 2>1 100, " +
		"queued behind CPU@1 1500, CPU@1 100, 1>0 100"
	if got := s.lastPath(t); got != want {
		t.Errorf("the path is\n%s, want\n%s", got, want)
	}
}

func TestALoopThatServesOthersBlamesNoneOfThem(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(s *loopScript){
		"another's request": func(s *loopScript) {
			s.sends(30_100, otherClient, clientB, serverEnd)
			s.reads(30_230, server1, clientB, serverEnd)
		},
		"a timer of some task": func(s *loopScript) {
			s.sends(1150, otherClient, clientB, serverEnd)
			s.reads(1260, server1, clientB, serverEnd)
		},
		"two replies at a time": func(s *loopScript) {
			s.sends(1190, server1, upstreamA, dbEnd)
			s.sends(1210, server1, upstreamB, dbEnd)
			s.sends(1150, otherClient, clientB, serverEnd)
			s.reads(1260, server1, clientB, serverEnd)
			s.sends(30_090, db1, dbEnd, upstreamA)
			s.sends(30_095, db1, dbEnd, upstreamB)
			s.reads(30_230, server1, dbEnd, upstreamA)
			s.reads(30_240, server1, dbEnd, upstreamB)
		},
		"another's reply": func(s *loopScript) {
			s.sends(600, server1, upstreamB, dbEnd)
			s.sends(1150, otherClient, clientB, serverEnd)
			s.reads(1260, server1, clientB, serverEnd)
			s.sends(30_090, db1, dbEnd, upstreamB)
			s.reads(30_230, server1, dbEnd, upstreamB)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := inTurn()
			s.switchTo(0, 1010, client1, 0, 1)
			s.switchTo(0, 1020, 0, otherClient, 0)
			context, result := uint8(InSoftIRQ), int64(1)
			if name == "a timer of some task" {
				context, result = InHardIRQ, 0
			}
			s.sleeps(1, 1300, 30_204, server1, "epoll_wait", context, result)
			play(s)
			s.sends(33_200, server1, serverEnd, clientA)
			got := s.lastPath(t)
			if !strings.Contains(got, cause.RequestUnknown.Words(cause.NoWait)) || strings.Contains(got, "@3") || strings.Contains(got, "timer") || strings.Contains(got, "@2") {
				t.Errorf("the path is %s", got)
			}
		})
	}
}

func TestALockWhoseWaitTimesOutIsNoSleep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waited bool // another thread has waited for the same word
		want   string
	}{
		"others have waited": {true, "waiting (for which thread is not recorded)@1 4990"},
		"a word of its own":  {false, "sleep@1 4990"},
	} {
		s := asked(9000)
		if c.waited {
			s.switchTo(1, 11, server1, holder, 1)
			s.call(1, 12, 18, holder, "futex", lockWord, 0)
			s.switchTo(1, 13, holder, 0, 1)
			s.wake(1, 14, holder, 0, InHardIRQ)
			s.switchTo(1, 15, 0, holder, 0)
			s.switchTo(1, 19, holder, server1, 0)
		}
		s.call(1, 1990, 7020, server1, "futex", lockWord, timedOut)
		s.switchTo(1, 2000, server1, 0, 1)
		s.wake(1, 6990, server1, 0, InHardIRQ)
		s.switchTo(1, 7000, 0, server1, 0)
		if got := drawn(path(t, s)); !strings.Contains(got, c.want) {
			t.Errorf("%s: the path is %s", name, got)
		}
	}
}
