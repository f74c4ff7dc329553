package ring

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"meridian/sensor/tsdl"
)

// Class is a type of events.
type Class struct {
	Name     string // at most 160 bytes, no quotes, backslashes and control characters
	Category string // at most 64 bytes of the same; may be empty
	Context  string // the members of the event's context, which lie before its fields, as those are declared; may be empty
	Fields   string // the members of the structure of fields, in TSDL, each with its semicolon; may be empty
	Off      bool   // begins switched off
}

// Handle is what a program needs to emit events of a class.
type Handle struct {
	ID     uint16
	Switch *uint32 // in the ring's memory: load it atomically before every event, 0 is off
}

// Register enters a class. Classes that are the same in all but Off are one.
func (r *Ring) Register(c Class) (Handle, error) {
	if err := c.check(); err != nil {
		return Handle{}, fmt.Errorf("ring: class %q: %w", c.Name, err)
	}
	off := c.Off
	c.Off = false
	r.mu.Lock()
	defer r.mu.Unlock()
	if h, ok := r.known[c]; ok {
		return h, nil
	}
	id := len(r.known)
	switch {
	case r.closed:
		return Handle{}, fmt.Errorf("ring: class %q: the ring is closed", c.Name)
	case id >= r.classCapacity:
		return Handle{}, fmt.Errorf("ring: class %q: there are %d classes already and no room for more (Options.Classes)", c.Name, id)
	}
	text := c.declaration(id)
	if uint64(len(text)) > uint64(r.metadataSize)-r.text {
		return Handle{}, fmt.Errorf("ring: class %q: its declaration has %d bytes, and %d of %d are left for metadata (Options.Metadata)",
			c.Name, len(text), uint64(r.metadataSize)-r.text, r.metadataSize)
	}
	if err := r.reserve(r.metadataAt+r.text, uint64(len(text))); err != nil {
		return Handle{}, fmt.Errorf("ring: class %q: %w", c.Name, err)
	}
	record := r.class(id)
	if err := r.reserve(record, classSize); err != nil {
		return Handle{}, fmt.Errorf("ring: class %q: %w", c.Name, err)
	}
	copy(r.mem[r.metadataAt+r.text:], text)
	r.text += uint64(len(text))
	atomic.StoreUint64(word64(r.mem, atMetadataLength), r.text)

	h := Handle{ID: uint16(id), Switch: word32(r.mem, record)}
	b := r.mem[record : record+classSize]
	b[8], b[9] = byte(len(c.Name)), byte(len(c.Category))
	copy(b[16:], c.Name)
	copy(b[176:], c.Category)
	if !off {
		binary.LittleEndian.PutUint32(b, 1)
	}
	atomic.StoreUint32(word32(r.mem, atClassCount), uint32(id+1))
	r.known[c] = h
	return h, nil
}

// check tells what the metadata could not hold as it is.
func (c *Class) check() error {
	for _, text := range []struct {
		what, text string
		most       int
	}{{"name", c.Name, maxName}, {"category", c.Category, maxCategory}} {
		if len(text.text) > text.most {
			return fmt.Errorf("the %s has %d bytes, at most %d", text.what, len(text.text), text.most)
		}
		if !utf8.ValidString(text.text) || strings.ContainsFunc(text.text, func(c rune) bool { return c < ' ' || c == 0x7f || c == '"' || c == '\\' }) {
			return fmt.Errorf("the %s %q has quotes, backslashes, control characters or is not UTF-8", text.what, text.text)
		}
	}
	if c.Name == "" {
		return fmt.Errorf("it has no name")
	}
	if text := c.Context + c.Fields; !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return fmt.Errorf("the declaration of its fields is not UTF-8 or holds a NUL")
	}
	return nil
}

func (c *Class) declaration(id int) string {
	e := tsdl.Event{Name: c.Name, ID: uint64(id), Fields: tsdl.Inline(c.Fields)}
	if c.Category != "" {
		e.Name = c.Category + ":" + c.Name
	}
	if c.Context != "" {
		e.Context = tsdl.Inline(c.Context)
	}
	var m tsdl.Metadata
	m.Event(e)
	return m.String()
}
