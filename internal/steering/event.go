package steering

import (
	"slices"

	"meridian/trace"
)

// Event is the name of the events that hold readings in a host's trace.
const Event = "meridian:steering"

// Stream is the name of a recorder's own stream, of its readings.
const Stream = "clocks"

// fields are those of the events, in order. Source is the name of the free counter, suspended_ns CLOCK_BOOTTIME less
// CLOCK_MONOTONIC.
var fields = []string{
	"source", "counter", "counter_error", "ns", "ns_error", "gap_ns", "bend_ns", "worst_ns",
	"known", "freq", "tick", "offset_ns", "adjust_us", "constant", "status", "state", "maxerror_us", "esterror_us", "tai", "suspended_ns",
}

// Class returns the class of the events.
func Class() trace.Class {
	c := trace.Class{Name: Event, Category: "meridian"}
	for _, name := range fields {
		kind := trace.Int
		switch name {
		case "source":
			kind = trace.Text
		case "counter", "counter_error":
			kind = trace.Uint
		}
		c.Fields = append(c.Fields, trace.Field{Name: name, Type: trace.Type{Kind: kind}})
	}
	return c
}

// Values returns a reading as the fields of an event, appended to values. The steered clock is CLOCK_MONOTONIC.
func (r *Reading) Values(source string, values []trace.Value) []trace.Value {
	known := int64(0)
	if r.Kernel.Known {
		known = 1
	}
	values = append(values, trace.OfText(source), trace.OfUint(r.Counter), trace.OfUint(r.Error))
	k := &r.Kernel
	for _, v := range []int64{
		r.Ns, r.NsError, r.Seen.Gap, r.Seen.Bend, r.Seen.Worst, known, k.Freq, k.Tick, k.Offset, k.Adjust, k.Constant, k.Status, k.State,
		k.MaxError, k.EstError, k.TAI, r.Suspended,
	} {
		values = append(values, trace.OfInt(v))
	}
	return values
}

// Decoder reads events of one class.
type Decoder struct{ at []int }

// NewDecoder returns a decoder of a class; false if it lacks a field.
func NewDecoder(c *trace.Class) (d Decoder, ok bool) {
	if c.Name != Event {
		return d, false
	}
	for _, name := range fields {
		i := slices.IndexFunc(c.Fields, func(f trace.Field) bool { return f.Name == name })
		if i < 0 {
			return d, false
		}
		d.at = append(d.at, i)
	}
	return d, true
}

// Read returns the reading that an event holds, and the name of its counter; false if fields are missing.
func (d Decoder) Read(values []trace.Value) (r Reading, source string, ok bool) {
	var v [20]int64
	for i, at := range d.at {
		if at >= len(values) {
			return r, "", false
		}
		switch x := values[at]; i {
		case 0:
			source = string(x.Data)
		case 1:
			r.Counter = x.Uint()
		case 2:
			r.Error = x.Uint()
		default:
			v[i] = x.Int()
		}
	}
	r.Ns, r.NsError = v[3], v[4]
	r.Seen = Seen{Gap: v[5], Bend: v[6], Worst: v[7]}
	r.Kernel = Kernel{
		Known: v[8] == 1, Freq: v[9], Tick: v[10], Offset: v[11], Adjust: v[12], Constant: v[13], Status: v[14], State: v[15],
		MaxError: v[16], EstError: v[17], TAI: v[18],
	}
	r.Suspended = v[19]
	return r, source, true
}

// programFields are those of the events meridian:clock of package sensor and of recorders.
var programFields = []string{"clock", "counter", "counter_error", "ns", "ns_error"}

// NewProgramDecoder returns a decoder of the readings of programs; false for another class.
func NewProgramDecoder(c *trace.Class) (d Decoder, ok bool) {
	if c.Name != "meridian:clock" {
		return d, false
	}
	for _, name := range programFields {
		i := slices.IndexFunc(c.Fields, func(f trace.Field) bool { return f.Name == name })
		if i < 0 {
			return d, false
		}
		d.at = append(d.at, i)
	}
	return d, true
}

// ReadProgram returns a reading of MONOTONIC by a program; false for one of another clock.
func (d Decoder) ReadProgram(values []trace.Value) (r Reading, ok bool) {
	for _, at := range d.at {
		if at >= len(values) {
			return r, false
		}
	}
	r = Reading{
		Counter: values[d.at[1]].Uint(), Error: values[d.at[2]].Uint(), Ns: values[d.at[3]].Int(), NsError: values[d.at[4]].Int(),
	}
	return r, string(values[d.at[0]].Data) == monotonic
}
