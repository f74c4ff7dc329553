// Package thread walks the critical path of a request through what kernels recorded: states of threads, wake-ups, system
// calls and packets. In go the events of hosts, each in the order of its own clock; out come pieces that follow each other
// without a gap.
//
//	client   sent >--.                                       .--> last
//	server           '--> woken, runs, blocks ....... runs >-'
//	                                  |  woken by         ^
//	                                  v                   |
//	                     a thread | a timer | a packet: on at the host that sent it
//
// The walk goes back from a request's last packet. What a thread waited for is what woke it: a thread (walked over the same
// time of the same clock), a timer, or a packet, which leads to the host that sent it and back with what that was asked.
// Which was last is only asked of events of one host. A wait that nothing explains stays a piece, which says so.
//
// A wake-up from an interrupt says nothing of the thread that the interrupt met. Recordings without waker_context are walked by
// what else tells: a softirq that is open, the calls of the threads.
//
// Where it is recorded which thread wrote and read which bytes, a packet is of the thread that wrote its last byte: it was held if that
// call had ended before it left. A request is in its queue until its last byte is read.
//
// A thread that serves several requests by turns is woken for any of them (loop.go): what it read last before it went on with one is followed, not
// what woke it.
//
// Goroutines of an execution trace are actors as threads are: what one waits for is the goroutine that made it ready, a timer, or the
// network's poller. While it runs its thread's states tell the rest.
//
// Without an execution trace a program in Go is known by how its threads wait (runtime.go): what wakes a parked thread is walked in its stead.
//
// Cost: 60 bytes and some 0.2 us an event; a path takes O(pieces log n). Source: Giraldeau and Dagenais, "Wait Analysis of
// Distributed Systems Using Kernel Tracing", 2016, with the differences that the tests hold.
package thread

import (
	"net/netip"
	"sort"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
)

// Contexts of wake-ups, as the recorder numbers them.
const (
	ContextUnknown = iota
	InThread
	InSoftIRQ
	InHardIRQ
	InNMI
)

const (
	running = iota + 1
	runnable
	blocked
)

// state is what a thread does from an instant on.
type state struct {
	begin int64
	kind  uint8
	left  int64 // TASK_... in which it was left
	cpu   int32
	call  int32 // in progress; -1
	wake  int32 // that ended it; -1

	thread int32  // on which a goroutine runs
	reason string // why a goroutine waits; "" for threads
}

// wake is a wake-up that ended a wait.
type wake struct {
	at      int64
	cpu     int32
	context uint8
	waker   int32   // -1 where not known
	calling bool    // the waker was in a call
	packet  *packet // the last received in the softirq
	block   int     // 1 + the request to a device that an interrupt ended there just before; 0 for none
}

// call is a system call.
type call struct {
	begin, end int64 // end 1<<62: it did not return
	name       string
	word       uint64 // first argument
	result     int64
}

// thread is one thread.
type thread struct {
	row    int
	states []state
	calls  []call
	in     int32
}

// packet is one with what the kernel did meanwhile.
type packet struct {
	*wire.Packet
	cpu     int32
	tid     int32 // who was on the processor; 0 is idle, -1 not known
	inCall  bool  // sent by a call of the thread
	after   *packet
	softirq bool
}

// tenure is the time of a thread on a processor.
type tenure struct {
	begin int64
	tid   int32
}

// way is a direction of a connection.
type way struct {
	connection int32
	direction  uint8
}

func wayOf(p *wire.Packet) way { return way{p.Connection, p.Direction} }

func (w way) back() way { return way{w.connection, 1 - w.direction} }

// Host is one host's events. Methods that add are called in the order of its clock.
type Host struct {
	number   int
	row      int          // that stands for the host
	rows     map[int]bool // of threads
	threads  map[int32]*thread
	wakes    []wake
	tenures  map[int32][]tenure
	cpus     map[int32]*processor
	received map[way][]*packet
	sent     map[way][]*packet
	all      []*packet // received
	owner    map[way]int32
	words    map[uint64]map[int32]bool
	releases map[uint64][]release // of a futex's word, in order of time
	switches int64
	last     int64 // instant of the latest switch or wake-up

	wrote, read map[way][]transfer
	wroteBy     map[int32][]moved // of threads; nil until all events are added
	readBy      map[int32][]moved
	actors      map[int32]*actor  // of threads asked about
	sentBy      map[int32][]moved // by threads, where it is not recorded what they wrote; nil until it is asked for
	crowded     map[way]bool      // on which many actors sent, once sentBy is there
	serves      []served          // requests that the host had, in order of their arrival once they are sorted
	sorted      bool
	blocks      []block // in order of their end
	asked       map[blockKey]block

	goroutines map[goroutineID]int32
	on         map[int32]int32    // of threads, the goroutine that runs there
	programs   map[int32]*program // in Go, by thread; nil until all events are added
}

// processor is what is known of a processor while events are added.
type processor struct {
	current int32
	soft    int
	last    *packet // received within the softirq
	done    int64   // the end of the last request to a device
	blocks  int     // and 1 + which it was
}

// World is hosts whose packets meet.
type World struct {
	hosts []*Host
	of    map[*wire.Packet]*packet
	model *cause.Model

	// Ends names the sender and the receiver of a connection's packets of one direction; nil leaves them out.
	Ends func(connection int32, direction uint8) (from, to netip.AddrPort)
	// Client returns the direction in which a connection's requests go; nil takes both ends of any for its client.
	Client func(connection int32) uint8
}

// NewWorld returns a world of as many hosts, of which nothing is known yet. Bounds come from the model.
func NewWorld(hosts int, m *cause.Model) *World {
	return &World{hosts: make([]*Host, hosts), of: make(map[*wire.Packet]*packet), model: m}
}

// Host returns a host, whose row is one of it.
func (w *World) Host(number, row int) *Host {
	if w.hosts[number] == nil {
		w.hosts[number] = &Host{number: number, row: row, rows: make(map[int]bool), threads: make(map[int32]*thread), tenures: make(map[int32][]tenure), cpus: make(map[int32]*processor),
			received: make(map[way][]*packet), sent: make(map[way][]*packet), owner: make(map[way]int32), words: make(map[uint64]map[int32]bool), releases: make(map[uint64][]release),
			wrote: make(map[way][]transfer), read: make(map[way][]transfer), asked: make(map[blockKey]block), goroutines: make(map[goroutineID]int32), on: make(map[int32]int32),
			actors: make(map[int32]*actor)}
	}
	return w.hosts[number]
}

// Threads reports whether the states of any host's threads are known.
func (w *World) Threads() bool {
	for _, h := range w.hosts {
		if h != nil && h.switches > 0 {
			return true
		}
	}
	return false
}

func (h *Host) thread(tid int32) *thread {
	t := h.threads[tid]
	if t == nil {
		t = &thread{row: -1, in: -1}
		h.threads[tid] = t
	}
	return t
}

// Row notes the row of a thread.
func (h *Host) Row(tid int32, row int) {
	if t := h.thread(tid); t.row != row {
		t.row = row
		h.rows[row] = true
	}
}

func (h *Host) cpu(n int32) *processor {
	p := h.cpus[n]
	if p == nil {
		p = &processor{current: -1}
		h.cpus[n] = p
	}
	return p
}

func (t *thread) becomes(at int64, kind uint8, cpu int32, left int64) {
	t.states = append(t.states, state{begin: at, kind: kind, left: left, cpu: cpu, call: t.in, wake: -1})
}

// States in which a thread is left (linux/sched.h), and the one that says that it would go on.
const (
	uninterruptible = 2
	preempted       = 0x100
	noLoad          = 0x400 // with uninterruptible: an idle thread of the kernel
	rtLock          = 0x1000
)

// Switch adds that a processor went on from one thread to another; 0 is the idle one. A thread that is not followed has only its
// tenure.
func (h *Host) Switch(at int64, cpu, from, to int32, left int64, fromFollowed, toFollowed bool) {
	h.switches++
	h.last = at
	if from != 0 && fromFollowed {
		t := h.thread(from)
		if left == preempted || left == 0 {
			t.becomes(at, runnable, cpu, left)
		} else {
			t.becomes(at, blocked, cpu, left)
			if t.in >= 0 && t.calls[t.in].name == "futex" {
				word := t.calls[t.in].word
				if h.words[word] == nil {
					h.words[word] = make(map[int32]bool)
				}
				h.words[word][from] = true
			}
		}
	}
	if to != 0 && toFollowed {
		h.thread(to).becomes(at, running, cpu, 0)
	}
	h.cpu(cpu).current = to
	h.tenures[cpu] = append(h.tenures[cpu], tenure{at, to})
}

const (
	nearPacket = 20_000  // ns in which a packet belongs to what follows where no softirq is recorded
	farPacket  = 100_000 // and where the wake-up is known to come from one
)

// Wake adds a wake-up; the waker is -1 where the recording does not name it.
func (h *Host) Wake(at int64, cpu, tid, waker int32, context uint8) {
	h.last = at
	t, c := h.thread(tid), h.cpu(cpu)
	if len(t.states) == 0 || t.states[len(t.states)-1].kind != blocked {
		return
	}
	w := wake{at: at, cpu: cpu, context: context, waker: waker}
	if waker < 0 {
		w.waker = c.current
	}
	if w.waker > 0 {
		u := h.threads[w.waker]
		w.calling = u != nil && u.in >= 0
	}
	near := c.last != nil && at-c.last.At < nearPacket
	switch {
	case c.soft > 0:
		if w.packet = c.last; context == ContextUnknown {
			w.context = InSoftIRQ
		}
	case context == ContextUnknown && near:
		w.context = InSoftIRQ
	}
	if w.context == InSoftIRQ && w.packet == nil && c.last != nil && at-c.last.At < farPacket {
		w.packet = c.last
	}
	if c.blocks > 0 && w.context != InThread && at-c.done < nearPacket && (c.last == nil || c.last.At < c.done) {
		w.block, w.packet = c.blocks, nil
	}
	h.wakes = append(h.wakes, w)
	t.states[len(t.states)-1].wake = int32(len(h.wakes) - 1)
	t.becomes(at, runnable, cpu, 0)
}

// Enter adds the begin of a system call.
func (h *Host) Enter(at int64, tid int32, name string, argument uint64) {
	t := h.thread(tid)
	t.calls = append(t.calls, call{begin: at, end: 1 << 62, name: name, word: argument})
	t.in = int32(len(t.calls) - 1)
}

// Leave adds its end.
func (h *Host) Leave(at int64, tid int32, result int64) {
	if t := h.thread(tid); t.in >= 0 {
		c := &t.calls[t.in]
		c.end, c.result, t.in = at, result, -1
		h.released(at, tid, c)
	}
}

// SoftIRQ adds that a processor began or ended a softirq of the network.
func (h *Host) SoftIRQ(at int64, cpu int32, begins bool) {
	c := h.cpu(cpu)
	switch {
	case begins:
		c.soft, c.last = c.soft+1, nil
	case c.soft > 0:
		c.soft--
	}
}

var sends = map[string]bool{"sendto": true, "sendmsg": true, "write": true, "writev": true, "sendmmsg": true, "sendfile": true, "splice": true, "connect": true}

// Captured stands for the processor of a packet that a capture has.
const Captured = -1

// Packet adds a packet.
func (w *World) Packet(h *Host, x *wire.Packet, cpu int32) {
	c := h.cpu(cpu)
	p := &packet{Packet: x, cpu: cpu, tid: c.current, softirq: c.soft > 0}
	w.of[x] = p
	k := wayOf(x)
	if !x.Out {
		h.received[k] = append(h.received[k], p)
		h.all = append(h.all, p)
		c.last = p
		return
	}
	near := c.last != nil && x.At-c.last.At < nearPacket
	if c.current > 0 {
		switch u := h.threads[c.current]; {
		case u == nil:
		case u.in >= 0:
			p.inCall = sends[u.calls[u.in].name]
		case len(u.calls) == 0 && c.soft == 0 && !near:
			p.inCall = true // its calls are not recorded
		}
	}
	switch list := h.received[k.back()]; {
	case cpu == Captured:
		if n := len(list); n > 0 && list[n-1].Length == 0 && list[n-1].Ack == x.Seq && x.At-list[n-1].At < farPacket { // nothing else was on its way
			p.after = list[n-1]
		}
	case c.last != nil && (c.soft > 0 || !p.inCall && near) && wayOf(c.last.Packet) == k.back():
		p.after = c.last
	}
	if g, runs := h.on[c.current]; runs && p.inCall {
		p.tid = g
	}
	if p.inCall && x.Length > 0 && p.after == nil {
		h.owner[k] = p.tid
	}
	h.sent[k] = append(h.sent[k], p)
}

// other returns the other end of a packet; nil where that is not recorded.
func (w *World) other(p *packet) *packet {
	if p.Other == nil {
		return nil
	}
	return w.of[p.Other]
}

// before finds the last packet with payload before an instant.
func before(list []*packet, at int64) *packet {
	for i := sort.Search(len(list), func(i int) bool { return list[i].At >= at }) - 1; i >= 0; i-- {
		if list[i].Length > 0 {
			return list[i]
		}
	}
	return nil
}

// at returns the state in which a thread is just before an instant; -1 where not known.
func (t *thread) at(x int64) int {
	return sort.Search(len(t.states), func(i int) bool { return t.states[i].begin >= x }) - 1
}
