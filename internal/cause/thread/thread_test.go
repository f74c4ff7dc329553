package thread

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
	"meridian/internal/testseed"
)

// script is events of hosts 0 (client), 1 (server) and 2 (database) with one processor each, by a common clock.
type script struct {
	events []scripted
	sent   map[string]*wire.Packet
}

type scripted struct {
	at   int64
	host int
	do   func(w *World, h *Host, s *wire.Set)
}

func (s *script) on(host int, at int64, do func(w *World, h *Host, s *wire.Set)) {
	s.events = append(s.events, scripted{at, host, do})
}

var addresses = [3]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")}

func end(host int, server bool, peer int) netip.AddrPort {
	if server {
		return netip.AddrPortFrom(addresses[host], uint16(7000+host))
	}
	return netip.AddrPortFrom(addresses[host], uint16(40000+peer))
}

const server1, client1, db1 = 200, 100, 300

// packet goes from a host to another, sent and received; bytes counts the payload of each way so far.
func (s *script) packet(from, to int, sent, received int64, seq, length, ack uint32, name string) {
	a, b := end(from, from > to, to), end(to, to > from, from)
	put := func(host int, at int64, out bool) {
		s.on(host, at, func(w *World, h *Host, set *wire.Set) {
			p := set.Add(wire.Packet{At: at, Event: at, Host: host, Row: host, Out: out, Flags: 16, ID: uint16(sent), Seq: seq, Length: length, Ack: ack}, a, b)
			w.Packet(h, p, 0)
			if name != "" && !out == (name[0] == 'r') {
				s.sent[name] = p
			}
		})
	}
	put(from, sent, true)
	put(to, received, false)
}

func (s *script) switchTo(host int, at int64, from, to int32, left int64) {
	s.on(host, at, func(_ *World, h *Host, _ *wire.Set) { h.Switch(at, 0, from, to, left, true, true) })
}

func (s *script) wake(host int, at int64, tid, waker int32, context uint8) {
	s.on(host, at, func(_ *World, h *Host, _ *wire.Set) { h.Wake(at, 0, tid, waker, context) })
}

func (s *script) call(host int, from, to int64, tid int32, name string, word uint64, result int64) {
	s.on(host, from, func(_ *World, h *Host, _ *wire.Set) { h.Enter(from, tid, name, word) })
	s.on(host, to, func(_ *World, h *Host, _ *wire.Set) { h.Leave(to, tid, result) })
}

func (s *script) soft(host int, from, to int64) {
	s.on(host, from, func(_ *World, h *Host, _ *wire.Set) { h.SoftIRQ(from, 0, true) })
	s.on(host, to, func(_ *World, h *Host, _ *wire.Set) { h.SoftIRQ(to, 0, false) })
}

// play adds the events in order of time.
func (s *script) play(bounds func(row int, at int64) cause.Bounds) (*World, *wire.Set) {
	return s.playIn(&cause.Model{Hosts: []int{0, 1, 2}, Bounds: bounds, MinDelay: 1})
}

// playHosts adds them in a timeline of rows of these hosts.
func (s *script) playHosts(rows []int) (*World, *wire.Set) {
	return s.playIn(&cause.Model{Hosts: rows, MinDelay: 1})
}

func (s *script) playIn(m *cause.Model) (*World, *wire.Set) {
	w, set := NewWorld(3, m), wire.NewSet()
	slices.SortStableFunc(s.events, func(a, b scripted) int { return cmp.Compare(a.at, b.at) })
	for _, e := range s.events {
		e.do(w, w.Host(e.host, e.host), set)
	}
	set.Join()
	return w, set
}

func drawn(pieces []cause.Piece) string {
	var out []string
	for _, p := range pieces {
		name := p.State.Words(p.Wait)
		if p.From >= 0 {
			name = fmt.Sprintf("%d>%d", p.From, p.Row)
		} else {
			name += fmt.Sprintf("@%d", p.Row)
		}
		out = append(out, fmt.Sprintf("%s %d", name, p.Length()))
	}
	return strings.Join(out, ", ")
}

// asked begins a request: the client sends at 1000, the server's thread wakes at 1100 and runs from 1120 on. Its reply is sent when the
// script says so, and arrives 100 later, where the client wakes.
func asked(reply int64) *script {
	s := &script{sent: make(map[string]*wire.Packet)}
	s.switchTo(0, 10, 0, client1, 0)
	s.switchTo(1, 10, 0, server1, 0)
	s.call(1, 20, 1130, server1, "recvfrom", 0, 16)
	s.switchTo(1, 30, server1, 0, 1)
	s.call(0, 990, 1010, client1, "sendto", 0, 16)
	s.packet(0, 1, 1000, 1090, 1, 16, 1, "")
	s.call(0, 1020, reply+150, client1, "recvfrom", 0, 16)
	s.switchTo(0, 1030, client1, 0, 1)
	s.soft(1, 1085, 1110)
	s.wake(1, 1100, server1, 0, InSoftIRQ)
	s.switchTo(1, 1120, 0, server1, 0)
	s.call(1, reply-10, reply+10, server1, "sendto", 0, 16)
	s.packet(1, 0, reply, reply+100, 1, 16, 17, "")
	s.soft(0, reply+95, reply+120)
	s.wake(0, reply+110, client1, 0, InSoftIRQ)
	s.switchTo(0, reply+130, 0, client1, 0)
	return s
}

func TestThePathNamesWhatTheServerWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply int64
		add   func(s *script)
		want  string
	}{
		"it computes": {9000, func(*script) {}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 7880, 1>0 100"},
		"a signal stops it, and another lets it go on": {9000, func(s *script) {
			s.switchTo(1, 2000, server1, 201, 0x4)
			s.wake(1, 8000, server1, 201, InThread)
			s.switchTo(1, 8010, 201, server1, 1)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 880, stopped@1 6000, run queue@1 10, CPU@1 990, 1>0 100"},
		"it looks again for a lock every 2000 ns, until its holder leaves it": {9000, func(s *script) {
			s.switchTo(1, 1200, server1, 201, 1) // the lock's holder computes
			s.call(1, 1190, 3220, server1, "futex", 0x70, timedOut)
			s.wake(1, 3200, server1, 201, InHardIRQ)
			s.switchTo(1, 3210, 201, server1, 0)
			s.call(1, 3222, 3224, server1, "futex", 0x78, 0) // leaves the mutex of the condition
			s.call(1, 3230, 6100, server1, "futex", 0x70, 0)
			s.switchTo(1, 3240, server1, 201, 1)
			s.call(1, 5990, 6020, 201, "futex", 0x70, 1)
			s.wake(1, 6000, server1, 201, InThread)
			s.switchTo(1, 6040, 201, server1, 1)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 80, another thread's CPU@1 2000, run queue@1 10, CPU@1 30, another thread's CPU@1 2760, run queue@1 40, CPU@1 2960, 1>0 100"},
		"its timer ends the wait while the lock's holder leaves it": {9000, func(s *script) {
			s.switchTo(1, 1200, server1, 201, 1)
			s.call(1, 1190, 3220, server1, "futex", 0x70, timedOut)
			s.wake(1, 3200, server1, 201, InHardIRQ)
			s.switchTo(1, 3210, 201, server1, 0)
			s.call(1, 3230, 6100, server1, "futex", 0x70, 0)
			s.switchTo(1, 3240, server1, 201, 1)
			s.wake(1, 5980, server1, 201, InHardIRQ)
			s.call(1, 5990, 6020, 201, "futex", 0x70, 1)
			s.switchTo(1, 6040, 201, server1, 1)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 80, another thread's CPU@1 2000, run queue@1 10, CPU@1 30, another thread's CPU@1 2740, run queue@1 60, CPU@1 2960, 1>0 100"},
		"it looks again and then its time is over": {9000, func(s *script) {
			s.switchTo(1, 1200, server1, 0, 1)
			s.call(1, 1190, 3220, server1, "futex", 0x70, timedOut)
			s.wake(1, 3200, server1, 0, InHardIRQ)
			s.switchTo(1, 3210, 0, server1, 0)
			s.call(1, 3230, 6100, server1, "futex", 0x70, timedOut)
			s.switchTo(1, 3240, server1, 0, 1)
			s.wake(1, 6000, server1, 0, InHardIRQ)
			s.switchTo(1, 6040, 0, server1, 1)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 80, sleep@1 2000, run queue@1 10, CPU@1 30, sleep@1 2760, run queue@1 40, CPU@1 2960, 1>0 100"},
		"it times out and does something else before it waits again": {9000, func(s *script) {
			s.switchTo(1, 1200, server1, 201, 1)
			s.call(1, 1190, 3220, server1, "futex", 0x70, timedOut)
			s.wake(1, 3200, server1, 201, InHardIRQ)
			s.switchTo(1, 3210, 201, server1, 0)
			s.call(1, 3222, 3224, server1, "write", 1, 1)
			s.call(1, 3230, 6100, server1, "futex", 0x70, 0)
			s.switchTo(1, 3240, server1, 201, 1)
			s.call(1, 5990, 6020, 201, "futex", 0x70, 1)
			s.wake(1, 6000, server1, 201, InThread)
			s.switchTo(1, 6040, 201, server1, 1)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 80, sleep@1 2000, run queue@1 10, CPU@1 30, another thread's CPU@1 2760, run queue@1 40, CPU@1 2960, 1>0 100"},
		"it sleeps": {9000, func(s *script) {
			s.call(1, 1200, 8020, server1, "clock_nanosleep", 0, 0)
			s.switchTo(1, 1210, server1, 0, 1)
			s.wake(1, 8000, server1, 0, InHardIRQ)
			s.switchTo(1, 8010, 0, server1, 0)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 90, sleep@1 6790, run queue@1 10, CPU@1 990, 1>0 100"},
		"it is preempted": {9000, func(s *script) {
			s.switchTo(1, 2000, server1, 222, preempted)
			s.switchTo(1, 8000, 222, server1, preempted)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 880, run queue@1 6000, CPU@1 1000, 1>0 100"},
		"a lock is held by one that computes": {9000, func(s *script) {
			s.switchTo(1, 100, 0, 222, 0) // it waited for the word before
			s.call(1, 110, 150, 222, "futex", 0xabc, 0)
			s.switchTo(1, 120, 222, 0, 1)
			s.wake(1, 130, 222, 0, InHardIRQ)
			s.switchTo(1, 140, 0, 222, 0)
			s.switchTo(1, 160, 222, 0, preempted)
			s.call(1, 2000, 8030, server1, "futex", 0xabc, 0)
			s.switchTo(1, 2010, server1, 222, 1)
			s.call(1, 7990, 8040, 222, "futex", 0xabc, 1)
			s.wake(1, 8000, server1, 222, InThread)
			s.switchTo(1, 8020, 222, server1, preempted)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 890, lock@1 5990, run queue@1 20, CPU@1 980, 1>0 100"},
		"nothing is recorded of the wake-up": {9000, func(s *script) {
			s.switchTo(1, 2000, server1, 0, 1)
			s.switchTo(1, 8000, 0, server1, 0)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 880, waiting (wake-up not recorded)@1 6000, CPU@1 1000, 1>0 100"},
		"a device woke it, and not the thread that was interrupted": {9000, func(s *script) {
			s.call(1, 1900, 8100, server1, "ioctl", 0, 0)
			s.switchTo(1, 2000, server1, 222, 1)
			s.wake(1, 8000, server1, 222, InHardIRQ)
			s.switchTo(1, 8010, 222, server1, preempted)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 880, timer or device@1 6000, run queue@1 10, CPU@1 990, 1>0 100"},
		"the database sleeps": {9000, func(s *script) {
			s.switchTo(2, 10, 0, db1, 0)
			s.call(2, 20, 2140, db1, "recvfrom", 0, 16)
			s.switchTo(2, 30, db1, 0, 1)
			s.call(1, 1990, 2010, server1, "sendto", 0, 16)
			s.packet(1, 2, 2000, 2100, 1, 16, 1, "")
			s.call(1, 2020, 8170, server1, "recvfrom", 0, 16)
			s.switchTo(1, 2030, server1, 0, 1)
			s.soft(2, 2095, 2120)
			s.wake(2, 2110, db1, 0, InSoftIRQ)
			s.switchTo(2, 2130, 0, db1, 0)
			s.call(2, 2200, 7020, db1, "nanosleep", 0, 0)
			s.switchTo(2, 2210, db1, 0, 1)
			s.wake(2, 7000, db1, 0, InHardIRQ)
			s.switchTo(2, 7010, 0, db1, 0)
			s.call(2, 7990, 8010, db1, "sendto", 0, 16)
			s.packet(2, 1, 8000, 8100, 1, 16, 17, "")
			s.soft(1, 8095, 8130)
			s.wake(1, 8120, server1, 0, InSoftIRQ)
			s.switchTo(1, 8150, 0, server1, 0)
		}, "0>1 90, softirq@1 10, run queue@1 20, CPU@1 880, 1>2 100, softirq@2 10, run queue@2 20, CPU@2 80, sleep@2 4790, run queue@2 10, CPU@2 990, 2>1 100, softirq@1 20, run queue@1 30, CPU@1 850, 1>0 100"},
	} {
		s := asked(c.reply)
		c.add(s)
		w, set := s.play(nil)
		i := slices.IndexFunc(set.Requests(), func(r wire.Request) bool { return r.First.Host == 0 })
		r := set.Requests()[i]
		pieces, known := w.Path(&r)
		if got := drawn(pieces); !known || got != c.want {
			t.Errorf("%s: the path is\n%s\nand not\n%s", name, got, c.want)
		}
	}
}

func TestADelayedAcknowledgementIsNamed(t *testing.T) {
	t.Parallel()
	// The second write waits for the acknowledgement of the first, which the server sends 40 ms later.
	const ms = 1_000_000
	s := &script{sent: make(map[string]*wire.Packet)}
	s.switchTo(0, 10, 0, client1, 0)
	s.switchTo(1, 10, 0, server1, 0)
	s.call(1, 20, 41*ms+500, server1, "recvfrom", 0, 16)
	s.switchTo(1, 30, server1, 0, 1)
	s.call(0, 90, 110, client1, "sendto", 0, 16)
	s.packet(0, 1, 100, 200, 1, 16, 1, "")
	s.call(0, 120, 130, client1, "sendto", 0, 16)
	s.call(0, 140, 42*ms, client1, "recvfrom", 0, 16)
	s.switchTo(0, 150, client1, 0, 1)
	s.packet(1, 0, 40*ms, 40*ms+100, 1, 0, 17, "") // the acknowledgement
	s.soft(0, 40*ms+90, 40*ms+150)
	s.packet(0, 1, 40*ms+120, 40*ms+220, 17, 16, 1, "")
	s.soft(1, 40*ms+210, 40*ms+260)
	s.wake(1, 40*ms+240, server1, 0, InSoftIRQ)
	s.switchTo(1, 40*ms+300, 0, server1, 0)
	s.call(1, 41*ms+590, 41*ms+610, server1, "sendto", 0, 16)
	s.packet(1, 0, 41*ms+600, 41*ms+700, 1, 16, 33, "")
	w, set := s.play(nil)
	list := set.Requests()
	if len(list) != 1 {
		t.Fatalf("%d requests", len(list))
	}
	pieces, known := w.Path(&list[0])
	want := "0>1 100, delayed ACK@1 39999800, 1>0 100, softirq@0 20, 0>1 100, softirq@1 20, run queue@1 60, CPU@1 1000300, 1>0 100"
	if got := drawn(pieces); !known || got != want {
		t.Errorf("the path is\n%s\nand not\n%s", got, want)
	}
}

func TestThePathOfARequestWhoseClientIsNotRecordedIsTheServers(t *testing.T) {
	t.Parallel()
	s := asked(9000)
	s.call(1, 1990, 7020, server1, "clock_nanosleep", 0, 0)
	s.switchTo(1, 2000, server1, 0, 1)
	s.wake(1, 7000, server1, 0, InHardIRQ)
	s.switchTo(1, 7010, 0, server1, 0)
	s.events = slices.DeleteFunc(s.events, func(e scripted) bool { return e.host == 0 })
	w, set := s.play(nil)
	list := set.Requests()
	if len(list) != 1 || !list[0].ByServer {
		t.Fatalf("requests %+v", list)
	}
	pieces, known := w.Path(&list[0])
	if got, want := drawn(pieces), "softirq@1 10, run queue@1 20, CPU@1 880, sleep@1 5000, run queue@1 10, CPU@1 1990"; !known || got != want {
		t.Errorf("the path is\n%s, not\n%s", got, want)
	}
}

func TestARetransmissionIsNamed(t *testing.T) {
	t.Parallel()
	s := asked(9_000_000)
	// The first sending of the reply was lost.
	s.on(1, 2_000_000, func(w *World, h *Host, set *wire.Set) {
		w.Packet(h, set.Add(wire.Packet{At: 2_000_000, Event: 5, Host: 1, Row: 1, Out: true, Flags: 16, ID: 9, Seq: 1, Length: 16, Ack: 17}, end(1, true, 0), end(0, false, 1)), 0)
	})
	w, set := s.play(nil)
	list := set.Requests()
	pieces, known := w.Path(&list[0])
	want := "0>1 90, softirq@1 10, run queue@1 20, CPU@1 1998880, retransmission@1 7000000, 1>0 100"
	if got := drawn(pieces); !known || got != want {
		t.Errorf("the path is\n%s\nand not\n%s", got, want)
	}
}

// drawScript makes packets, switches, wake-ups and calls, most of which make no sense together.
func drawScript(t *rapid.T) *script {
	s := &script{sent: make(map[string]*wire.Packet)}
	at := func(name string) int64 { return rapid.Int64Range(0, 300).Draw(t, name) * 1000 }
	thread := func(host int) int32 { return int32(100*(host+1) + rapid.IntRange(0, 2).Draw(t, "thread")) }
	var seq [3][3]uint32
	for range rapid.IntRange(2, 14).Draw(t, "packets") {
		pair := rapid.SampledFrom([][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}}).Draw(t, "way")
		length := rapid.Uint32Range(0, 20).Draw(t, "length")
		first := seq[pair[0]][pair[1]]
		if rapid.IntRange(0, 6).Draw(t, "again") == 0 && first >= 5 {
			first -= 5
		}
		seq[pair[0]][pair[1]] = max(seq[pair[0]][pair[1]], first+length)
		sent := at("sent")
		s.packet(pair[0], pair[1], sent, sent+rapid.Int64Range(-20, 60).Draw(t, "delay")*1000, first, length, seq[pair[1]][pair[0]], "")
	}
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		host, when := rapid.IntRange(0, 2).Draw(t, "host"), at("when")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			s.switchTo(host, when, thread(host), thread(host), rapid.SampledFrom([]int64{0, 1, 2, preempted}).Draw(t, "left"))
		case 1:
			s.wake(host, when, thread(host), rapid.SampledFrom([]int32{-1, 0, thread(host)}).Draw(t, "waker"), uint8(rapid.IntRange(0, 4).Draw(t, "context")))
		case 2:
			s.soft(host, when, when+rapid.Int64Range(0, 30).Draw(t, "softirq")*1000)
		default:
			s.call(host, when, when+rapid.Int64Range(0, 100).Draw(t, "call")*1000, thread(host), rapid.SampledFrom([]string{"sendto", "recvfrom", "futex", "nanosleep", "poll"}).Draw(t, "name"), 7, rapid.SampledFrom([]int64{0, 16, timedOut}).Draw(t, "result"))
		}
	}
	return s
}

func TestPiecesSumToTheRequestWhateverWasRecorded(t *testing.T) {
	t.Parallel()
	walked, cuts := 0, 0
	testseed.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		bound := rapid.Int64Range(0, 100_000).Draw(t, "bound")
		w, set := s.play(func(int, int64) cause.Bounds { return cause.Bounds{Below: bound, Above: bound, Known: bound > 0} })
		for _, r := range set.Requests() {
			pieces, known := w.Path(&r)
			if !known {
				continue
			}
			walked++
			when, shown, begin := r.First.At, cause.Shown(pieces), r.First.At
			for i, p := range pieces {
				if len(p.Less) > 0 {
					cuts++
				}
				if x := shown[i]; x.Begin != begin || x.From < 0 && x.End < x.Begin {
					t.Fatalf("%+v is shown at %d, of %s", x, begin, drawn(shown))
				}
				begin = shown[i].End
				if p.Begin != when {
					t.Fatalf("a gap at %d before %+v of %s", when, p, drawn(pieces))
				}
				when = p.End
			}
			if when != r.Last.At || begin != when {
				t.Fatalf("the path ends at %d, not at %d: %s", when, r.Last.At, drawn(pieces))
			}
			w.model.Sum(pieces).Largest()
		}
	})
	if walked == 0 {
		t.Error("no request was walked")
	}
	t.Logf("%d requests were walked, %d pieces cut", walked, cuts)
}
