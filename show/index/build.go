package index

import (
	"errors"
	"fmt"
	"math"

	"meridian/clock"
	"meridian/trace"
)

// Options says how an index is built. The zero value is good.
type Options struct {
	// Path is where the file stays. "" makes one without a name, which is gone when the Index is closed.
	Path string
	// Granularity returns the step in ns of the stamps that came by a map of the legend; -1 asks for those that stayed as
	// they were recorded. Nil stands for 1 everywhere.
	Granularity func(m int) int64
	// MinDelay is the least delay of a message, ns: what is quicker is a violation.
	MinDelay int64
}

// Builder makes an index of the records it is given, in order of their time: it is a [trace.Sink]. After Close, Index
// returns what was made; a Builder that is given up is to be discarded.
type Builder struct {
	legend  *trace.Legend
	options Options
	store   *store
	trees   trees
	blocks  *blockBuilder
	written chan struct{} // closed when all blocks are written
	places  []block
	failure error // of their writer

	origin, last int64
	events       int64
	rows         []*row
	streams      []int32 // of the legend, their rows; -1 for none
	classes      []classState
	hosts        []hostState
	maps         []mapState // by number+1
	pairs        pairs
	lost         losses
	attached     []attachment

	err    error
	closed bool
	index  *Index
}

type row struct {
	stream   int
	host     int
	clock    int // the one that most of its events have, as far as one has (Boyer and Moore 1981)
	votes    int64
	events   int64
	instants *lane
	counters []counterLane
	nest     nest
}

type counterLane struct {
	class, field int
	lane         *lane
}

type classState struct {
	events  int64
	numbers []int // fields that are counters where it is one
	known   bool
}

type hostState struct {
	events int64
	row    int32 // its first
}

// mapState is between which instants a map brought stamps.
type mapState struct {
	used        bool
	first, last int64
}

// losses counts what could not be shown as it was.
type losses struct {
	late     int64 // came after a later event
	far      int64 // more than 146 years from the first
	ends     int64 // of messages, without their other
	folded   int64 // messages on the link of other rows
	noBegin  int64
	noEnd    int64
	reused   int64
	deep     int64
	cut      int64 // events whose values were too much
	noNumber int64 // values of counters
}

type attachment struct {
	name string
	place
}

// NewBuilder begins an index of records that refer to a legend.
func NewBuilder(l *trace.Legend, o Options) (*Builder, error) {
	s, err := newStore(o.Path)
	if err != nil {
		return nil, err
	}
	b := &Builder{legend: l, options: o, store: s, pairs: newPairs(), written: make(chan struct{})}
	b.trees.s = s
	b.blocks = newBlockBuilder()
	go func() {
		defer close(b.written)
		b.places, b.failure = b.blocks.run(s)
	}()
	return b, nil
}

// Write takes the next record. After an error, all further ones return it too.
func (b *Builder) Write(r *trace.Record) error {
	if b.err == nil && b.closed {
		b.err = errors.New("index: a record after the end")
	}
	if b.err == nil {
		b.err = b.write(r)
	}
	return b.err
}

func (b *Builder) write(r *trace.Record) error {
	n, err := b.rowOf(r)
	if n < 0 || err != nil {
		return err
	}
	at := b.instant(r.Time)
	event := b.events
	b.events++
	w := b.rows[n]
	w.events++
	b.classes[r.Class].events++
	b.hosts[r.Host].events++
	b.vote(w, r.Map, at)

	h := head{at: at, row: n, class: uint32(r.Class), clock: r.Map, recorded: r.Recorded, flags: uint8(r.Phase)}
	if r.Bounded {
		h.flags |= boundedBit
		h.below, h.above = max(clock.Sub(r.Time, r.Low), 0), max(clock.Sub(r.High, r.Time), 0)
	}
	message := r.Flow != 0 && (r.Role == trace.Sends || r.Role == trace.Receives)
	if message {
		h.flags |= flowBit
		if r.Role == trace.Sends {
			h.flags |= sendsBit
		}
	}
	values := r.Values
	if n := len(b.legend.Classes[r.Class].Fields); len(values) > n {
		values, b.blocks.encoder.cut = values[:n], true
	}
	b.blocks.add(event, &h, b.origin, values)
	if b.blocks.encoder.cut {
		b.blocks.encoder.cut = false
		b.lost.cut++
	}

	switch r.Phase {
	case trace.Begin:
		err = b.beginSlice(w, r.Slice, uint32(r.Class), at, event)
	case trace.End:
		err = b.endSlice(w, r.Slice, uint32(r.Class), at, event)
	case trace.Counter:
		err = b.count(w, r, at, event)
	default:
		err = b.mark(w, r.Class, at, event)
	}
	if err == nil && message {
		err = b.meet(r.Flow, end{event: event, time: clock.Sub(r.Time, b.origin), below: h.below, above: h.above, row: int32(n),
			host: int32(r.Host), clock: int32(r.Map), bounded: r.Bounded, sent: r.Role == trace.Sends})
	}
	return err
}

// rowOf checks what a record refers to and returns its row; -1 if it has none.
func (b *Builder) rowOf(r *trace.Record) (int, error) {
	l := b.legend
	if r.Stream < 0 || r.Stream >= len(l.Streams) || r.Class < 0 || r.Class >= len(l.Classes) ||
		r.Host < 0 || r.Host >= len(l.Hosts) || r.Map < -1 || r.Map >= len(l.Maps) || r.Phase > trace.Counter {
		return 0, fmt.Errorf("index: record %d is of row %d, class %d, host %d and map %d, of which the legend knows %d, %d, %d and %d",
			b.events, r.Stream, r.Class, r.Host, r.Map, len(l.Streams), len(l.Classes), len(l.Hosts), len(l.Maps))
	}
	if r.Stream >= len(b.streams) || r.Class >= len(b.classes) || r.Host >= len(b.hosts) || r.Map+1 >= len(b.maps) {
		b.grow()
	}
	n := b.streams[r.Stream]
	if n < 0 {
		return -1, nil
	}
	w := b.rows[n]
	if w.events == 0 {
		w.host = r.Host
	} else if w.host != r.Host {
		return 0, fmt.Errorf("index: record %d is of host %d on a row of host %d", b.events, r.Host, w.host)
	}
	if h := &b.hosts[r.Host]; h.row < 0 {
		h.row = n
	}
	return int(n), nil
}

// grow takes over what is new in the legend.
func (b *Builder) grow() {
	l := b.legend
	for i := len(b.streams); i < len(l.Streams); i++ {
		if l.Streams[i].Kind == trace.Bounds { // drawn from the corners of the clocks
			b.streams = append(b.streams, -1)
			continue
		}
		b.streams = append(b.streams, int32(len(b.rows)))
		b.rows = append(b.rows, &row{stream: i, host: -1, clock: -1})
	}
	for len(b.classes) < len(l.Classes) {
		b.classes = append(b.classes, classState{})
	}
	for len(b.hosts) < len(l.Hosts) {
		b.hosts = append(b.hosts, hostState{row: -1})
	}
	for len(b.maps) < len(l.Maps)+1 {
		b.maps = append(b.maps, mapState{})
	}
}

// instant returns when a record is on the lanes: not before those that came before it.
func (b *Builder) instant(time int64) int64 {
	if b.events == 0 {
		b.origin = time
	}
	at := clock.Sub(time, b.origin)
	if at < b.last {
		b.lost.late++
		return b.last
	}
	if at > far {
		b.lost.far++
		at = far
	}
	b.last = at
	return at
}

func (b *Builder) vote(w *row, m int, at int64) {
	switch {
	case w.votes == 0:
		w.clock, w.votes = m, 1
	case w.clock == m:
		w.votes++
	default:
		w.votes--
	}
	s := &b.maps[m+1]
	if !s.used {
		s.used, s.first = true, at
	}
	s.last = at
}

// mark puts an instant on its row.
func (b *Builder) mark(w *row, class int, at, event int64) error {
	if w.instants == nil {
		w.instants = b.trees.newLane(instants, w.host)
	}
	return b.trees.add(w.instants, item{at: at, to: at, event: event, other: -1, class: uint32(class)})
}

// count puts the numbers of a counter onto their lanes. An event without a number is an instant, lest it be nowhere.
func (b *Builder) count(w *row, r *trace.Record, at, event int64) error {
	c := &b.classes[r.Class]
	if !c.known {
		c.known, c.numbers = true, numbers(&b.legend.Classes[r.Class])
	}
	any := false
	for _, field := range c.numbers {
		if field >= len(r.Values) {
			break
		}
		v, ok := r.Values[field].Number()
		if !ok {
			continue
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b.lost.noNumber++
			continue
		}
		any = true
		it := item{at: at, to: int64(math.Float64bits(v)), event: event, other: -1}
		if err := b.trees.add(b.counterLane(w, r.Class, field), it); err != nil {
			return err
		}
	}
	if any {
		return nil
	}
	return b.mark(w, r.Class, at, event)
}

// numbers lists the fields of a class that are counters: numbers, other than those that the tracer added.
func numbers(c *trace.Class) (fields []int) {
	for i := range c.Fields[:max(0, len(c.Fields)-c.Context)] {
		switch c.Fields[i].Type.Kind {
		case trace.Bool, trace.Int, trace.Uint, trace.Float:
			fields = append(fields, i)
		}
	}
	return fields
}

func (b *Builder) counterLane(w *row, class, field int) *lane {
	for i := range w.counters {
		if c := &w.counters[i]; c.class == class && c.field == field {
			return c.lane
		}
	}
	l := b.trees.newLane(counter, w.host)
	w.counters = append(w.counters, counterLane{class, field, l})
	return l
}

func (b *Builder) granularity(m int) int64 {
	if b.options.Granularity == nil {
		return 1
	}
	return max(b.options.Granularity(m), 1)
}

// Attach keeps a blob in the file under a name; it is to be called before Close.
func (b *Builder) Attach(name string, data []byte) error {
	if b.err != nil {
		return b.err
	}
	if b.closed {
		return errors.New("index: an attachment after the end")
	}
	var p place
	if p, b.err = b.trees.extent(-1).put(data); b.err == nil {
		b.attached = append(b.attached, attachment{name, p})
	}
	return b.err
}

// Close completes the index.
func (b *Builder) Close() error {
	if b.closed {
		return b.err
	}
	b.closed = true
	b.blocks.send()
	close(b.blocks.full)
	<-b.written
	if b.err == nil {
		b.err = b.failure
	}
	if b.err == nil {
		b.err = b.complete()
	}
	if b.err != nil {
		b.store.discard()
	}
	return b.err
}

func (b *Builder) complete() error {
	b.grow()
	if err := b.closeSlices(); err != nil {
		return err
	}
	d, err := b.directory()
	if err != nil {
		return err
	}
	if err := d.write(b.store); err != nil {
		return err
	}
	x, err := open(b.store.f, b.store.end)
	if err != nil {
		return err
	}
	if err := b.store.place(); err != nil {
		return err
	}
	if b.options.Path == "" {
		x.unnamed = b.store.f.Name()
	}
	b.index = x
	return nil
}

// Index returns the index after Close. It is the caller's to close.
func (b *Builder) Index() (*Index, error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.index == nil {
		return nil, errors.New("index: it is not complete before Close")
	}
	return b.index, nil
}

// Discard gives up an index that was not closed, and removes what there is of it.
func (b *Builder) Discard() {
	if b.closed {
		return
	}
	b.err = errors.New("index: it was discarded")
	_ = b.Close()
}
