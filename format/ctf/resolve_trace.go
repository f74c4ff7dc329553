package ctf

import (
	"strings"

	"meridian/trace"
)

// assembly makes the Metadata from the declarations of either language: streams with their events, every type resolved.
type assembly struct {
	resolver
	file    string
	w       *trace.Warnings
	header  *fieldClass
	streams []streamDecl
	events  []eventDecl
	sharing Sharing
	clock   int                // CTF 2: of the stream at hand
	begin   func(*StreamClass) // before the types of a stream are made, if there is something to do
	done    func(*StreamClass) // and after
}

func (a *assembly) assemble() (*Metadata, error) {
	var err error
	if a.m.PacketHeader, err = a.root(inPacketHeader, a.header); err != nil {
		return nil, err
	}
	events := a.eventsByStream()
	for i := range a.streams {
		c, err := a.stream(&a.streams[i])
		if err != nil {
			if i == len(a.streams)-1 && len(a.m.Streams) == 0 {
				return nil, err
			}
			a.skip("stream class", err)
			continue
		}
		a.addEvents(c, events[c.ID])
		a.sharing.Share(c)
		a.m.Streams = append(a.m.Streams, *c)
	}
	a.renumberSlots()
	a.m.Slots = a.slots
	return a.m, nil
}

func (a *assembly) skip(what string, err error) {
	a.w.Gap(a.file, "invalid "+what+" skipped", strings.TrimPrefix(err.Error(), a.file+":"), 1)
}

func (a *assembly) stream(s *streamDecl) (*StreamClass, error) {
	c := &StreamClass{ID: s.id, Name: s.name, Clock: -1}
	if a.begin != nil {
		a.begin(c)
	}
	a.clock = c.Clock
	a.forget(inPacketContext)
	var err error
	if c.PacketContext, err = a.root(inPacketContext, s.packetContext); err != nil {
		return nil, err
	}
	if c.EventHeader, err = a.root(inEventHeader, s.eventHeader); err != nil {
		return nil, err
	}
	if c.EventContext, err = a.root(inStreamEventContext, s.eventContext); err != nil {
		return nil, err
	}
	if a.done != nil {
		a.done(c)
	}
	return c, nil
}

// addEvents makes the event classes of a stream class and skips invalid ones.
func (a *assembly) addEvents(c *StreamClass, events []*eventDecl) {
	seen := make(map[uint64]bool, len(events))
	c.Events = make([]EventClass, 0, len(events))
	for _, d := range events {
		if seen[d.class.ID] {
			a.skip("event class", a.errorf(d.line, "duplicate event class id %d in stream class %d", d.class.ID, c.ID))
			continue
		}
		a.forget(inEventContext)
		e := d.class
		var err error
		if e.Context, err = a.root(inEventContext, d.context); err == nil {
			e.Payload, err = a.root(inEventPayload, d.payload)
		}
		if err != nil {
			a.skip("event class", err)
			continue
		}
		seen[e.ID], e.Name, e.URI = true, a.own(e.Name), a.own(e.URI)
		c.Events = append(c.Events, e)
	}
}

// eventsByStream sorts the events to their streams, those that name none to the only one.
func (a *assembly) eventsByStream() map[uint64][]*eventDecl {
	known := map[uint64]bool{}
	for i := range a.streams {
		known[a.streams[i].id] = true
	}
	of := map[uint64][]*eventDecl{}
	for i := range a.events {
		d := &a.events[i]
		switch {
		case !d.hasStream && len(a.streams) == 1:
			d.stream = a.streams[0].id
		case !known[d.stream]:
			a.skip("event class", a.errorf(d.line, "undeclared stream class %d", d.stream))
			continue
		}
		of[d.stream] = append(of[d.stream], d)
	}
	return of
}
