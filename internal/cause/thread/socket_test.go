package thread

import (
	"slices"
	"strings"
	"testing"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
)

// wrote adds what a thread wrote to a connection between two hosts, told at the end of its call.
func (s *script) wrote(from, to int, at int64, tid int32, seq, length uint32) {
	s.on(from, at, func(_ *World, h *Host, set *wire.Set) {
		c, d, _ := set.Way(from, end(from, from > to, to), end(to, to > from, from))
		h.Wrote(at, tid, c, d, seq, length)
	})
}

// read adds what a thread of the second host read.
func (s *script) read(from, to int, at int64, tid int32, seq, length uint32) {
	s.on(to, at, func(_ *World, h *Host, set *wire.Set) {
		c, d, _ := set.Way(to, end(from, from > to, to), end(to, to > from, from))
		h.Read(at, tid, c, d, seq, length)
	})
}

// path plays a script and returns the path of the client's request.
func path(t *testing.T, s *script) []cause.Piece {
	t.Helper()
	w, set := s.play(nil)
	list := set.Requests()
	i := slices.IndexFunc(list, func(r wire.Request) bool { return r.First.Host == 0 })
	if i < 0 {
		t.Fatal("no request")
	}
	pieces, known := w.Path(&list[i])
	if !known {
		t.Fatal("no path")
	}
	return pieces
}

func TestBytesTellWhichThreadAPieceIsOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		add  func(s *script)
		want string
	}{
		"the socket keeps what the thread has written": {func(s *script) {
			// The thread wrote the reply at 3000 and waits for what comes next; an interrupt sends it at 9000.
			s.call(1, 2990, 3010, server1, "sendto", 0, 16)
			s.wrote(1, 0, 3005, server1, 1, 16)
			s.call(1, 3020, 20000, server1, "epoll_wait", 4, 0)
			s.switchTo(1, 3030, server1, 0, 1)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 1885, held back by the sender's socket@1 5995, 1>0 100"},
		"another thread computes and writes": {func(s *script) {
			s.switchTo(1, 2000, server1, 222, 1)
			s.wrote(1, 0, 9005, 222, 1, 16)
		}, "0>1 90, not recorded@1 910, CPU@1 7000, 1>0 100"},
	} {
		s := asked(9000)
		c.add(s)
		if got := drawn(path(t, s)); got != c.want {
			t.Errorf("%s: the path is\n%s\nand not\n%s", name, got, c.want)
		}
	}
}

func TestARequestThatWasNotReadYetIsQueued(t *testing.T) {
	t.Parallel()
	s := asked(90_000)
	// The thread computes when the request comes, and goes on until it reads it.
	s.events = slices.DeleteFunc(s.events, func(e scripted) bool {
		return e.host == 1 && (e.at == 20 || e.at == 30 || e.at == 1100 || e.at == 1120 || e.at == 1130)
	})
	s.call(1, 60_990, 61_010, server1, "recvfrom", 0, 16)
	s.read(0, 1, 61_000, server1, 1, 16)
	want := "0>1 90, queued behind CPU@1 59910, CPU@1 29000, 1>0 100"
	if got := drawn(path(t, s)); got != want {
		t.Errorf("the path is\n%s\nand not\n%s", got, want)
	}
}

func TestArrowsEndAtTheThreadsThatWroteAndRead(t *testing.T) {
	t.Parallel()
	const packets = 2 // the row of the server's packets, which is not the first of its host
	for name, c := range map[string]struct {
		threads, bytes bool
		want           [][2]int
	}{
		"by what was written and read":          {true, true, [][2]int{{5, 7}, {7, 5}}},
		"by the threads that the path leads to": {true, false, [][2]int{{5, 7}, {7, 5}}},
		"without rows of threads":               {false, false, [][2]int{{0, packets}, {packets, 0}}},
	} {
		s := asked(9000)
		if c.threads {
			s.on(1, 5, func(_ *World, h *Host, _ *wire.Set) { h.Row(server1, 7); h.Row(222, 8) })
			s.on(0, 5, func(_ *World, h *Host, _ *wire.Set) { h.Row(client1, 5) })
		}
		if c.bytes {
			s.wrote(0, 1, 1005, client1, 1, 16)
			s.read(0, 1, 1130, server1, 1, 16)
			s.wrote(1, 0, 9005, server1, 1, 16)
			s.read(1, 0, 9140, client1, 1, 16)
		}
		w, set := s.playHosts([]int{0, 1, 1, 0, 0, 0, 0, 1, 1})
		for _, p := range w.of {
			if p.Host == 1 {
				p.Row = packets
			}
		}
		list := set.Requests()
		pieces, _ := w.Path(&list[0])
		var ways [][2]int
		for _, p := range pieces {
			if p.From >= 0 {
				ways = append(ways, [2]int{p.From, p.Row})
			}
		}
		if !slices.Equal(ways, c.want) {
			t.Errorf("%s: packets go between rows %v, not %v", name, ways, c.want)
		}
	}
}

func TestABytesTransferIsFoundAlsoWhereSequenceNumbersBeginAnew(t *testing.T) {
	t.Parallel()
	var list []transfer
	first := uint32(1<<32 - 250)
	for i := range int64(6) {
		list = append(list, transfer{at: i * 10, tid: int32(i), first: first, behind: first + 100})
		first += 100
	}
	for i := range uint32(600) {
		for _, at := range []int64{-5, 25, 99} {
			if x, known := transferOf(list, 1<<32-250+i, at); !known || x.tid != int32(i/100) {
				t.Fatalf("byte %d from %d on: %+v, %v", i, at, x, known)
			}
		}
	}
	for _, i := range []uint32{1<<32 - 251, 350} {
		if x, known := transferOf(list, i, 25); known {
			t.Errorf("byte %d: %+v", i, x)
		}
	}
	if _, known := transferOf(nil, 1, 1); known {
		t.Error("a byte that nothing moved is found")
	}
}

func TestWaitsForDisksAreToldFromOthers(t *testing.T) {
	t.Parallel()
	wait := func(s *script, left int64, context uint8, waker int32) {
		s.call(1, 199_000, 810_000, server1, "write", 3, 16)
		s.switchTo(1, 200_000, server1, 0, left)
		s.wake(1, 800_000, server1, waker, context)
		s.switchTo(1, 801_000, 0, server1, 0)
	}
	block := func(s *script, tid int32, from, to int64) {
		s.on(1, from, func(_ *World, h *Host, _ *wire.Set) { h.Issue(from, tid, "vda", 88, 4096, 1) })
		s.on(1, to, func(_ *World, h *Host, _ *wire.Set) { h.Complete(to, 0, "vda", 88) })
	}
	for name, c := range map[string]struct {
		add           func(s *script)
		state, detail string
	}{
		"an interrupt of the device ends it":  {func(s *script) { block(s, server1, 250_000, 799_000); wait(s, 1, InHardIRQ, 0) }, "disk", "vda: write of 4096 bytes"},
		"a thread of the kernel asked for it": {func(s *script) { block(s, 77, 250_000, 700_000); wait(s, uninterruptible, InThread, 77) }, "disk", "vda: write of 4096 bytes"},
		"disks are not recorded":              {func(s *script) { wait(s, uninterruptible, InHardIRQ, 0) }, "disk", "write"},
		"no disk was busy":                    {func(s *script) { block(s, 77, 10_000, 20_000); wait(s, uninterruptible, InHardIRQ, 0) }, "uninterruptible wait", "write"},
		"idle, of the kernel":                 {func(s *script) { block(s, 77, 250_000, 400_000); wait(s, uninterruptible|noLoad, InHardIRQ, 0) }, "timer or device", "write"},
		"another device was done long before": {func(s *script) { block(s, 77, 150_000, 160_000); wait(s, 1, InHardIRQ, 0) }, "timer or device", "write"},
	} {
		s := asked(900_000)
		c.add(s)
		pieces := path(t, s)
		i := slices.IndexFunc(pieces, func(p cause.Piece) bool { return p.Begin == 200_000 })
		if i < 0 || pieces[i].End != 800_000 || pieces[i].State.Words(pieces[i].Wait) != c.state || pieces[i].Detail != c.detail {
			t.Errorf("%s: the path is %s; want %s, %q", name, drawn(pieces), c.state, c.detail)
		}
	}
}

func TestATimerOfAnEventLoopMayBeAnyTasks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call string
		word uint64
		want string
	}{
		"epoll":                {"epoll_pwait", 4, "timer of an event loop"},
		"select of nothing":    {"select", 0, "sleep"},
		"a wait for one thing": {"nanosleep", 1, "sleep"},
	} {
		s := asked(9000)
		s.call(1, 1990, 8100, server1, c.call, c.word, 0)
		s.switchTo(1, 2000, server1, 0, 1)
		s.wake(1, 8000, server1, 0, InHardIRQ)
		s.switchTo(1, 8010, 0, server1, 0)
		if got := drawn(path(t, s)); !strings.Contains(got, ", "+c.want+"@1 6000,") {
			t.Errorf("%s: the path is %s", name, got)
		}
	}
}
