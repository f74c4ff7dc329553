package thread

import (
	"net/netip"
	"strings"
	"testing"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
)

var worker = netip.MustParseAddrPort("10.0.0.3:41000")

// newLoop is a loop on host 1, whose clients are on hosts 0 and 2. Where transfers are not recorded, packets alone are.
func newLoop(transfers bool) *loopScript {
	s := &loopScript{script{sent: make(map[string]*wire.Packet)}, make(map[[2]netip.AddrPort]uint32), !transfers, 0}
	s.switchTo(0, 10, 0, client1, 0)
	s.switchTo(1, 10, 0, server1, 0)
	s.switchTo(2, 10, 0, db1, 0)
	return s
}

// lastPath returns the path of the last request of client A.
func (s *loopScript) lastPath(t *testing.T) string {
	t.Helper()
	w, set := s.playIn(&cause.Model{Hosts: []int{0, 1, 2, 0}, MinDelay: 1})
	list := set.Requests()
	w.Client = set.Client
	w.Serve(list)
	w.hosts[0].Row(otherClient, 3)
	for i := len(list) - 1; i >= 0; i-- {
		if from, _ := set.Ends(list[i].Connection, list[i].Direction); from != clientA {
			continue
		}
		pieces, known := w.Path(&list[i])
		sum := int64(0)
		for _, p := range pieces {
			sum += p.Length()
		}
		if !known || sum != list[i].Last.At-list[i].First.At {
			t.Errorf("pieces sum to %d: %s", sum, drawn(pieces))
		}
		return drawn(pieces)
	}
	t.Fatal("no request")
	return ""
}

// brokerPath has a broker pass requests of client A on to a worker, the last of which takes long, and returns the path of that. Of a number of
// requests it answers the client first, and the worker not at all.
func brokerPath(t *testing.T, transfers bool, rounds, own int) string {
	s := newLoop(transfers)
	s.brokering(rounds-1, own, 0, 3000)
	s.brokering(1, 0, 0, 30_000)
	return s.lastPath(t)
}

// brokering has a broker pass requests of client A on to a worker, which pauses. Of a number of requests it answers the client first, and the worker not
// at all; with a number of answers the worker says what it does not pass on. Then client A asks again at the instant b+1000.
func (s *loopScript) brokering(rounds, own, dropped int, pause int64) (b int64) {
	server, work := int64(-1200), int64(-1500) // both have waited since the last
	if b = s.brokered; b == 0 {
		server, work = 30, 100
	}
	for i := range rounds {
		s.sends(b+1000, client1, clientA, serverEnd)
		s.sleeps(1, b+server, b+1104, server1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b+1130, server1, clientA, serverEnd)
		s.sends(b+1150, server1, serverEnd, worker)
		s.sleeps(2, b+work, b+1254, db1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b+1280, db1, serverEnd, worker)
		s.sleeps(2, b+1300, b+1300+pause, db1, "clock_nanosleep", InHardIRQ, 0)
		s.sends(b+1350+pause, db1, worker, serverEnd)
		s.sleeps(1, b+1200, b+1454+pause, server1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b+1480+pause, server1, worker, serverEnd)
		if i < own { // what the client gets is not what the worker sent just before
			s.sleeps(1, b+1490+pause, b+1600+pause, server1, "epoll_wait", InHardIRQ, 0)
		}
		s.sends(b+1650+pause, server1, serverEnd, clientA)
		if i < dropped {
			s.sends(b+1400+pause, db1, worker, serverEnd)
			s.call(1, b+1662+pause, b+1665+pause, server1, "epoll_wait", 5, 1)
			s.reads(b+1680+pause, server1, worker, serverEnd)
		}
		b += pause + 3000
		server, work = -1200, -1500
		s.brokered = b
	}
	return b
}

func TestABrokerWaitedForWhoAnsweredWhatItPassedOn(t *testing.T) {
	t.Parallel()
	const want = "0>1 100, softirq@1 4, run queue@1 10, CPU@1 36, 1>2 100, softirq@2 4, run queue@2 10, CPU@2 36, sleep@2 30000, run queue@2 10, CPU@2 40, 2>1 100, " +
		"softirq@1 4, run queue@1 10, CPU@1 186, 1>0 100"
	for _, transfers := range []bool{true, false} {
		if got := brokerPath(t, transfers, fewestPassed+1, 0); got != want {
			t.Errorf("transfers %v: the path is\n%s, want\n%s", transfers, got, want)
		}
	}
}

func TestABrokerOfWhichLittleIsKnownBlamesNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rounds, own int }{
		"few requests":             {fewestPassed - 1, 0},
		"it writes of itself, too": {fewestPassed + 4, 6},
	} {
		for _, transfers := range []bool{true, false} {
			got := brokerPath(t, transfers, c.rounds, c.own)
			if !strings.Contains(got, cause.RequestUnknown.Words(cause.NoWait)) || strings.Contains(got, "sleep@2") {
				t.Errorf("%s, transfers %v: the path is %s", name, transfers, got)
			}
		}
	}
}

// other has client B's thread run instead of client A's, or A's again.
func (s *loopScript) other(at int64, runs bool) {
	from, to := int32(client1), int32(otherClient)
	if !runs {
		from, to = to, from
	}
	s.switchTo(0, at, from, 0, 1)
	s.switchTo(0, at+10, 0, to, 0)
}

// storing has a store answer client A at once, in some rounds when client B's message lets it. Some of the answers come by a timer. Then client A asks
// again at an instant b+1000, the store reads that, and client B's thread goes on.
func (s *loopScript) storing(rounds, late int, byTimer bool) (b int64) {
	before := int64(30)
	s.switchTo(0, 100, client1, 0, 1)
	s.switchTo(0, 110, 0, otherClient, 0)
	s.sends(300, otherClient, clientB, serverEnd)
	s.switchTo(0, 320, otherClient, 0, 1)
	s.switchTo(0, 330, 0, client1, 0)
	s.sleeps(1, before, 404, server1, "epoll_wait", InSoftIRQ, 1)
	s.reads(430, server1, clientB, serverEnd)
	s.sends(440, server1, serverEnd, clientB)
	before = 500
	for i := range rounds {
		s.sends(b+1000, client1, clientA, serverEnd)
		s.sleeps(1, b+before, b+1104, server1, "epoll_wait", InSoftIRQ, 1)
		s.reads(b+1130, server1, clientA, serverEnd)
		if byTimer && i == rounds/2 {
			s.sleeps(1, b+1140, b+1180, server1, "epoll_wait", InHardIRQ, 0)
		}
		before = -700
		if i < late {
			s.other(b+1300, true)
			s.sends(b+1400, otherClient, clientB, serverEnd)
			s.other(b+1420, false)
			s.sleeps(1, b+1150, b+1504, server1, "epoll_wait", InSoftIRQ, 1)
			s.reads(b+1530, server1, clientB, serverEnd)
			s.sends(b+1560, server1, serverEnd, clientB)
			before = -300
		}
		s.sends(b+before+1900, server1, serverEnd, clientA)
		b += 2000
	}
	s.sends(b+1000, client1, clientA, serverEnd)
	s.sleeps(1, b+before, b+1104, server1, "epoll_wait", InSoftIRQ, 1)
	s.reads(b+1130, server1, clientA, serverEnd)
	s.other(b+1010, true)
	return b
}

// storePath has the store answer when client B's message lets it, after a sleep.
func storePath(t *testing.T, transfers bool, rounds, late int, byTimer bool) string {
	s := newLoop(transfers)
	b := s.storing(rounds, late, byTimer)
	s.sleeps(0, b+1100, b+30_000, otherClient, "clock_nanosleep", InHardIRQ, 0)
	s.sends(b+30_100, otherClient, clientB, serverEnd)
	s.sleeps(1, b+1300, b+30_204, server1, "epoll_wait", InSoftIRQ, 1)
	s.reads(b+30_230, server1, clientB, serverEnd)
	s.sends(b+30_240, server1, serverEnd, clientB)
	s.sends(b+30_300, server1, serverEnd, clientA)
	return s.lastPath(t)
}

func TestAStoreThatAnswersAtOnceWaitedForWhatItRead(t *testing.T) {
	t.Parallel()
	for _, transfers := range []bool{true, false} {
		got := storePath(t, transfers, fewestTurns, fewestLate, false)
		if strings.Contains(got, cause.RequestUnknown.Words(cause.NoWait)) || !strings.Contains(got, "@3 29000") || !strings.HasSuffix(got, "3>1 100, softirq@1 4, run queue@1 10, CPU@1 86, 1>0 100") {
			t.Errorf("transfers %v: the path is %s", transfers, got)
		}
		for name, path := range map[string]string{
			"few answers":                     storePath(t, transfers, fewestTurns-10, fewestLate, false),
			"few that another's reading made": storePath(t, transfers, 2*fewestTurns, fewestLate-2, false),
			"one answer by a timer":           storePath(t, transfers, 2*fewestTurns, fewestLate, true),
		} {
			if !strings.Contains(path, cause.RequestUnknown.Words(cause.NoWait)) || strings.Contains(path, "@3") {
				t.Errorf("%s, transfers %v: the path is %s", name, transfers, path)
			}
		}
	}
}

func TestPacketsOfAConnectionOfManyThreadsDoNotSayWhoRead(t *testing.T) {
	t.Parallel()
	for _, threads := range []int32{mostSenders, mostSenders + 1} {
		h := NewWorld(1, &cause.Model{Hosts: []int{0}}).Host(0, 0)
		came, went := way{7, 0}, way{7, 1}
		for tid := range threads {
			at := int64(tid) * 10
			h.received[came] = append(h.received[came], &packet{Packet: &wire.Packet{At: at, Length: 1}})
			h.sent[went] = append(h.sent[went], &packet{Packet: &wire.Packet{At: at + 1, Length: 1}, tid: tid + 1, inCall: true})
		}
		for tid := range threads {
			a, want := h.actorOf(tid+1), int(threads)
			if threads > mostSenders {
				want = 0
			}
			if len(a.read) != want || len(a.wrote) != 1 {
				t.Errorf("%d threads: one read %d times, want %d, and wrote %d times", threads, len(a.read), want, len(a.wrote))
			}
		}
	}
}
