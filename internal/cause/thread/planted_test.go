package thread

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
)

// Kinds of events that a recording may lack.
const (
	lackCalls = 1 << iota
	lackWakers
	lackSoftIRQs
	lackSockets
	lackDisks
	lackOthers // switches between threads that are not followed
	lackSwitches
)

// planted is requests of a client to a server, which asks a database, with known causes and clocks that are wrong.
type plantedWorld struct {
	script
	random  *rand.Rand
	lacks   int
	offset  [3]int64
	planted []string // of each request; "" for none
	seq     map[[2]int]uint32
	at      int64 // true time
}

const (
	usec       = 1000
	msec       = 1000 * usec
	holder     = 201
	stranger   = 222 // is not followed
	lockWord   = 0xabc
	ackDelay   = 40 * msec
	plantCount = 1000
)

func (p *plantedWorld) note(host int, at int64, lacking int, do func(stamp int64, w *World, h *Host, s *wire.Set)) {
	if p.lacks&lacking != 0 {
		return
	}
	stamp := at + p.offset[host]
	p.on(host, at, func(w *World, h *Host, s *wire.Set) { do(stamp, w, h, s) })
}

func (p *plantedWorld) run(host int, at int64, cpu, from, to int32, left int64) {
	lacking := lackSwitches
	if from == stranger && to == stranger || from == stranger && to == 0 || from == 0 && to == stranger {
		lacking |= lackOthers
	}
	p.note(host, at, lacking, func(t int64, _ *World, h *Host, _ *wire.Set) {
		h.Switch(t, cpu, from, to, left, from != stranger, to != stranger)
	})
}

func (p *plantedWorld) wakes(host int, at int64, cpu, tid, waker int32, context uint8) {
	if p.lacks&lackWakers != 0 {
		waker, context = -1, ContextUnknown
	}
	p.note(host, at, lackSwitches, func(t int64, _ *World, h *Host, _ *wire.Set) { h.Wake(t, cpu, tid, waker, context) })
}

func (p *plantedWorld) enter(host int, at int64, tid int32, name string, word uint64) {
	p.note(host, at, lackCalls, func(t int64, _ *World, h *Host, _ *wire.Set) { h.Enter(t, tid, name, word) })
}

func (p *plantedWorld) leave(host int, at int64, tid int32, result int64) {
	p.note(host, at, lackCalls, func(t int64, _ *World, h *Host, _ *wire.Set) { h.Leave(t, tid, result) })
}

func (p *plantedWorld) softly(host int, at int64, begins bool) {
	p.note(host, at, lackSoftIRQs, func(t int64, _ *World, h *Host, _ *wire.Set) { h.SoftIRQ(t, 0, begins) })
}

// carry adds one end of a packet.
func (p *plantedWorld) carry(from, to int, at int64, out bool, seq, length, ack uint32) {
	a, b, host := end(from, from > to, to), end(to, to > from, from), to
	if out {
		host = from
	}
	p.note(host, at, 0, func(t int64, w *World, h *Host, set *wire.Set) {
		w.Packet(h, set.Add(wire.Packet{At: t, Event: at, Host: host, Row: host, Out: out, Flags: 16, ID: uint16(seq) ^ uint16(length), Seq: seq, Length: length, Ack: ack}, a, b), 0)
	})
}

func (p *plantedWorld) moved(from, to, host int, at int64, tid int32, seq, length uint32) {
	p.note(host, at, lackSockets, func(t int64, _ *World, h *Host, set *wire.Set) {
		c, d, _ := set.Way(host, end(from, from > to, to), end(to, to > from, from))
		if host == from {
			h.Wrote(t, tid, c, d, seq, length)
		} else {
			h.Read(t, tid, c, d, seq, length)
		}
	})
}

// write has a thread write to a connection, and sends it at once if it is to.
func (p *plantedWorld) write(from, to int, tid int32, length uint32, sends bool) (seq uint32) {
	seq = p.seq[[2]int{from, to}]
	p.seq[[2]int{from, to}] += length
	p.enter(from, p.at, tid, "sendto", 4)
	if sends {
		p.carry(from, to, p.at+5*usec, true, seq, length, p.seq[[2]int{to, from}])
	}
	p.moved(from, to, from, p.at+8*usec, tid, seq, length)
	p.leave(from, p.at+10*usec, tid, int64(length))
	p.at += 12 * usec
	return seq
}

// block has a thread wait in a call.
func (p *plantedWorld) block(host int, tid int32, call string, word uint64, left int64) {
	p.enter(host, p.at, tid, call, word)
	p.run(host, p.at+2*usec, 0, tid, 0, left)
	p.at += 3 * usec
}

// arrive has a packet come after a delay and wake the thread that reads it, which has waited for a processor so long.
func (p *plantedWorld) arrive(from, to int, delay int64, tid int32, seq, length, read uint32, queue int64) {
	p.at += delay
	if queue > 50*usec {
		p.run(to, p.at-40*usec, 0, 0, stranger, 0)
	}
	p.softly(to, p.at-usec, true)
	p.carry(from, to, p.at, false, seq, length, p.seq[[2]int{to, from}])
	p.wakes(to, p.at+2*usec, 0, tid, 0, InSoftIRQ)
	p.softly(to, p.at+4*usec, false)
	p.at += 6*usec + queue
	before := int32(0)
	if queue > 50*usec {
		before = stranger
		p.run(to, p.at-queue/2, 0, stranger, stranger, preempted) // another number of it
	}
	p.run(to, p.at, 0, before, tid, preempted)
	p.moved(from, to, to, p.at+2*usec, tid, seq+length-read, read)
	p.leave(to, p.at+3*usec, tid, int64(read))
	p.at += 4 * usec
}

// waits has a thread wait in a call until an interrupt or a thread ends it.
func (p *plantedWorld) waits(host int, tid int32, call string, word uint64, left, length int64, waker int32, context uint8) {
	p.block(host, tid, call, word, left)
	if left == uninterruptible {
		p.note(host, p.at, lackDisks, func(t int64, _ *World, h *Host, _ *wire.Set) { h.Issue(t, tid, "vda", 1, 4096, 1) })
		p.note(host, p.at+length-usec, lackDisks, func(t int64, _ *World, h *Host, _ *wire.Set) { h.Complete(t, 0, "vda", 1) })
	}
	p.at += length
	p.wakes(host, p.at, 0, tid, waker, context)
	p.run(host, p.at+3*usec, 0, 0, tid, 0)
	p.leave(host, p.at+5*usec, tid, 0)
	p.at += 6 * usec
}

// serve is what a host does for a request.
func (p *plantedWorld) serve(host int, tid int32, cause string, extra int64) {
	p.at += 100*usec + p.random.Int64N(100*usec)
	is := func(name string) bool { return cause == fmt.Sprintf("%s@%d", name, host) }
	switch {
	case is("CPU"):
		p.at += extra
	case is("sleep"):
		p.waits(host, tid, "clock_nanosleep", 0, 1, extra, 0, InHardIRQ)
	case is("disk"):
		p.waits(host, tid, "fsync", 3, uninterruptible, extra, 0, InHardIRQ)
	case is("lock"):
		from := p.at
		p.run(host, from, 1, 0, holder, 0)
		p.enter(host, from+extra-usec, holder, "futex", lockWord)
		p.leave(host, from+extra+10*usec, holder, 1)
		p.run(host, from+extra+20*usec, 1, holder, 0, 1)
		p.waits(host, tid, "futex", lockWord, 1, extra-3*usec, holder, InThread)
	}
	p.at += 50*usec + p.random.Int64N(50*usec)
}

// ask is one request.
func (p *plantedWorld) ask(cause string, extra int64) {
	delay := func(from, to int) int64 {
		d := 100*usec + p.random.Int64N(200*usec)
		if cause == fmt.Sprintf("%d>%d", from, to) {
			d += extra
		}
		return d
	}
	queue := func(host int) int64 {
		if cause == fmt.Sprintf("run queue@%d", host) {
			return extra
		}
		return usec + p.random.Int64N(20*usec)
	}
	if cause == "delayed ACK@1" {
		first := p.write(0, 1, client1, 16, true)
		sent := p.at
		second := p.write(0, 1, client1, 16, false)
		p.block(0, client1, "recvfrom", 4, 1)
		p.at = sent
		p.arrive(0, 1, delay(0, 1), server1, first, 16, 16, queue(1))
		p.block(1, server1, "recvfrom", 4, 1)
		p.at += ackDelay
		p.carry(1, 0, p.at, true, p.seq[[2]int{1, 0}], 0, second)
		p.at += delay(1, 0)
		p.softly(0, p.at-usec, true)
		p.carry(1, 0, p.at, false, p.seq[[2]int{1, 0}], 0, second)
		p.carry(0, 1, p.at+2*usec, true, second, 16, p.seq[[2]int{1, 0}])
		p.softly(0, p.at+4*usec, false)
		p.arrive(0, 1, delay(0, 1), server1, second, 16, 16, queue(1))
	} else {
		seq := p.write(0, 1, client1, 32, true)
		sent := p.at
		p.block(0, client1, "recvfrom", 4, 1)
		p.at = sent
		p.arrive(0, 1, delay(0, 1), server1, seq, 32, 32, queue(1))
	}
	p.serve(1, server1, cause, extra)
	for _, c := range []struct {
		from, to    int
		writes, tid int32
		served      bool
	}{{1, 2, server1, db1, true}, {2, 1, db1, server1, false}, {1, 0, server1, client1, false}} {
		seq := p.write(c.from, c.to, c.writes, 32, true)
		sent := p.at
		p.block(c.from, c.writes, "recvfrom", 4, 1)
		p.at = sent
		p.arrive(c.from, c.to, delay(c.from, c.to), c.tid, seq, 32, 32, queue(c.to))
		if c.served {
			p.serve(c.to, c.tid, cause, extra)
		} else {
			p.at += 50 * usec
		}
	}
	p.at += msec + p.random.Int64N(msec)
}

var plantedCauses = []string{"", "", "", "", "CPU@1", "CPU@2", "run queue@1", "run queue@2", "sleep@1", "sleep@2", "disk@1", "disk@2", "lock@1", "0>1", "1>2", "2>1", "1>0", "delayed ACK@1"}

// newPlanted makes requests by clocks that are wrong by up to bound.
func newPlanted(seed uint64, requests int, bound int64, lacks int) *plantedWorld {
	p := &plantedWorld{random: rand.New(rand.NewPCG(seed, 3)), lacks: lacks, seq: make(map[[2]int]uint32), at: msec}
	for h := range p.offset {
		p.offset[h] = int64(float64(bound) * 0.9 * (2*p.random.Float64() - 1))
	}
	for _, way := range [][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}} {
		p.seq[way] = p.random.Uint32()
	}
	for host, tid := range []int32{client1, server1, db1} {
		p.run(host, 10, 0, 0, tid, 0)
		if host > 0 {
			p.enter(host, 20, tid, "recvfrom", 4)
			p.run(host, 30, 0, tid, 0, 1)
		}
	}
	// The holder has waited for the lock as well, once.
	p.run(1, 40, 1, 0, holder, 0)
	p.enter(1, 50, holder, "futex", lockWord)
	p.run(1, 60, 1, holder, 0, 1)
	p.wakes(1, 70, 1, holder, 0, InHardIRQ)
	p.run(1, 80, 1, 0, holder, 0)
	p.leave(1, 90, holder, 0)
	p.run(1, 100, 1, holder, 0, 1)
	p.wakes(1, 110, 1, holder, 0, InHardIRQ)
	for range requests {
		c := plantedCauses[p.random.IntN(len(plantedCauses))]
		p.planted = append(p.planted, c)
		p.ask(c, 4*msec+p.random.Int64N(8*msec))
	}
	return p
}

// nameOf words an item as plants are.
func nameOf(k cause.Key) string {
	if k.FromHost >= 0 {
		return fmt.Sprintf("%d>%d", k.FromHost, k.Host)
	}
	return fmt.Sprintf("%s@%d", k.State.Words(k.Wait), k.Host)
}

// decided returns the one item that a blame names, if that says what happened.
func decided(b *cause.Blame) (name string, is bool) {
	can := b.Largest()
	if len(can) != 1 {
		return "", false
	}
	k := b.Items[can[0]].Key
	return nameOf(k), k.FromHost >= 0 || k.State.Explained() && k.Wait == cause.NoWait
}

// judged walks all requests and returns how many causes are named by excess, left open, and named wrongly. None may be named wrongly by total: what was
// planted takes longer than anything else.
func judged(t *testing.T, p *plantedWorld, bound int64) (right, open, wrong int, by map[string]int) {
	t.Helper()
	w, set := p.play(func(int, int64) cause.Bounds { return cause.Bounds{Below: bound + 1, Above: bound + 1, Known: true} })
	list := slices.DeleteFunc(set.Requests(), func(r wire.Request) bool { return r.First.Host != 0 })
	if len(list) != len(p.planted) {
		t.Fatalf("%d requests of %d", len(list), len(p.planted))
	}
	slices.SortFunc(list, func(a, b wire.Request) int { return cmp.Compare(a.First.At, b.First.At) })
	blames := make([]*cause.Blame, len(list))
	for i := range list {
		pieces, known := w.Path(&list[i])
		if !known {
			t.Fatalf("request %d has no path", i)
		}
		sum := int64(0)
		for _, x := range pieces {
			sum += x.Length()
		}
		if sum != list[i].Last.At-list[i].First.At {
			t.Fatalf("pieces of request %d sum to %d: %s", i, sum, drawn(pieces))
		}
		blames[i] = w.model.Sum(pieces)
	}
	by = make(map[string]int)
	for i, b := range blames {
		if p.planted[i] == "" {
			continue
		}
		if name, is := decided(b); is && name != p.planted[i] {
			wrong++
			by["by total "+p.planted[i]+" as "+name]++
		}
		typical := cause.Typical(blames[max(0, i-32):min(len(blames), i+33)])
		switch name, is := decided(b.Beyond(typical, 20*usec)); {
		case !is:
			open++
			by[p.planted[i]]++
		case name == p.planted[i]:
			right++
		default:
			wrong++
			by[p.planted[i]+" as "+name]++
		}
	}
	return right, open, wrong, by
}

func TestPlantedCausesOfThreadsAreNamed(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2} {
		for _, bound := range []int64{0, 2 * msec, 40 * msec} {
			right, open, wrong, by := judged(t, newPlanted(seed, plantCount, bound, 0), bound)
			t.Logf("seed %d, bounds of %d us: %d right, %d open, %d wrong %v", seed, bound/usec, right, open, wrong, by)
			if wrong > 0 || right*100 < 98*(right+open) {
				t.Errorf("seed %d, bounds of %d us: %d right, %d open, %d wrong %v", seed, bound/usec, right, open, wrong, by)
			}
		}
	}
}

func TestWhatIsNotRecordedLeavesCausesOpenAndNeverWrong(t *testing.T) {
	t.Parallel()
	_, all, _, _ := judged(t, newPlanted(5, 400, msec, 0), msec)
	for name, lacks := range map[string]int{"calls": lackCalls, "wakers": lackWakers, "softirqs": lackSoftIRQs, "sockets": lackSockets, "disks": lackDisks, "other threads": lackOthers,
		"calls and wakers": lackCalls | lackWakers, "softirqs and wakers": lackSoftIRQs | lackWakers, "softirqs and sockets": lackSoftIRQs | lackSockets, "switches": lackSwitches,
		"all but packets": lackSwitches | lackCalls | lackSoftIRQs | lackSockets | lackDisks} {
		right, open, wrong, by := judged(t, newPlanted(5, 400, msec, lacks), msec)
		t.Logf("without %s: %d right, %d open, %d wrong %v", name, right, open, wrong, by)
		if wrong > 0 || open < all {
			t.Errorf("without %s: %d right, %d open (%d with all), %d wrong %v", name, right, open, all, wrong, by)
		}
	}
}

// BenchmarkEvents adds the events of 2,000 requests, some 90 each, and walks the path of each. Bytes are what is held in the end.
func BenchmarkEvents(b *testing.B) {
	p := newPlanted(1, 2000, msec, 0)
	slices.SortStableFunc(p.events, func(a, b scripted) int { return cmp.Compare(a.at, b.at) })
	var before, after runtime.MemStats
	var adding, walking time.Duration
	walked := 0
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		from := time.Now()
		w, set := p.play(func(int, int64) cause.Bounds { return cause.Bounds{Below: msec, Above: msec, Known: true} })
		adding += time.Since(from)
		runtime.GC()
		runtime.ReadMemStats(&after)
		from = time.Now()
		for _, r := range set.Requests() {
			if _, known := w.Path(&r); known {
				walked++
			}
		}
		walking += time.Since(from)
	}
	n := float64(len(p.events))
	b.ReportMetric(float64(adding.Nanoseconds())/float64(b.N)/n, "ns/event")
	b.ReportMetric(float64(walking.Nanoseconds())/float64(walked), "ns/path")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/event")
	b.ReportMetric(n, "events")
}
