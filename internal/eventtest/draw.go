package eventtest

import (
	"math"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/trace"
)

var names = []string{"a", "A", "b", "pid", "time", "host", "a.b", "", "=1+1", "x,y", "q\"q", "new\nline", "\xff", "nul\x00", "-2", "fields"}

// Draw returns a schema and events of it: few hosts, rows, classes and maps, with every type of field and names that nobody would
// choose. One value in ten is not of its field's type.
func Draw(t *rapid.T) (*trace.Schema, []trace.TimelineEvent) {
	name := rapid.OneOf(rapid.SampledFrom(names), rapid.String())
	s := &trace.Schema{Title: name.Draw(t, "title"), Hosts: rapid.SliceOfN(name, 1, 3).Draw(t, "hosts")}
	for i := range rapid.IntRange(1, 4).Draw(t, "streams") {
		host := rapid.SampledFrom(s.Hosts).Draw(t, "stream's host")
		s.Streams = append(s.Streams, trace.Stream{Name: name.Draw(t, "stream"), Host: host, ID: int64(i), Parent: -1,
			Kind: trace.StreamKind(rapid.IntRange(0, int(trace.StreamKinds)).Draw(t, "kind"))})
	}
	for range rapid.IntRange(1, 4).Draw(t, "classes") {
		s.Classes = append(s.Classes, trace.Class{Name: name.Draw(t, "class"), Category: name.Draw(t, "category"), Fields: fields(t, 4, 0)})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "maps") {
		line := clock.Identity()
		s.Maps = append(s.Maps, trace.HostMap{Host: i % len(s.Hosts), Component: rapid.IntRange(0, 2).Draw(t, "component"), Map: &line})
	}
	events := make([]trace.TimelineEvent, rapid.IntRange(0, 6).Draw(t, "events"))
	for i := range events {
		r := &events[i]
		r.Time = clock.TimelineTime(rapid.OneOf(rapid.Int64Range(1_700_000_000e9, 1_700_000_001e9), rapid.Int64()).Draw(t, "time"))
		r.Map, r.Bounded = rapid.IntRange(-1, len(s.Maps)-1).Draw(t, "map"), rapid.Bool().Draw(t, "bounded")
		if r.Low, r.High = r.Time, r.Time; r.Bounded {
			r.Low, r.High = r.Time-1, r.Time+1
		}
		r.Event.Time = clock.HostTime(rapid.Int64().Draw(t, "recorded"))
		r.Stream, r.Class = rapid.IntRange(0, len(s.Streams)-1).Draw(t, "row"), rapid.IntRange(0, len(s.Classes)-1).Draw(t, "event")
		r.Host = rapid.IntRange(0, len(s.Hosts)-1).Draw(t, "host")
		r.Phase, r.Role = trace.Phase(rapid.IntRange(0, 4).Draw(t, "phase")), trace.Role(rapid.IntRange(0, 5).Draw(t, "role"))
		r.Slice, r.Flow = rapid.Uint64().Draw(t, "slice"), rapid.Uint64().Draw(t, "flow")
		for k := range s.Classes[r.Class].Fields {
			r.Values = append(r.Values, value(t, &s.Classes[r.Class].Fields[k].Type))
		}
	}
	return s, events
}

func fields(t *rapid.T, most, depth int) []trace.Field {
	made := make([]trace.Field, rapid.IntRange(0, most).Draw(t, "fields"))
	for i := range made {
		made[i] = trace.Field{Name: rapid.SampledFrom(names).Draw(t, "field"), Type: kind(t, depth)}
	}
	return made
}

func kind(t *rapid.T, depth int) trace.Type {
	last := trace.Variant
	if depth > 2 {
		last = trace.Bytes
	}
	of := trace.Type{Kind: trace.ValueKind(rapid.IntRange(int(trace.Bool), int(last)).Draw(t, "kind"))}
	switch of.Kind {
	case trace.Int, trace.Uint:
		of.Base = rapid.SampledFrom([]int{0, 10, 16}).Draw(t, "base")
		if rapid.IntRange(0, 3).Draw(t, "labels") == 0 {
			of.Labels = []trace.Label{{Name: "=zero", Low: 0, High: 0}, {Name: "few", Low: 1, High: 5}}
		}
	case trace.Struct, trace.Variant:
		of.Fields = fields(t, 3, depth+1)
	case trace.Array:
		elem := kind(t, depth+1)
		of.Elem = &elem
	}
	return of
}

func value(t *rapid.T, of *trace.Type) trace.Value {
	k := of.Kind
	if rapid.IntRange(0, 9).Draw(t, "damaged") == 0 {
		k = trace.ValueKind(rapid.IntRange(0, int(trace.Bytes)).Draw(t, "other kind"))
	}
	switch k {
	case trace.Bool:
		return trace.OfBool(rapid.Bool().Draw(t, "bool"))
	case trace.Int:
		return trace.OfInt(rapid.OneOf(rapid.Int64Range(-9, 9), rapid.Int64()).Draw(t, "int"))
	case trace.Uint:
		return trace.OfUint(rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Uint64()).Draw(t, "uint"))
	case trace.Float:
		return trace.OfFloat(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), -0.5})).Draw(t, "float"))
	case trace.Text:
		return trace.OfText(rapid.OneOf(rapid.SampledFrom(names), rapid.String()).Draw(t, "text"))
	case trace.Bytes:
		return trace.OfBytes(rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "bytes"))
	case trace.Struct:
		v := trace.Value{Kind: k}
		for i := range of.Fields {
			v.Items = append(v.Items, value(t, &of.Fields[i].Type))
		}
		return v
	case trace.Array:
		v := trace.Value{Kind: k}
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			v.Items = append(v.Items, value(t, of.Elem))
		}
		return v
	case trace.Variant:
		if len(of.Fields) == 0 {
			return trace.Value{Kind: k, Bits: 3}
		}
		i := rapid.IntRange(0, len(of.Fields)-1).Draw(t, "alternative")
		return trace.Value{Kind: k, Bits: uint64(i), Items: []trace.Value{value(t, &of.Fields[i].Type)}}
	}
	return trace.Value{}
}
