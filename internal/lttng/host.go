package lttng

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"meridian/clock"
)

// host is the processors of a host and what happens on them.
type host struct {
	o       *Options
	classes []class
	of      map[kind]int
	kernel  [][]event // of each processor
	user    [][]event
	packets int
	random  *rand.Rand
}

type thread struct {
	tid, pid int64
	name     string
	call     kind // the system call that it is in; 0 for none, which no call is
}

// processor is one of them while it lives.
type processor struct {
	h       *host
	number  int
	idle    thread
	threads []thread
	now     *thread            // the one that runs
	softly  bool               // in a softirq
	last    clock.TimelineTime // when something happened last
}

func newHost(o *Options) *host {
	h := &host{o: o, random: rand.New(rand.NewPCG(3, 5)), kernel: make([][]event, o.Processors), user: make([][]event, o.Processors)}
	h.classes, h.of = classes(o.Style)
	return h
}

// threadsEach is how many threads a processor has, and firstThread the number of the first, which is the process.
const (
	threadsEach = 2
	firstThread = 1200
)

// live plays the packets.
func (h *host) live(packets []Packet) error {
	perCPU := make([][]event, h.o.Processors)
	for i := range packets {
		head, err := headerOf(&packets[i])
		if err != nil {
			return err
		}
		e := event{at: packets[i].At, kind: receive, packet: &packets[i], head: head}
		if packets[i].Sent {
			e.kind = send
		}
		e.instance = int(head.flow() % uint64(h.o.Processors))
		perCPU[e.instance] = append(perCPU[e.instance], e)
	}
	for n, events := range perCPU {
		slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
		p := &processor{h: h, number: n, idle: thread{name: "swapper/" + string(rune('0'+n%10))}, last: math.MinInt64}
		for i := range threadsEach {
			p.threads = append(p.threads, thread{tid: firstThread + int64(n+i*h.o.Processors), pid: firstThread, name: h.o.Program})
		}
		p.now = &p.idle
		p.play(events)
	}
	h.dropGap()
	if h.o.OutOfOrder {
		h.shuffle()
	}
	return nil
}

// play takes the packets of one processor in order.
func (p *processor) play(events []event) {
	if len(events) > 0 && !p.h.o.Quiet {
		p.begin(events[0].at)
	}
	for i := range events {
		next := clock.TimelineTime(math.MaxInt64)
		if i+1 < len(events) {
			next = events[i+1].at
		}
		p.take(&events[i], next)
	}
	if !p.h.o.Quiet && len(events) > 0 {
		p.quieten(p.last + 100)
	}
}

// begin records the threads that exist at the beginning.
func (p *processor) begin(first clock.TimelineTime) {
	for i := range p.threads {
		p.put(event{at: first - 100_000 + clock.TimelineTime(int64(i)*50), kind: state, other: &p.threads[i]})
	}
}

// put appends an event.
func (p *processor) put(e event) {
	if _, known := p.h.of[e.kind]; !known && e.kind < request {
		return
	}
	e.on, e.instance = p.now, p.number
	list := &p.h.kernel[p.number]
	if e.kind >= request {
		list = &p.h.user[p.number]
	} else {
		p.last = max(p.last, e.at)
	}
	*list = append(*list, e)
}

// Around a packet there must be so much room, ns, that what leads to it and what follows from it can be told.
const (
	roomBefore = 2500
	roomAfter  = 5000
)

// take tells of one packet and of what goes with it, as far as the time to its neighbours has room.
func (p *processor) take(e *event, next clock.TimelineTime) {
	t := &p.threads[e.head.flow()>>32%threadsEach]
	before := !p.h.o.Quiet && (p.last == math.MinInt64 || e.at-p.last > roomBefore)
	after := !p.h.o.Quiet && next-e.at > roomAfter
	data := e.head.payload > 0 && e.head.transport != nil
	if before {
		switch {
		case e.kind == receive && !p.softly:
			p.put(event{at: e.at - 900, kind: interrupt})
			p.put(event{at: e.at - 700, kind: resume})
			p.put(event{at: e.at - 500, kind: softly})
			p.softly = true
		case e.kind == send && data:
			p.quieten(e.at - 2000)
			p.run(e.at-1500, t)
			p.enter(e.at-800, t, sending, e.head)
		}
	}
	p.tell(e, next)
	if !after {
		return
	}
	switch {
	case e.kind == receive:
		if data {
			p.put(event{at: e.at + 400, kind: wakes, other: t})
		}
		p.quieten(e.at + 600)
		if data {
			p.run(e.at+900, t)
			p.enter(e.at+1200, t, 0, e.head)
			p.put(event{at: e.at + 1400, kind: request, head: e.head})
			p.put(event{at: e.at + 1800, kind: requestDone, head: e.head})
		}
	case data:
		p.put(event{at: e.at + 300, kind: sent, packet: e.packet, buffer: e.buffer})
		p.run(e.at+400, t)
		p.enter(e.at+900, t, receiving, e.head)
		p.run(e.at+1500, &p.idle)
	}
}

// tell writes the packet's own events, if the style has any.
func (p *processor) tell(e *event, next clock.TimelineTime) {
	h := p.h
	e.buffer = 0xffff888100000000 + uint64(h.random.IntN(64)+64*p.number)*256
	told := e.head.told(h.o.Style)
	if told {
		h.packets++
	}
	if !told && (h.o.Style == Unaddressed || e.kind == send) {
		return
	}
	p.put(*e)
	if h.o.Style == Extended && e.kind == receive && told {
		later := *e
		later.kind, later.at = decode, e.at+clock.TimelineTime(min(300, max(0, int64(next-e.at)/2)))
		p.put(later)
	}
}

// quieten ends the softirq that the processor is in.
func (p *processor) quieten(at clock.TimelineTime) {
	if p.softly {
		p.put(event{at: at, kind: softlyDone})
		p.softly = false
	}
}

// run makes the processor go on to a thread.
func (p *processor) run(at clock.TimelineTime, t *thread) {
	if p.now != t {
		p.quieten(at - 50)
		p.put(event{at: at, kind: switches, other: t})
		p.now = t
	}
}

// enter ends the system call that the thread is in and begins another; 0 begins none.
func (p *processor) enter(at clock.TimelineTime, t *thread, call kind, of header) {
	switch t.call {
	case sending:
		p.put(event{at: at, kind: sentCall, head: of})
	case receiving:
		p.put(event{at: at, kind: receivedCall, head: of})
	}
	if t.call = call; call != 0 {
		p.put(event{at: at + 200, kind: call, head: of})
	}
}

// first returns the earliest stamp of the trace.
func (h *host) first(shown func(clock.TimelineTime) clock.HostTime) clock.HostTime {
	first := clock.HostTime(math.MaxInt64)
	for _, channels := range [][][]event{h.kernel, h.user} {
		for _, l := range channels {
			if len(l) > 0 {
				first = min(first, shown(l[0].at))
			}
		}
	}
	if first == math.MaxInt64 {
		return shown(0)
	}
	return first
}
