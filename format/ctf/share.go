package ctf

import (
	"hash/maphash"
	"reflect"
	"slices"
)

// Sharing lets stream classes that are the same, but for their numbers, have one copy of their types. A trace of many programs has a class for each of
// them, and most are the same program, started again. Its zero value is ready.
type Sharing struct {
	seed  maphash.Seed
	first map[uint64]StreamClass // of each shape
}

// Share gives c the events and types of an equal class that was shared before, if there is one: they are the same afterwards, in the same memory, and
// must not be changed. It takes time in proportion to the class.
func (s *Sharing) Share(c *StreamClass) {
	if len(c.Events) == 0 {
		return
	}
	if s.first == nil {
		s.seed, s.first = maphash.MakeSeed(), make(map[uint64]StreamClass)
	}
	shape := s.shape(c)
	first, known := s.first[shape]
	if !known {
		c.Events = slices.Clip(c.Events) // what is appended to one class is not another's
		s.first[shape] = *c
		return
	}
	if !reflect.DeepEqual(first.PacketContext, c.PacketContext) || !reflect.DeepEqual(first.EventHeader, c.EventHeader) ||
		!reflect.DeepEqual(first.EventContext, c.EventContext) || !reflect.DeepEqual(first.Events, c.Events) {
		return
	}
	c.PacketContext, c.EventHeader, c.EventContext, c.Events = first.PacketContext, first.EventHeader, first.EventContext, first.Events
}

// shape is a hash of what equal classes have in common and most others have not. Of the classes of one shape the first alone is compared, so that
// metadata that is made to be slow is not.
func (s *Sharing) shape(c *StreamClass) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	for i := range c.Events {
		e := &c.Events[i]
		maphash.WriteComparable(&h, e.ID)
		_, _ = h.WriteString(e.Name) // never fails
		_ = h.WriteByte(0)
		if e.Payload != nil {
			maphash.WriteComparable(&h, len(e.Payload.Fields))
		}
	}
	return h.Sum64()
}

// sharedClass tells stream classes that share all that a streamPlan is made of.
type sharedClass struct {
	context, header, common *Type
	events                  *EventClass
}

func sharedClassOf(c *StreamClass) (s sharedClass, ok bool) {
	if len(c.Events) == 0 {
		return s, false
	}
	return sharedClass{c.PacketContext, c.EventHeader, c.EventContext, &c.Events[0]}, true
}
