package index

import (
	"cmp"
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
	// Granularity returns the step in ns of the stamps that came by a map of the schema; -1 asks for those that stayed as
	// they were recorded. Nil stands for 1 everywhere.
	Granularity func(m int) int64
	// MinDelay is the least delay of a message, ns: a faster one is a violation.
	MinDelay int64
	// Of a [Live]: how much its directory keeps, ns and bytes. What is older, in whole segments, is dropped by Live.Drop. 0 keeps all.
	KeepTime, KeepBytes int64

	room  func() error // of a [Live], in tests: nil, or why a segment cannot be written
	risky bool         // of a [Live]: what is sealed need not outlast a power cut
}

// Builder makes an index of the records it is given, in order of their time: it is a [trace.Sink]. After Close, Index
// returns what was made; a Builder that is given up is to be discarded.
type Builder struct {
	schema    *trace.Schema
	options   Options
	store     *store
	blocks    *blockBuilder // what is to be written of each event, in a goroutine
	written   chan struct{} // closed when all is
	blockList []block
	failure   error   // of their writer
	sorter    *sorter // puts events onto lanes, in another
	batch     *batch  // that it is given next
	direct    bool    // there are no goroutines: Write itself puts events onto lanes, in memory

	origin   clock.TimelineTime
	begun    bool           // the origin is known before the first event
	last     int64          // ns after origin
	fronts   map[int]*int64 // by component, its last instant: instants of two cannot be compared, and none is late for another
	byHost   []int64        // the last instant on rows of each host, whatever the component
	events   int64
	streams  []int32 // of the schema, their rows; -1 for none
	devices  map[trace.Stream]int32
	byRow    []int // streams of rows
	classes  []classState
	hosts    []int64    // their events
	maps     []mapState // by number+1
	lost     losses
	blobs    extent
	attached []attachment

	err    error
	closed bool
	index  *Index
}

type classState struct {
	events  int64
	numbers []int // fields that are counters where it is one
	known   bool
}

// mapState is between which instants a map brought stamps.
type mapState struct {
	used        bool
	first, last int64
	granularity int64
	front       *int64 // of its component
}

// losses counts what of records could not be shown as it was.
type losses struct {
	late     int64 // came after a later event
	lateness int64 // by how many ns at most
	far      int64 // more than 146 years from the first
	cut      int64 // events whose values were too much
	noNumber int64 // values of counters
}

type attachment struct {
	name string
	pageRef
}

// NewBuilder begins an index of records that refer to a schema.
func NewBuilder(l *trace.Schema, o Options) (*Builder, error) {
	s, err := newStore(o.Path)
	if err != nil {
		return nil, err
	}
	b := &Builder{schema: l, options: o, store: s, blocks: newBlockBuilder(), written: make(chan struct{}), sorter: newSorter(s, o.MinDelay),
		blobs: extent{s: s, most: 1 << 20}, devices: make(map[trace.Stream]int32)}
	b.batch = b.sorter.empty()
	go b.sorter.run()
	go func() {
		defer close(b.written)
		b.blockList, b.failure = b.blocks.run(s)
	}()
	return b, nil
}

// Write takes the next record. After an error, all further ones return it too.
func (b *Builder) Write(r *trace.TimelineEvent) error {
	if b.err == nil && b.closed {
		b.err = errors.New("index: Write after Close")
	}
	if b.err == nil {
		b.err = b.write(r)
	}
	return b.err
}

func (b *Builder) write(r *trace.TimelineEvent) error {
	n, err := b.rowOf(r)
	if n < 0 || err != nil {
		return err
	}
	at := b.instant(r)
	m := moment{event: b.events, at: at, time: clock.Sub(r.Time, b.origin), recorded: int64(r.Event.Time), slice: r.Slice, row: int32(n), host: int32(r.Host),
		clock: int32(r.Map), class: uint32(r.Class), phase: r.Phase}
	h := head{at: at, row: n, class: m.class, clock: r.Map, recorded: r.Event.Time, flags: uint8(r.Phase)}
	if late := at - m.time; late > 0 {
		h.late = min(late, far)
		h.flags |= lateBit
	}
	b.events++
	b.classes[r.Class].events++
	b.hosts[r.Host]++
	s := &b.maps[r.Map+1]
	if !s.used {
		s.used, s.first = true, at
	}
	s.first, s.last, m.step = min(s.first, at), max(s.last, at), s.granularity
	if r.Bounded {
		h.flags |= boundedBit
		m.bounded, m.below, m.above = true, max(clock.Sub(r.Time, r.Low), 0), max(clock.Sub(r.High, r.Time), 0)
		// An event that came late is shown later than it was, but it did not happen later.
		shown := clock.Add(b.origin, at)
		h.below, h.above = max(clock.Sub(shown, r.Low), 0), max(clock.Sub(r.High, shown), 0)
	}
	if r.Flow != 0 && (r.Role == trace.Sends || r.Role == trace.Receives) {
		h.flags |= flowBit
		m.flow = r.Flow
		if r.Role == trace.Sends {
			h.flags |= sendsBit
			m.sends = true
		}
	}
	values := r.Values
	if n := len(b.schema.Classes[r.Class].Fields); len(values) > n {
		values, b.blocks.encoder.cut = values[:n], true
	}
	b.blocks.add(m.event, &h, b.origin, values)
	if b.blocks.encoder.cut {
		b.blocks.encoder.cut = false
		b.lost.cut++
	}
	m.first = len(b.batch.numbers)
	if r.Phase == trace.Counter {
		b.numbers(r)
	}
	m.end = len(b.batch.numbers)
	b.batch.moments = append(b.batch.moments, m)
	if b.direct {
		return b.sorter.direct(b.batch)
	}
	if len(b.batch.moments) < batchSize {
		return nil
	}
	b.batch, err = b.sorter.take(b.batch)
	return err
}

// rowOf checks what a record refers to and returns its row; -1 if it has none.
func (b *Builder) rowOf(r *trace.TimelineEvent) (int, error) {
	l := b.schema
	if r.Stream < 0 || r.Stream >= len(l.Streams) || r.Class < 0 || r.Class >= len(l.Classes) ||
		r.Host < 0 || r.Host >= len(l.Hosts) || r.Map < -1 || r.Map >= len(l.Maps) || r.Phase > trace.Counter {
		return 0, fmt.Errorf("index: event %d has row %d, class %d, host %d and map %d; the schema has %d, %d, %d and %d of them",
			b.events, r.Stream, r.Class, r.Host, r.Map, len(l.Streams), len(l.Classes), len(l.Hosts), len(l.Maps))
	}
	if r.Stream >= len(b.streams) || r.Class >= len(b.classes) || r.Host >= len(b.hosts) || r.Map+1 >= len(b.maps) {
		b.grow()
	}
	n := b.streams[r.Stream]
	if n < 0 {
		return -1, nil
	}
	return int(n), nil
}

// grow adds the new streams, classes, hosts and maps of the schema.
func (b *Builder) grow() {
	l := b.schema
	for i := len(b.streams); i < len(l.Streams); i++ {
		if l.Streams[i].Kind == trace.Bounds { // drawn from the corners of the clocks
			b.streams = append(b.streams, -1)
			continue
		}
		row := int32(len(b.byRow))
		// The packets of a capture whose clock was set back come as several streams, each by a clock of its own.
		if s := &l.Streams[i]; s.Kind == trace.Device && s.Parent < 0 && s.Name != "" {
			if before, known := b.devices[*s]; known {
				b.streams = append(b.streams, before)
				continue
			}
			b.devices[*s] = row
		}
		b.streams = append(b.streams, row)
		b.byRow = append(b.byRow, i)
	}
	for len(b.classes) < len(l.Classes) {
		b.classes = append(b.classes, classState{})
	}
	for len(b.hosts) < len(l.Hosts) {
		b.hosts = append(b.hosts, 0)
		b.byHost = append(b.byHost, 0)
	}
	for i := len(b.maps) - 1; i < len(l.Maps); i++ {
		b.maps = append(b.maps, mapState{granularity: b.granularity(i), front: b.front(i)})
	}
}

// instant returns when a record is on the lanes: not before those of its component and its host that came before it. Ends of messages on rows of their own are found
// only after they happened, so these are where they were, and are not late.
func (b *Builder) instant(r *trace.TimelineEvent) int64 {
	if b.events == 0 && !b.begun {
		b.origin = r.Time
	}
	at := clock.Sub(r.Time, b.origin)
	front := b.maps[r.Map+1].front
	from := max(*front, b.byHost[r.Host])
	found := at >= 0 && r.Phase == trace.Instant && b.schema.Streams[r.Stream].Kind == trace.Messages
	if at < from && !found {
		b.lost.late++
		b.lost.lateness = max(b.lost.lateness, clock.Sub(from, at))
		at = from
	}
	if at > far {
		b.lost.far++
		at = far
	}
	*front, b.byHost[r.Host] = max(*front, at), max(b.byHost[r.Host], at)
	if at < b.last && b.direct {
		b.sorter.trees.changed(at)
	}
	b.last = max(b.last, at)
	return at
}

// front returns where the last instant of a map's component is kept.
func (b *Builder) front(m int) *int64 {
	component := -1
	if m >= 0 {
		component = 2 * b.schema.Maps[m].Component // even: none is that of stamps that stayed as they are
	}
	if b.fronts == nil {
		b.fronts = make(map[int]*int64)
	}
	if b.fronts[component] == nil {
		b.fronts[component] = new(int64)
	}
	return b.fronts[component]
}

// numbers hands over the numbers of a counter.
func (b *Builder) numbers(r *trace.TimelineEvent) {
	c := &b.classes[r.Class]
	if !c.known {
		c.known, c.numbers = true, numbers(&b.schema.Classes[r.Class])
	}
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
		b.batch.numbers = append(b.batch.numbers, counted{field, v})
	}
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

func (b *Builder) granularity(m int) int64 {
	if b.options.Granularity == nil {
		return 1
	}
	return max(b.options.Granularity(m), 1)
}

// Attach stores a blob in the file under a name. It must be called before Close.
func (b *Builder) Attach(name string, data []byte) error {
	if b.err != nil {
		return b.err
	}
	if b.closed {
		return errors.New("index: Attach after Close")
	}
	var p pageRef
	if p, b.err = b.blobs.put(data); b.err == nil {
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
	failure := b.sorter.finish(b.batch)
	<-b.written
	if b.err == nil {
		b.err = cmp.Or(b.failure, failure)
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
	if err := b.sorter.closeSlices(b.last); err != nil {
		return err
	}
	if err := b.blobs.flush(); err != nil {
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
	if err := b.store.publish(); err != nil {
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
		return nil, errors.New("index: Index before Close")
	}
	return b.index, nil
}

// Discard gives up an index that was not closed, and removes what there is of it.
func (b *Builder) Discard() {
	if b.closed {
		return
	}
	b.err = errors.New("index: discarded")
	_ = b.Close()
}
