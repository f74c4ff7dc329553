// Package probetrace writes the probes of one end into a growing trace directory, as the recorder writes kernel events.
//
// In go the stamps of the end's datagrams (probe.Event). Out comes a trace of the host (CTF) with two streams for each peer:
//
//	probes to 10.0.0.2          probe:send     questions of a client, answers of a server
//	probes from 10.0.0.2        probe:receive
//	probes to 10.0.0.2 (2)      of another port of that address at the same time, such as of a second host behind it
//	probes from 10.0.0.2 (2)
//	clocks                      readings of the clocks, by package record
//
// A peer is an address and a port: the stamps of two ports come from two sockets and are not in order. A port that was silent for a
// minute leaves its streams to a new port of its address, so that clients that begin anew do not add streams without end.
//
// Both ends of a datagram have the same tag (flow), so that alignment takes it for a message between the two hosts. Stamps are
// CLOCK_MONOTONIC's plus the trace's origin; the readings lead on to the counter that nobody steers.
package probetrace

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"meridian/internal/probe"
	"meridian/internal/record"
	"meridian/sensor/ring"
	"meridian/trace"
)

// Writer writes a trace directory. It is a source of the recorder ([record.Source]) as well, for a recording of other events too.
type Writer struct {
	recorder *record.Recorder
	ready    chan struct{}
	off      atomic.Int64 // by how much stamps may be off, ns

	write  sync.Mutex // one event at a time
	each   func(*record.Event) error
	event  record.Event
	failed bool

	shape   sync.Mutex // of what follows; it is never held while each runs
	streams []trace.Stream
	lost    []uint64
	latest  []uint64
	peers   map[netip.AddrPort]*peer
	pairs   map[netip.Addr][]*peer // of each address, in the order of their names
}

// peer is a socket at the other end.
type peer struct {
	stream int // of what is sent; the next one is of what is received
	name   trace.Value
	at     netip.AddrPort
}

const (
	maxPeers  = 1024               // bounds the streams. Those of further peers share the last two.
	idleAfter = int64(time.Minute) // without events, ns: the streams of a peer are for another one
)

const (
	ofSend = iota
	ofReceive
)

// fields are of both classes. The last two are the event's tag and which end of the message it is (trace.Role).
var fields = []trace.Field{
	{Name: "peer", Type: trace.Type{Kind: trace.Text}}, {Name: "session", Type: trace.Type{Kind: trace.Uint}},
	{Name: "number", Type: trace.Type{Kind: trace.Uint}}, {Name: "answer", Type: trace.Type{Kind: trace.Uint}},
	{Name: "stamp", Type: trace.Type{Kind: trace.Text}}, {Name: "length", Type: trace.Type{Kind: trace.Uint}},
	{Name: "flow", Type: trace.Type{Kind: trace.Uint}}, {Name: "role", Type: trace.Type{Kind: trace.Uint}},
}

var classes = []trace.Class{
	ofSend:    {Name: "probe:send", Category: "probe", Fields: fields, Context: 2},
	ofReceive: {Name: "probe:receive", Category: "probe", Fields: fields, Context: 2},
}

// NewSource returns a writer whose events a recorder of the caller's takes, as one of its sources.
func NewSource() *Writer {
	return &Writer{ready: make(chan struct{}), peers: make(map[netip.AddrPort]*peer), pairs: make(map[netip.Addr][]*peer)}
}

// With these intervals a recorder of probes alone costs a tenth of one that programs' rings keep awake.
const (
	restInterval  = 500 * time.Millisecond
	flushInterval = 500 * time.Millisecond
)

// New begins a trace directory, or continues one, by the options of a recorder. It records nothing but probes and the clocks.
func New(o record.Options) (*Writer, error) {
	w := NewSource()
	o.Sources = append(o.Sources, w)
	o.Only = func(ring.Info) bool { return false }
	if o.Rest == 0 {
		o.Rest = restInterval
	}
	if o.Flush == 0 {
		o.Flush = flushInterval
	}
	if o.Title == "" {
		o.Title = "clock probes"
	}
	var err error
	w.recorder, err = record.New(o)
	return w, err
}

// Run writes until the context is done. The end whose events these are must have stopped by then, or its last events are not written.
func (w *Writer) Run(ctx context.Context) error {
	_, err := w.recorder.Run(ctx)
	return err
}

// Ready is closed when events are written. Those before count as lost.
func (w *Writer) Ready() <-chan struct{} { return w.ready }

// Record takes an event: it is the Record of probe.Options.
func (w *Writer) Record(e probe.Event) {
	w.write.Lock()
	defer w.write.Unlock()
	w.off.Store(max(w.off.Load(), e.Off))
	stream, name, ok := w.place(&e)
	if !ok || w.each == nil || w.failed {
		return
	}
	x := &w.event
	x.Stamp, x.Stream, x.Class = uint64(e.Stamp.Monotonic), stream, ofReceive
	role := trace.Receives
	if e.Send {
		x.Class, role = ofSend, trace.Sends
	}
	answer := uint64(0)
	if e.Answer {
		answer = 1
	}
	x.Values = append(x.Values[:0], name, trace.OfUint(uint64(e.Session)), trace.OfUint(e.Number), trace.OfUint(answer),
		kinds[e.Stamp.Kind&3], trace.OfUint(probe.Size), trace.OfUint(e.Flow), trace.OfUint(uint64(role)))
	w.failed = w.each(x) != nil
}

var kinds = [4]trace.Value{trace.OfText("none"), trace.OfText("user"), trace.OfText("kernel"), trace.OfText("hardware")}

// place returns the stream of an event. It is not ok if a later event of the stream was written: the event counts as lost then.
func (w *Writer) place(e *probe.Event) (stream int, name trace.Value, ok bool) {
	w.shape.Lock()
	defer w.shape.Unlock()
	p := w.peers[e.Peer]
	if p == nil {
		p = w.meet(e)
	}
	stream = p.stream
	if !e.Send {
		stream++
	}
	at := uint64(e.Stamp.Monotonic)
	if e.Stamp.Monotonic <= 0 || at < w.latest[stream] || w.each == nil {
		w.lost[stream]++
		return stream, p.name, false
	}
	w.latest[stream] = at
	return stream, p.name, true
}

// meet returns the streams of a peer that has none yet: those of a silent one at its address, or new ones.
func (w *Writer) meet(e *probe.Event) *peer {
	at := e.Peer
	for _, p := range w.pairs[at.Addr()] {
		if used := max(w.latest[p.stream], w.latest[p.stream+1]); e.Stamp.Monotonic-int64(used) > idleAfter {
			delete(w.peers, p.at)
			p.at = at
			w.peers[at] = p
			return p
		}
	}
	if len(w.streams) >= 2*maxPeers {
		at = netip.AddrPort{}
		if p := w.peers[at]; p != nil {
			return p
		}
	}
	text, number := "others", ""
	if at.IsValid() {
		text = at.Addr().String()
		if n := len(w.pairs[at.Addr()]); n > 0 {
			number = fmt.Sprintf(" (%d)", n+1)
		}
	}
	p := &peer{stream: len(w.streams), name: trace.OfText(text), at: at}
	w.peers[at] = p
	w.pairs[at.Addr()] = append(w.pairs[at.Addr()], p)
	w.streams = append(w.streams,
		trace.Stream{Name: "probes to " + text + number, Kind: trace.OtherStream, ID: int64(p.stream), Parent: -1},
		trace.Stream{Name: "probes from " + text + number, Kind: trace.OtherStream, ID: int64(p.stream + 1), Parent: -1})
	w.lost = append(w.lost, 0, 0)
	w.latest = append(w.latest, 0, 0)
	return p
}

// Name is of [record.Source], as the methods below.
func (w *Writer) Name() string { return "probes" }

func (w *Writer) Streams() []trace.Stream {
	w.shape.Lock()
	defer w.shape.Unlock()
	return w.streams
}

func (w *Writer) Classes() []trace.Class { return classes }

func (w *Writer) Lost() []uint64 {
	w.shape.Lock()
	defer w.shape.Unlock()
	return append([]uint64(nil), w.lost...)
}

// Read passes on what Record is called with until the context is done.
func (w *Writer) Read(ctx context.Context, each func(*record.Event) error) error {
	failed := make(chan error, 1)
	w.set(func(e *record.Event) error {
		err := each(e)
		if err != nil {
			failed <- err
		}
		return err
	})
	defer w.set(nil)
	close(w.ready)
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

func (w *Writer) set(each func(*record.Event) error) {
	w.write.Lock()
	defer w.write.Unlock()
	w.shape.Lock() // place reads each
	defer w.shape.Unlock()
	w.each = each
}

// ClockError returns by how much stamps may be off the steered clock, ns.
func (w *Writer) ClockError() int64 { return w.off.Load() }
