// Package busy makes a timeline as a busy service would leave it, of any size, without traces: what the viewer is measured
// with. The same options make the same timeline.
//
// Each host has four processors on which threads take turns, eight threads with calls within calls and marks, a network
// interface with the ends of messages, and a row of counters. Messages go to other hosts and take from 20 µs to some
// milliseconds. The clocks of all but the first host are known to some 30 µs. So a few messages seem to be received
// before they were sent, and fewer of them certainly were.
package load

import (
	"container/heap"
	"fmt"
	"math/rand/v2"

	"meridian/clock"
	"meridian/trace"
)

// Options says how much there is.
type Options struct {
	Events   int // all together, ends of messages among them
	Hosts    int
	Messages int
}

// Origin is the first instant.
const Origin = clock.TimelineTime(1_700_000_000_000_000_000)

// Classes.
const (
	running = iota
	call
	read
	write
	mark
	send
	receive
	load
)

const (
	processors = 4
	threads    = 8
	rows       = processors + threads + 2 // of a host
	device     = processors + threads
	counters   = device + 1
	step       = 250 // ns between two events of all hosts, on average
)

// Schema returns what the records refer to.
func Schema(o Options) *trace.Schema {
	text, number := trace.Type{Kind: trace.Text}, trace.Type{Kind: trace.Uint, Bits: 32}
	l := &trace.Schema{Title: "a busy service", Method: "made up", Assumption: "none", Classes: []trace.Class{
		running: {Name: "running", Category: "sched", Fields: []trace.Field{{Name: "comm", Type: text}, {Name: "prio", Type: trace.Type{Kind: trace.Int, Bits: 32}}}},
		call:    {Name: "request", Category: "app", Fields: []trace.Field{{Name: "path", Type: text}, {Name: "id", Type: number}}},
		read:    {Name: "read", Category: "syscalls", Fields: []trace.Field{{Name: "fd", Type: number}, {Name: "count", Type: number}}},
		write:   {Name: "write", Category: "syscalls", Fields: []trace.Field{{Name: "fd", Type: number}, {Name: "count", Type: number}}},
		mark:    {Name: "cache miss", Category: "app", Fields: []trace.Field{{Name: "key", Type: number}}},
		send:    {Name: "send", Category: "net", Fields: []trace.Field{{Name: "to", Type: text}, {Name: "len", Type: number}}},
		receive: {Name: "receive", Category: "net", Fields: []trace.Field{{Name: "from", Type: text}, {Name: "len", Type: number}}},
		load:    {Name: "load", Category: "counters", Fields: []trace.Field{{Name: "queue", Type: number}, {Name: "latency_ms", Type: trace.Type{Kind: trace.Float}}}},
	}}
	span := int64(o.Events) * step
	for h := range o.Hosts {
		name := fmt.Sprintf("host%d", h)
		l.Hosts = append(l.Hosts, name)
		l.Maps = append(l.Maps, trace.HostMap{Host: h, Map: clockOf(h, span)})
		row := func(name string, kind trace.StreamKind, id int) {
			l.Streams = append(l.Streams, trace.Stream{Name: name, Host: l.Hosts[h], Kind: kind, ID: int64(id), Parent: -1})
		}
		for i := range processors {
			row(fmt.Sprintf("CPU %d", i), trace.CPU, i)
		}
		for i := range threads {
			row(fmt.Sprintf("worker %d", 1000+i), trace.Thread, 1000+i)
		}
		row("eth0", trace.Device, 2)
		row("load", trace.OtherStream, 0)
	}
	return l
}

// clockOf makes the map of a host's clock: it wanders, and the bounds with it; the first host is the reference.
func clockOf(h int, span int64) *clock.Map {
	if h == 0 {
		m := clock.Identity()
		return &m
	}
	r := rand.New(rand.NewPCG(7, uint64(h)))
	var m clock.Map
	const corners = 200
	offset := r.Int64N(2_000_000_000) - 1_000_000_000
	for i := range int64(corners + 1) {
		at := Origin + clock.TimelineTime(span*i/corners+i) // no two corners at one instant
		host := clock.HostTime(int64(at) + offset)
		at += clock.TimelineTime(r.Int64N(4000)) - 2000
		if n := len(m.Mid); n > 0 {
			at = max(at, m.Mid[n-1].Y)
		}
		width := 20_000 + r.Int64N(20_000)
		m.Mid = append(m.Mid, clock.Knot{X: host, Y: at})
		low, high := at-clock.TimelineTime(width), at+clock.TimelineTime(width)
		if n := len(m.Low); n > 0 {
			low, high = max(low, m.Low[n-1].Y), max(high, m.High[n-1].Y)
		}
		m.Low = append(m.Low, clock.Knot{X: host, Y: low})
		m.High = append(m.High, clock.Knot{X: host, Y: high})
	}
	return &m
}

// Write gives the records to a sink, in order of time. It does not close it.
func Write(o Options, l *trace.Schema, sink trace.Sink) error {
	w := newWriter(o, l)
	for w.written < o.Events {
		if err := w.next(sink); err != nil {
			return err
		}
	}
	return nil
}

type writer struct {
	o         Options
	schema    *trace.Schema
	random    *rand.Rand
	now       clock.TimelineTime
	written   int
	sent      int
	arrivals  arrivals
	back      []clock.InverseCursor // from the timeline to the clock of each host
	low, high []clock.Cursor
	depth     [][threads]int // open calls
	busy      [][processors]bool
	record    trace.TimelineEvent
	names     []trace.Value
	paths     []trace.Value
	queue     []uint64
}

func newWriter(o Options, l *trace.Schema) *writer {
	w := &writer{o: o, schema: l, random: rand.New(rand.NewPCG(1, 2)), now: Origin, depth: make([][threads]int, o.Hosts),
		busy: make([][processors]bool, o.Hosts), queue: make([]uint64, o.Hosts)}
	for h := range o.Hosts {
		m := l.Maps[h].Map
		w.back = append(w.back, clock.NewCursor(m.Mid.Inverse()))
		w.low, w.high = append(w.low, clock.NewCursor(m.Low)), append(w.high, clock.NewCursor(m.High))
		w.names = append(w.names, trace.OfText(l.Hosts[h]))
	}
	for i := range 50 {
		w.paths = append(w.paths, trace.OfText(fmt.Sprintf("/api/v1/item/%d", i)))
	}
	return w
}

// next writes the next event: a message that arrives, or what some row does.
func (w *writer) next(sink trace.Sink) error {
	r := w.random
	w.now += clock.TimelineTime(1 + r.Int64N(2*step-1))
	if len(w.arrivals) > 0 && w.arrivals[0].at <= w.now {
		a := heap.Pop(&w.arrivals).(arrival)
		class, role := receive, trace.Receives
		if a.sends {
			class, role = send, trace.Sends
		}
		w.event(a.to, device, class, trace.Instant, w.names[a.from], trace.OfUint(64+a.flow%1400))
		w.record.Flow, w.record.Role = a.flow, role
		return w.emit(sink)
	}
	h := r.IntN(w.o.Hosts)
	left := w.o.Events - w.written
	if w.o.Hosts > 1 && w.sent < w.o.Messages && r.IntN(left) < w.o.Messages-w.sent {
		to := (h + 1 + r.IntN(w.o.Hosts-1)) % w.o.Hosts
		w.sent++
		delay := 20_000 + int64(r.ExpFloat64()*200_000)
		if r.IntN(200) == 0 {
			delay = r.Int64N(160_000) - 150_000 // the stamps are wrong
		}
		at := w.now
		if delay < 0 { // the receipt comes first on the timeline
			w.event(to, device, receive, trace.Instant, w.names[h], trace.OfUint(64+uint64(w.sent)%1400))
			w.record.Flow, w.record.Role = uint64(w.sent), trace.Receives
			heap.Push(&w.arrivals, arrival{at: at - clock.TimelineTime(delay), from: to, to: h, flow: uint64(w.sent), sends: true})
			return w.emit(sink)
		}
		w.event(h, device, send, trace.Instant, w.names[to], trace.OfUint(64+uint64(w.sent)%1400))
		w.record.Flow, w.record.Role = uint64(w.sent), trace.Sends
		heap.Push(&w.arrivals, arrival{at: at + clock.TimelineTime(delay), from: h, to: to, flow: uint64(w.sent)})
		return w.emit(sink)
	}
	w.work(h)
	return w.emit(sink)
}

// work is what a host does by itself.
func (w *writer) work(h int) {
	r := w.random
	switch n := r.IntN(100); {
	case n < 40:
		cpu := r.IntN(processors)
		phase := trace.Begin
		if w.busy[h][cpu] {
			phase = trace.End
		}
		w.busy[h][cpu] = !w.busy[h][cpu]
		w.event(h, cpu, running, phase, w.paths[cpu], trace.OfInt(120))
	case n < 85:
		t := r.IntN(threads)
		if d := &w.depth[h][t]; *d > 0 && (*d > 3 || r.IntN(2) == 0) {
			*d--
			w.event(h, processors+t, call+min(*d, 2), trace.End)
		} else {
			w.event(h, processors+t, call+min(*d, 2), trace.Begin, w.paths[r.IntN(len(w.paths))], trace.OfUint(uint64(r.Uint32())))
			*d++
		}
	case n < 97:
		w.event(h, processors+r.IntN(threads), mark, trace.Instant, trace.OfUint(uint64(r.Uint32())))
	default:
		w.queue[h] = (w.queue[h] + uint64(r.IntN(5))) % 100
		w.event(h, counters, load, trace.Counter, trace.OfUint(w.queue[h]), trace.OfFloat(1+r.ExpFloat64()))
	}
}

// event fills the record.
func (w *writer) event(h, row, class int, phase trace.Phase, values ...trace.Value) {
	recorded := w.back[h].At(w.now)
	w.record = trace.TimelineEvent{Event: trace.Event{Time: recorded, Stream: h*rows + row, Class: class, Phase: phase}, Host: h, Map: h,
		Time: w.now, Low: min(w.low[h].Rounded(recorded, clock.Down), w.now), High: max(w.high[h].Rounded(recorded, clock.Up), w.now),
		Bounded: true, Values: values}
}

func (w *writer) emit(sink trace.Sink) error {
	w.written++
	return sink.Write(&w.record)
}

// arrival is the later end of a message.
type arrival struct {
	at       clock.TimelineTime
	from, to int
	flow     uint64
	sends    bool
}

type arrivals []arrival

func (a arrivals) Len() int           { return len(a) }
func (a arrivals) Less(i, j int) bool { return a[i].at < a[j].at }
func (a arrivals) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)        { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	n := len(*a) - 1
	x := (*a)[n]
	*a = (*a)[:n]
	return x
}
