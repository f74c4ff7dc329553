package view

import (
	"math"
	"net/netip"
	"slices"

	"meridian/internal/cause"
	"meridian/internal/cause/thread"
	"meridian/internal/cause/wire"
	"meridian/internal/show/index"
	"meridian/trace"
)

// threadReader reads what kernels say of threads from the rows on which their events are.
type threadReader struct {
	a       *index.About
	world   *thread.World
	classes []threadClass
	last    map[[2]int]switched // of each host and processor: a switch is on the rows of both threads and of the processor
	latest  []int64             // of each host, the instant of its latest event
}

// advance puts an event that came late within its host at the instant of the host's latest one: a world takes the
// events of a host in the order of its clock. One that is late for other hosts only keeps its instant.
func (r *threadReader) advance(e *index.Scanned, host int) {
	e.At = max(e.At, r.latest[host])
	r.latest[host] = e.At
}

type switched struct{ at, from, to int64 }

type threadKind uint8

const (
	noThread threadKind = iota
	switches
	wakes
	enters
	leaves
	softirqs
	writes
	reads
	asksDisk
	diskDone
	goRuns
	goCalls
	goReady
	goWaits
)

// threadClass is what a class says, and in which fields.
type threadClass struct {
	kind threadKind
	name string
	cpu  int
	at   [6]int
}

var threadFields = map[threadKind][6]string{
	switches: {"prev_tid", "next_tid", "prev_state", "prev_followed", "next_followed"},
	wakes:    {"tid", "waker_tid", "waker_context"},
	enters:   {"arg0"},
	leaves:   {"ret"},
	softirqs: {"vec"},
	writes:   {"local", "peer", "seq", "length", "tid"},
	reads:    {"local", "peer", "seq", "length", "tid", "peeked"},
	asksDisk: {"name", "sector", "bytes", "operation", "issuer"},
	diskDone: {"name", "sector"},
	goRuns:   {"thread"},
	goReady:  {"by_goroutine"},
}

func newThreadReader(t causeSource, a *index.About, m *cause.Model) *threadReader {
	r := &threadReader{a: a, world: thread.NewWorld(len(a.Hosts), m), classes: make([]threadClass, len(a.Classes)), last: make(map[[2]int]switched), latest: make([]int64, len(a.Hosts))}
	for h := range r.latest {
		r.latest[h] = math.MinInt64
	}
	for i := range a.Classes {
		fields := t.Fields(i)
		at := func(name string) int {
			if name == "" {
				return -1
			}
			return slices.IndexFunc(fields, func(f trace.Field) bool { return f.Name == name })
		}
		c := &r.classes[i]
		c.name, c.cpu = a.Classes[i].Name, at("cpu_id")
		switch category := a.Classes[i].Category; {
		case at("prev_tid") >= 0 && at("next_tid") >= 0 && at("prev_state") >= 0:
			c.kind = switches
		case c.name == "sched_waking" && at("tid") >= 0:
			c.kind = wakes
		case c.name == "tcp_sendmsg" && at("seq") >= 0:
			c.kind = writes
		case c.name == "tcp_recvmsg" && at("seq") >= 0:
			c.kind = reads
		case c.name == "block_rq_issue" && at("issuer") >= 0:
			c.kind = asksDisk
		case c.name == "block_rq_complete" && at("sector") >= 0:
			c.kind = diskDone
		case category == "syscall" && at("arg0") >= 0:
			c.kind = enters
		case category == "syscall" && at("ret") >= 0:
			c.kind = leaves
		case category == "interrupt" && at("vec") >= 0:
			c.kind = softirqs
		case category == "state" && c.name == "running" && at("proc") >= 0 && at("thread") >= 0:
			c.kind = goRuns
		case category == "state" && c.name == "runnable" && at("by_goroutine") >= 0:
			c.kind = goReady
		case category == "state" && c.name == "syscall" && at("place") >= 0:
			c.kind = goCalls
		case category == "waiting" && at("place") >= 0:
			c.kind = goWaits
		default:
			continue
		}
		for k, name := range threadFields[c.kind] {
			c.at[k] = at(name)
		}
	}
	return r
}

func (r *threadReader) wants(class int) bool { return r.classes[class].kind != noThread }

// cpuOf returns the processor of an event; -1 where it is not known.
func (c *threadClass) cpuOf(values []trace.Value) int32 {
	if c.cpu < 0 || c.cpu >= len(values) {
		return -1
	}
	return int32(values[c.cpu].Bits)
}

// read takes an event of threads.
func (r *threadReader) read(e *index.Scanned, host int, set *wire.Set) error {
	c, row := &r.classes[e.Class], &r.a.Rows[e.Row]
	values, err := e.Values()
	if err != nil || len(values) == 0 { // an end that another event implies
		return err
	}
	value := func(k int, otherwise int64) int64 {
		if at := c.at[k]; at >= 0 && at < len(values) && values[at].Kind != trace.None {
			return int64(values[at].Bits)
		}
		return otherwise
	}
	if c.kind >= goRuns {
		if e.Phase == trace.Begin {
			is := map[threadKind]thread.GoState{goRuns: thread.GoRuns, goCalls: thread.GoCalls, goReady: thread.GoReady, goWaits: thread.GoWaits}[c.kind]
			var tid int32
			if c.kind == goRuns {
				tid = int32(value(0, 0))
			}
			by := int64(0)
			if c.kind == goReady {
				by = value(0, 0)
			}
			r.world.Host(host, e.Row).Goroutine(e.At, row.Parent, row.ID, e.Row, is, c.name, tid, by)
		}
		return nil
	}
	h, cpu := r.world.Host(host, e.Row), c.cpuOf(values)
	if row.Kind == trace.Thread.String() {
		h.Row(int32(row.ID), e.Row)
	}
	switch c.kind {
	case switches:
		is := switched{e.At, value(0, 0), value(1, 0)}
		if key := [2]int{host, int(cpu)}; r.last[key] != is {
			r.last[key] = is
			h.Switch(e.At, cpu, int32(is.from), int32(is.to), value(2, 0), value(3, 1) != 0, value(4, 1) != 0)
		}
	case wakes:
		h.Wake(e.At, cpu, int32(value(0, 0)), int32(value(1, -1)), uint8(value(2, 0)))
	case enters:
		if e.Phase == trace.Begin {
			h.Enter(e.At, int32(row.ID), c.name, uint64(value(0, 0)))
		}
	case leaves:
		if e.Phase == trace.End {
			h.Leave(e.At, int32(row.ID), value(0, 0))
		}
	case writes, reads:
		r.transfer(host, h, e.At, c, values, set)
	case asksDisk:
		h.Issue(e.At, int32(value(4, 0)), c.text(values, 0), uint64(value(1, 0)), uint64(value(2, 0)), uint64(value(3, 0)))
	case diskDone:
		h.Complete(e.At, cpu, c.text(values, 0), uint64(value(1, 0)))
	case softirqs:
		const netTX, netRX = 2, 3
		if v := value(0, 0); v == netTX || v == netRX {
			h.SoftIRQ(e.At, cpu, e.Phase == trace.Begin)
		}
	}
	return nil
}

// text returns a field that is a text; "" where it is none.
func (c *threadClass) text(values []trace.Value, k int) string {
	if at := c.at[k]; at >= 0 && at < len(values) && values[at].Kind == trace.Text {
		return string(values[at].Data)
	}
	return ""
}

// transfer takes bytes that a thread wrote or read. Those of connections without packets are of no request.
func (r *threadReader) transfer(host int, h *thread.Host, at int64, c *threadClass, values []trace.Value, set *wire.Set) {
	number := func(k int) int64 {
		if at := c.at[k]; at >= 0 && at < len(values) && values[at].Kind != trace.None {
			return int64(values[at].Bits)
		}
		return 0
	}
	local, err1 := netip.ParseAddrPort(c.text(values, 0))
	peer, err2 := netip.ParseAddrPort(c.text(values, 1))
	if err1 != nil || err2 != nil || c.kind == reads && number(5) != 0 {
		return
	}
	tid, seq, length := int32(number(4)), uint32(number(2)), uint32(number(3))
	if c.kind == writes {
		if connection, direction, known := set.Way(host, local, peer); known {
			h.Wrote(at, tid, connection, direction, seq, length)
		}
		return
	}
	if connection, direction, known := set.Way(host, peer, local); known {
		h.Read(at, tid, connection, direction, seq, length)
	}
}

// packet takes a packet of the kernel's.
func (r *threadReader) packet(e *index.Scanned, p *wire.Packet) error {
	values, err := e.Values()
	if err != nil {
		return err
	}
	r.world.Packet(r.world.Host(p.Host, p.Row), p, r.packetCPU(e.Class, values))
	return nil
}

func (r *threadReader) packetCPU(class int, values []trace.Value) int32 {
	return r.classes[class].cpuOf(values)
}
