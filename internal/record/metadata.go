package record

import (
	"fmt"
	"io"
	"slices"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/sensor/ring"
	"meridian/sensor/tsdl"
	"meridian/trace"
)

const clockName = "monotonic"

// domain is what the environment says of the events: they are the kernel's and programs' in one trace. Trace Compass opens a
// trace of the domain "kernel" as one of LTTng's modules, "ust" as one of LTTng-UST, by whose events, fields and streams
// it goes, and any other as CTF of whatever kind, which this one is; babeltrace2 prints it (--fields=trace:domain).
const domain = "host"

// preamble returns the declarations that those of a ring follow, so that they can be parsed. The rest of the trace's metadata
// is made from it too.
func preamble(uuid [16]byte) *tsdl.Metadata {
	m := new(tsdl.Metadata)
	m.Comment("CTF 1.8")
	m.Integers()
	m.Trace(tsdl.Trace{UUID: tsdl.UUID(uuid), PacketHeader: tsdl.Struct(1, tsdl.PacketHeader()...)})
	m.Clock(tsdl.Clock{Name: clockName, Frequency: 1e9})
	m.Stamp(clockName)
	return m
}

// streamClass returns the declaration of a class of streams whose packets have, beside the common fields, those given and a row.
func streamClass(id tsdl.Type, fields ...tsdl.Field) string {
	var m tsdl.Metadata
	context := append(tsdl.PacketContext(), fields...)
	context = append(context, tsdl.String.Named("_row"), tsdl.String.Named("_row_kind"), tsdl.Int64.Named("_row_id"))
	m.Stream(tsdl.Stream{PacketContext: tsdl.Struct(1, context...), EventHeader: tsdl.Struct(1, tsdl.EventHeader(id)...)})
	return m.String()
}

// ringStream is the stream class of a ring.
var ringStream = streamClass(tsdl.Uint16, tsdl.Uint32.Named("_crc32c"),
	tsdl.Uint64.Named("_ring_high"), tsdl.Uint64.Named("_ring_low"), tsdl.Uint64.Named("_position"))

// sourceStream returns the stream class of a source. Rows that are processors have one field more than others.
func sourceStream(cpus bool) string {
	if cpus {
		return streamClass(tsdl.Uint32, tsdl.Uint32.Named("cpu_id"))
	}
	return streamClass(tsdl.Uint32)
}

// parsed returns what text declares after the preamble.
func parsed(uuid [16]byte, text, name string) (*ctf.Metadata, error) {
	var w trace.Warnings
	all := preamble(uuid)
	all.Add(text)
	m, err := ctf.ParseMetadata(all.Bytes(), name, &w)
	if err != nil {
		return nil, err
	}
	if lines := w.Lines(); len(lines) > 0 {
		return nil, fmt.Errorf("its metadata: %s", lines[0])
	}
	return m, nil
}

// newMetadata returns the metadata of a trace that begins now.
func newMetadata(o *Options, now clock.Snapshot) (*ctf.Metadata, error) {
	m, err := parsed(newUUID(), "", o.Dir)
	if err != nil {
		return nil, err
	}
	// Beside MONOTONIC a reading's counter is MONOTONIC.
	offset := clock.Sub(now.Realtime.Ns, int64(now.Realtime.Counter))
	c := &m.Clocks[0]
	c.UUID, c.Description = bootID(), "CLOCK_MONOTONIC of the host, with what REALTIME was beyond it when the trace was begun"
	c.OffsetSeconds, c.Offset, c.Absolute, c.Epoch = offset/1e9, offset%1e9, true, true
	if c.Offset < 0 {
		c.OffsetSeconds, c.Offset = c.OffsetSeconds-1, c.Offset+1e9
	}
	for _, e := range [][2]string{{"tracer_name", "meridian"}, {"domain", domain}, {"hostname", o.Host}, {"title", o.Title}} {
		if e[1] != "" {
			m.Env = append(m.Env, ctf.Env{Name: e[0], Text: e[1], IsText: true})
		}
	}
	return m, nil
}

// declared returns the stream class of a ring, and how many slots its types use. The text comes from another program: all
// that it may declare are the events of its own classes, each once.
func (t *hostTrace) declared(info ring.Info, classes []ring.ClassInfo, text string) (ctf.StreamClass, int, error) {
	none := ctf.StreamClass{}
	m, err := parsed(t.m.UUID, ringStream+text, info.Path)
	if err != nil {
		return none, 0, err
	}
	if len(m.Streams) != 1 || len(m.Clocks) != 1 || len(m.Env) > 0 {
		return none, 0, fmt.Errorf("%s: its metadata declares more than classes of events", info.Path)
	}
	c := m.Streams[0]
	there := make([]bool, len(classes))
	// What was registered since the classes were asked for is left for the next time.
	c.Events = slices.DeleteFunc(c.Events, func(e ctf.EventClass) bool { return e.ID >= uint64(len(classes)) })
	for i := range c.Events {
		e := &c.Events[i]
		if there[e.ID] {
			return none, 0, fmt.Errorf("%s: its metadata declares class %d twice", info.Path, e.ID)
		}
		there[e.ID] = true
		if e.URI = ""; classes[e.ID].Category != "" {
			e.URI = "meridian:category:" + classes[e.ID].Category
		}
	}
	for id, ok := range there {
		if !ok {
			return none, 0, fmt.Errorf("%s: its metadata does not declare class %d, %q", info.Path, id, classes[id].Name)
		}
	}
	// A ring whose declarations cannot be written must not spoil those of all others. They are beside those in one trace, so
	// that nothing can refer to the packet's header, which is the trace's.
	m.PacketHeader = t.m.PacketHeader
	if err := m.WriteTSDL(io.Discard); err != nil {
		return none, 0, fmt.Errorf("%s: %w", info.Path, err)
	}
	return c, m.Slots, nil
}

// shifter gives types other slots, in a copy.
type shifter struct {
	by   int
	done map[*ctf.Type]*ctf.Type // a type may stand in several places
}

func (s *shifter) of(t *ctf.Type) *ctf.Type {
	if t == nil || s.by == 0 {
		return t
	}
	if c := s.done[t]; c != nil {
		return c
	}
	c := *t
	s.done[t] = &c
	for _, slot := range []*int{&c.Slot, &c.LengthSlot, &c.TagSlot} {
		if *slot >= 0 {
			*slot += s.by
		}
	}
	c.Elem = s.of(t.Elem)
	c.Fields = append([]ctf.Field(nil), t.Fields...)
	for i := range c.Fields {
		c.Fields[i].Type = s.of(c.Fields[i].Type)
	}
	return &c
}
