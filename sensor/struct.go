package sensor

import (
	"unsafe"

	"meridian/clock"
	"meridian/sensor/ring"
)

// Struct is a type of events of any number of fields, for code that meridian-sensorgen makes of a struct. What it writes goes:
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
// Between Begin and End nothing may happen but Put and PutLong: the goroutine is pinned, and a panic would leave it so.
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

// Fit returns a value as an event can keep it.
func Fit[T Field](v T) T {
	if isLong(v) {
		return fit(v)
	}
	return v
}

// Size returns how many bytes a value that fits takes.
func Size[T Field](v T) int { return size(v) }

// Writer is an event that is being written.
type Writer struct {
	s    *shard
	size int
	now  uint64
}

// Place is where the next field of an event goes.
type Place struct{ p unsafe.Pointer }

// Begin begins an event whose fields take n bytes.
func (e *Struct) Begin(n int) (Writer, Place) { return e.begin(n) }

func (c *class) begin(n int) (Writer, Place) {
	if n += eventHead; n > ring.MaxSize {
		n = -1 // is discarded and counted, where 65536 would be written with a length of 0
	}
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return Writer{}, Place{}
		}
	}
	p := s.Reserve(n)
	if p == nil {
		leave(s)
		return Writer{}, Place{}
	}
	now := clock.Cycles()
	if slow {
		now = clock.Monotonic.Now()
	}
	return Writer{s, n, now}, Place{putHead(p, now, c.number, n)}
}

// Writing says that there is room. If not, the event was counted as discarded, and there is no End.
func (w Writer) Writing() bool { return w.s != nil }

// Put writes a number or a bool, and returns where the next field goes.
func Put[T Field](at Place, v T) Place { return Place{put(at.p, v)} }

// PutLong writes a string or bytes, and returns where the next field goes.
func PutLong[T ~string | ~[]byte](at Place, v T) Place { return Place{putLong(at.p, v)} }

// End ends the event.
func (w Writer) End() {
	w.s.Commit(w.size, w.now)
	leave(w.s)
}
