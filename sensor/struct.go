package sensor

import (
	"unsafe"

	"meridian/clock"
	"meridian/sensor/ring"
)

// Struct is a type of events with any number of fields, for code that meridian-sensorgen generates from a struct:
//
//	if e.Enabled() {
//		text := sensor.Fit(r.Text)                              // of each string and slice of bytes
//		if w, at := e.Begin(8 + sensor.Size(text)); w.Writing() {   // the bytes of all fields
//			at = sensor.Put(at, r.ID)                           // each field, in order
//			sensor.PutLong(at, text)
//			w.End()
//		}
//	}
//
// Between Begin and End only Put and PutLong may be called: the goroutine is pinned, and a panic would leave it pinned. The sizes
// of the values must add up to what Begin was given. Neither is checked.
type Struct struct{ class }

// StructField is a field of a Struct.
type StructField struct{ member }

// FieldOf declares a field.
func FieldOf[T Field](name string) StructField { return StructField{memberOf[T](name)} }

// NewStruct declares a type of events.
func NewStruct(category, name string, fields ...StructField) *Struct {
	members := make([]member, len(fields))
	for i, f := range fields {
		members[i] = f.member
	}
	return declare(category, name, "", nil, members, func(s *Struct) *class { return &s.class })
}

// Fit returns a value as an event can hold it: without NULs, and cut to [MaxText] bytes.
func Fit[T Field](v T) T {
	if isLong(v) {
		return fit(v)
	}
	return v
}

// Size returns how many bytes a value takes that Fit returned.
func Size[T Field](v T) int { return size(v) }

// Writer is an event that is being written.
type Writer struct {
	s    *shard
	size int
	now  uint64
}

// Cursor points to where the next field of an event goes.
type Cursor struct{ p unsafe.Pointer }

// Begin begins an event whose fields take n bytes. If there is no room, or the event would be larger than [ring.MaxSize], the event
// is counted as discarded, and Writing returns false.
func (e *Struct) Begin(n int) (Writer, Cursor) { return e.begin(n) }

func (c *class) begin(n int) (Writer, Cursor) {
	if n += eventHead; n > ring.MaxSize {
		n = -1 // is discarded and counted, where 65536 would be written with a length of 0
	}
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return Writer{}, Cursor{}
		}
	}
	p := s.Reserve(n)
	if p == nil {
		leave(s)
		return Writer{}, Cursor{}
	}
	now := clock.Cycles()
	if slow {
		now = clock.Monotonic.Now()
	}
	return Writer{s, n, now}, Cursor{putHead(p, now, c.number, n)}
}

// Writing reports whether there is room. If not, the event was counted as discarded, and End must not be called.
func (w Writer) Writing() bool { return w.s != nil }

// Put writes a number or a bool, and returns where the next field goes.
func Put[T Field](at Cursor, v T) Cursor { return Cursor{put(at.p, v)} }

// PutLong writes a string or bytes, and returns where the next field goes.
func PutLong[T ~string | ~[]byte](at Cursor, v T) Cursor { return Cursor{putLong(at.p, v)} }

// End ends the event.
func (w Writer) End() {
	w.s.Commit(w.size, w.now)
	leave(w.s)
}
