package index

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"maps"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// liveState is all of a [Live] that is not in segments when its tail is empty: what passes from seal to seal. It is written as
// encoding/gob has it.
//
// None of it is a map: gob makes room for as many entries as the text says that one has, whatever follows.
type liveState struct {
	Format       int // stateFormat
	Schema       trace.Schema
	Origin       clock.TimelineTime
	Last, Events int64
	Classes      []int64 // their events
	Hosts        []int64
	ByHost       []int64 // the last instant of each
	Maps         []savedMap
	Late, Far    int64
	Lateness     int64
	Cut, Values  int64
	Lost         [6]int64
	Rows         []savedRow
	First        []int32
	Lanes        []savedLane
	Links        [][2]int32
	Waiting      []savedEnd
	Delays       []savedDelays
	Worst        []savedViolation
	Verdicts     [5]int64
	Raw          *savedRaw // nil in states of a version that did not count
	Attachments  []savedAttachment
	Resume       []byte
}

// stateFormat is that of states that are written. One that is of another is refused.
const stateFormat = 1

type savedAttachment struct {
	Name string
	Data []byte
}

type savedMap struct {
	Used        bool
	First, Last int64
	Front       int64 // the last instant of its component
}

type savedRow struct {
	Host, Clock   int32
	Votes, Events int64
	Runs          []Run
	Mixed         bool
	Open          []savedSlice
	Stack         []int
	Over          int
}

type savedSlice struct {
	Depth     int
	Class     uint32
	Name      uint64
	At, Event int64
}

type savedLane struct {
	Kind            laneKind
	Host, Owner     int
	Depth           int
	Class, Field    int
	Items           int64
	Least, Greatest float64
	Worst           Verdict
}

type savedEnd struct {
	Flow               uint64
	Event, Time        int64
	Below, Above, Step int64
	Row, Host, Clock   int32
	Bounded, Sent      bool
	Recorded           int64
	Stamped            bool
}

type savedRaw struct {
	Count int64
	Worst []savedViolation
}

type savedDelays struct {
	From, To        int32
	Count           int64
	Least, Greatest int64
	Total           float64
	Bars            []savedBar
}

type savedBar struct {
	Bucket int32
	Count  int64
}

type savedViolation struct {
	Verdict            Verdict
	Known              bool
	Depth, Sent, Delay int64
	Low, High          int64
	From, To           int64
	Link               int
}

func encodeState(l *Live, resume []byte) ([]byte, error) {
	b := l.b
	s := b.sorter
	o := &s.lost
	x := liveState{Format: stateFormat, Schema: *b.schema, Origin: b.origin, Last: b.last, Events: b.events, Hosts: b.hosts, ByHost: b.byHost, Late: b.lost.late, Lateness: b.lost.lateness, Far: b.lost.far,
		Cut: b.lost.cut, Values: b.lost.noNumber, Lost: [6]int64{o.ends, o.folded, o.noBegin, o.noEnd, o.reused, o.deep}, First: s.first,
		Verdicts: s.pairs.counts, Resume: resume}
	for _, name := range slices.Sorted(maps.Keys(l.attached)) {
		x.Attachments = append(x.Attachments, savedAttachment{name, l.attached[name]})
	}
	for i := range b.classes {
		x.Classes = append(x.Classes, b.classes[i].events)
	}
	for _, m := range b.maps {
		x.Maps = append(x.Maps, savedMap{m.used, m.first, m.last, *m.front})
	}
	for _, w := range s.rows {
		r := savedRow{Host: w.host, Clock: w.clock, Votes: w.votes, Events: w.events, Runs: w.runs, Mixed: w.mixed, Stack: w.nest.stack, Over: w.nest.over}
		for depth, o := range w.nest.open {
			if o.used {
				r.Open = append(r.Open, savedSlice{depth, o.class, o.name, o.at, o.event})
			}
		}
		x.Rows = append(x.Rows, r)
	}
	for _, n := range s.trees.lanes {
		x.Lanes = append(x.Lanes, savedLane{n.kind, n.host, n.owner, n.depth, n.class, n.field, n.items, n.least, n.greatest, n.worst})
	}
	s.pairs.save(&x)
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(&x); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return out.Bytes(), nil
}

func (p *pairs) save(x *liveState) {
	for _, k := range p.order {
		x.Links = append(x.Links, [2]int32{k.from, k.to})
	}
	for _, q := range p.queue[p.from:] {
		if e, ok := p.waiting[q.flow]; ok && e.event == q.event {
			x.Waiting = append(x.Waiting, savedEnd{q.flow, e.event, e.time, e.below, e.above, e.step, e.row, e.host, e.clock, e.bounded, e.sent, e.recorded, e.stamped})
		}
	}
	for key, h := range p.delays {
		d := savedDelays{From: key[0], To: key[1], Count: h.count, Least: h.least, Greatest: h.greatest, Total: h.total}
		for number, n := range h.buckets.all() {
			d.Bars = append(d.Bars, savedBar{number, n})
		}
		x.Delays = append(x.Delays, d)
	}
	x.Worst = p.worst.save()
	if !p.raw.uncounted {
		x.Raw = &savedRaw{Count: p.raw.count, Worst: p.raw.worst.save()}
	}
}

func (w worst) save() (list []savedViolation) {
	for i := range w {
		v := &w[i]
		list = append(list, savedViolation{v.verdict, v.known, v.depth, v.sent, v.delay, v.low, v.high, v.from, v.to, v.link.lane.owner})
	}
	return list
}

// decodeState takes up a state that encodeState made, and returns what the seal was given.
func decodeState(l *Live, state []byte) (resume []byte, err error) {
	var x liveState
	if err := gob.NewDecoder(bytes.NewReader(state)).Decode(&x); err != nil {
		return nil, damaged("its state: %v", err)
	}
	if x.Format != stateFormat {
		return nil, damaged("its state is of format %d, want %d; name another directory, in which it is made anew", x.Format, stateFormat)
	}
	b := l.b
	*b.schema = x.Schema
	b.grow()
	if len(x.Classes) != len(b.classes) || len(x.Hosts) != len(b.hosts) || len(x.Maps) != len(b.maps) || len(x.Rows) > len(b.byRow) {
		return nil, damaged("its state is not that of its schema")
	}
	b.origin, b.last, b.events = x.Origin, x.Last, x.Events
	for i := range x.Classes {
		b.classes[i].events = x.Classes[i]
	}
	b.hosts = x.Hosts
	for i := range b.byHost {
		b.byHost[i] = x.Last
		if i < len(x.ByHost) {
			b.byHost[i] = x.ByHost[i]
		}
	}
	for i, m := range x.Maps {
		*b.maps[i].front = max(*b.maps[i].front, m.Front)
		b.maps[i].used, b.maps[i].first, b.maps[i].last = m.Used, m.First, m.Last
	}
	b.lost = losses{late: x.Late, lateness: x.Lateness, far: x.Far, cut: x.Cut, noNumber: x.Values}
	s := b.sorter
	s.lost = lostLanes{ends: x.Lost[0], folded: x.Lost[1], noBegin: x.Lost[2], noEnd: x.Lost[3], reused: x.Lost[4], deep: x.Lost[5]}
	s.first = x.First
	for i, r := range x.Rows {
		s.rows = append(s.rows, &row{number: int32(i), host: r.Host, clock: r.Clock, votes: r.Votes, events: r.Events, runs: r.Runs, mixed: r.Mixed,
			nest: nest{stack: r.Stack, over: r.Over}})
		s.runs += len(r.Runs)
	}
	if err := s.restoreLanes(&x); err != nil {
		return nil, err
	}
	if err := s.pairs.restore(&x); err != nil {
		return nil, err
	}
	for _, a := range x.Attachments {
		if l.attached == nil {
			l.attached = make(map[string][]byte)
		}
		l.attached[a.Name] = a.Data
	}
	return x.Resume, nil
}

func (s *sorter) restoreLanes(x *liveState) error {
	for _, k := range x.Links {
		s.pairs.order = append(s.pairs.order, &link{from: k[0], to: k[1]})
	}
	for _, y := range x.Lanes {
		if y.Kind == messages && y.Owner >= len(s.pairs.order) || y.Kind != messages && y.Owner >= len(s.rows) || y.Owner < 0 || y.Depth > deepest {
			return damaged("its state has lanes of no row")
		}
		n := s.trees.newLane(y.Kind, y.Host, y.Owner)
		n.depth, n.class, n.field, n.items, n.least, n.greatest, n.worst = y.Depth, y.Class, y.Field, y.Items, y.Least, y.Greatest, y.Worst
		if y.Kind == messages {
			s.pairs.order[y.Owner].lane = n
			continue
		}
		w := s.rows[y.Owner]
		switch y.Kind {
		case instants:
			w.instants = n
		case sliced:
			for len(w.nest.lanes) <= y.Depth {
				w.nest.lanes, w.nest.open = append(w.nest.lanes, nil), append(w.nest.open, openSlice{})
			}
			w.nest.lanes[y.Depth] = n
		case counter:
			w.counters = append(w.counters, counterLane{y.Class, y.Field, n})
		}
	}
	for i, r := range x.Rows {
		n := &s.rows[i].nest
		for _, o := range r.Open {
			if o.Depth < 0 || o.Depth >= len(n.open) {
				return damaged("its state has a slice on no lane")
			}
			n.open[o.Depth] = openSlice{used: true, class: o.Class, name: o.Name, at: o.At, event: o.Event}
			if o.Name != 0 {
				if n.named == nil {
					n.named = make(map[uint64]int)
				}
				n.named[o.Name] = o.Depth
			}
		}
	}
	return nil
}

func (p *pairs) restore(x *liveState) error {
	for _, k := range p.order {
		p.links[[2]int32{k.from, k.to}] = k
	}
	for _, e := range x.Waiting {
		p.waiting[e.Flow] = end{event: e.Event, time: e.Time, below: e.Below, above: e.Above, step: e.Step, row: e.Row, host: e.Host,
			clock: e.Clock, bounded: e.Bounded, sent: e.Sent, recorded: e.Recorded, stamped: e.Stamped}
		p.queue = append(p.queue, waiter{e.Flow, e.Event})
	}
	for _, d := range x.Delays {
		h := &histogram{count: d.Count, least: d.Least, greatest: d.Greatest, total: d.Total}
		for _, bar := range d.Bars {
			if bar.Bucket < leastBucket || bar.Bucket > greatestBucket {
				return damaged("its state has delays that none can be")
			}
			h.buckets.add(bar.Bucket, bar.Count)
		}
		p.delays[[2]int32{d.From, d.To}] = h
	}
	p.worst, p.counts = restoreWorst(x.Worst, p.order), x.Verdicts
	if p.raw.uncounted = x.Raw == nil; x.Raw != nil {
		p.raw.count, p.raw.worst = x.Raw.Count, restoreWorst(x.Raw.Worst, p.order)
	}
	return nil
}

func restoreWorst(list []savedViolation, links []*link) (w worst) {
	for _, v := range list {
		if v.Link < 0 || v.Link >= len(links) {
			continue
		}
		w = append(w, violation{verdict: v.Verdict, known: v.Known, depth: v.Depth, sent: v.Sent, delay: v.Delay, low: v.Low, high: v.High,
			from: v.From, to: v.To, link: links[v.Link]})
	}
	return w
}
