package thread

import (
	"testing"

	"meridian/internal/cause/wire"
)

// goes adds that a goroutine of the server begins a state.
func (s *script) goes(at, id int64, is GoState, reason string, tid int32, by int64) {
	s.on(1, at, func(_ *World, h *Host, _ *wire.Set) { h.Goroutine(at, 9, id, 1, is, reason, tid, by) })
}

// accepts has goroutine 1 wait for the request and take it.
func (s *script) accepts() {
	s.goes(40, 1, GoWaits, "network", 0, 0)
	s.goes(1121, 1, GoReady, "", 0, 0)
	s.goes(1123, 1, GoRuns, "", server1, 0)
}

// A goroutine of the server handles the request on the thread that does so in [asked]. It waits from 2000 to 8000, and runs again at 8010.
func TestThePathNamesWhatAGoroutineWaitedFor(t *testing.T) {
	t.Parallel()
	const head, tail = "0>1 90, network poller@1 31, run queue@1 2, CPU@1 877, ", ", run queue@1 10, CPU@1 990, 1>0 100"
	for name, c := range map[string]struct {
		reason string
		by     int64
		add    func(s *script)
		want   string
	}{
		"a mutex whose holder computes": {"sync", 2, func(s *script) {
			s.goes(2000, 2, GoRuns, "", server1, 0)
			s.goes(8001, 2, GoWaits, "sync", 0, 0)
		}, "lock@1 6000"},
		"a mutex whose holder sleeps": {"sync", 2, func(s *script) {
			s.goes(1000, 2, GoWaits, "sleep", 0, 0)
			s.goes(7000, 2, GoReady, "", 0, 0)
			s.goes(7200, 2, GoRuns, "", server1, 0)
			s.goes(8001, 2, GoWaits, "chan receive", 0, 0)
		}, "lock@1 5000, lock@1 200, lock@1 800"},
		"what another sends over a channel": {"chan receive", 2, func(s *script) {
			s.goes(2000, 2, GoRuns, "", server1, 0)
			s.goes(8001, 2, GoWaits, "chan receive", 0, 0)
		}, "another thread's CPU@1 6000"},
		"its own timer":                        {"sleep", 0, func(*script) {}, "sleep@1 6000"},
		"the collector":                        {"GC assist marking", 0, func(*script) {}, "garbage collector@1 6000"},
		"what the trace does not tell":         {"select", 0, func(*script) {}, "waiting (who woke is not recorded)@1 6000"},
		"the network, of which no packet came": {"network", 0, func(*script) {}, "waiting (who woke is not recorded)@1 6000"},
	} {
		s := asked(9000)
		s.accepts()
		s.goes(2000, 1, GoWaits, c.reason, 0, 0)
		c.add(s)
		s.goes(8000, 1, GoReady, "", 0, c.by)
		s.goes(8010, 1, GoRuns, "", server1, 0)
		s.goes(8985, 1, GoCalls, "", 0, 0)
		got := drawn(path(t, s))
		if got != head+c.want+tail {
			t.Errorf("%s: the path is\n%s\nand not\n%s", name, got, head+c.want+tail)
		}
	}
}

// While a goroutine runs, its thread's states tell the rest.
func TestAGoroutineThatRunsDoesWhatItsThreadDoes(t *testing.T) {
	t.Parallel()
	s := asked(9000)
	s.accepts()
	s.goes(8985, 1, GoCalls, "", 0, 0)
	s.switchTo(1, 3000, server1, 222, preempted)
	s.switchTo(1, 5000, 222, server1, preempted)
	want := "0>1 90, network poller@1 31, run queue@1 2, CPU@1 1877, run queue@1 2000, CPU@1 4000, 1>0 100"
	if got := drawn(path(t, s)); got != want {
		t.Errorf("the path is\n%s\nand not\n%s", got, want)
	}
}

// Two programs may have goroutines of the same number.
func TestGoroutinesOfTwoProgramsAreApart(t *testing.T) {
	t.Parallel()
	h := NewWorld(1, nil).Host(0, 0)
	seen := map[int32]bool{}
	for program := range 3 {
		for id := range int64(4) {
			n := h.goroutine(goroutineID{program, id})
			if n >= -1 || seen[n] || n != h.goroutine(goroutineID{program, id}) {
				t.Errorf("goroutine %d of program %d is %d", id, program, n)
			}
			seen[n] = true
		}
	}
}

// The thread that polls the network is woken by the packet and waits for a processor before it makes the goroutine ready.
func TestTheWaitOfThePollersThreadForAProcessorIsNoTimeOfTheNetwork(t *testing.T) {
	t.Parallel()
	s := asked(9000)
	s.accepts()
	s.on1(20, 0, 201, 0)
	s.call(1, 30, 1118, 201, "epoll_pwait", 5, 1)
	s.on1(35, 201, 0, 1)
	s.wake(1, 1100, 201, 0, InSoftIRQ)
	s.on1(1115, 0, 201, 0)
	s.goes(8985, 1, GoCalls, "", 0, 0)
	want := "0>1 90, network poller@1 10, run queue@1 15, network poller@1 6, run queue@1 2, CPU@1 7877, 1>0 100"
	if got := drawn(path(t, s)); got != want {
		t.Errorf("the path is\n%s\nand not\n%s", got, want)
	}
}

// Goroutines that read connections need not be those that write to them.
func TestAGoroutineWaitsForThePacketThatItReads(t *testing.T) {
	t.Parallel()
	one, other := &packet{Packet: &wire.Packet{At: 100, Connection: 1, Seq: 1, Length: 10}}, &packet{Packet: &wire.Packet{At: 200, Connection: 2, Seq: 1, Length: 10}}
	reads := func(p *packet, tid int32) map[way][]transfer {
		return map[way][]transfer{wayOf(p.Packet): {{at: 300, tid: tid, first: 1, behind: 11}}}
	}
	for name, c := range map[string]struct {
		h    *Host
		want *packet
	}{
		"it reads the first":           {&Host{all: []*packet{one, other}, read: reads(one, -3)}, one},
		"another reads the second":     {&Host{all: []*packet{one, other}, read: reads(other, -4)}, one},
		"it writes to the first":       {&Host{all: []*packet{one, other}, owner: map[way]int32{wayOf(one.Packet).back(): -3}}, one},
		"nothing is known of either":   {&Host{all: []*packet{one, other}}, nil},
		"there is one connection only": {&Host{all: []*packet{other}}, other},
		"it is not known whose thread": {&Host{all: []*packet{other}, read: reads(other, 7)}, other},
	} {
		if got := c.h.packetOf(-3, 0, 250); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
