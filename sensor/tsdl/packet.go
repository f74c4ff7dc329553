package tsdl

// Aliases of the integers that the fields below are made of, and that [Metadata.Integers] declares.
const (
	Uint8  Type = "uint8"
	Uint16 Type = "uint16"
	Uint32 Type = "uint32"
	Uint64 Type = "uint64"
	Int64  Type = "int64"
	Stamp  Type = "stamp" // of a clock: see Metadata.Stamp
)

// Integers declares Uint8, Uint16, Uint32, Uint64 and Int64, aligned to bytes.
func (m *Metadata) Integers() {
	for i, name := range []Type{Uint8, Uint16, Uint32, Uint64} {
		m.Alias(string(name), Integer{Size: 8 << i, Align: 8}.Type())
	}
	m.Alias(string(Int64), Integer{Size: 64, Align: 8, Signed: true}.Type())
}

// Stamp declares the type Stamp: 64 bits that count the cycles of a clock.
func (m *Metadata) Stamp(clock string) {
	m.Alias(string(Stamp), Integer{Size: 64, Align: 8, Clock: clock}.Type())
}

// PacketHeader returns the header of a packet: 32 bytes by which readers find trace, class of stream and stream.
func PacketHeader() []Field {
	return []Field{{Uint32, "magic"}, {Uint8, "uuid[16]"}, {Uint32, "stream_id"}, {Uint64, "stream_instance_id"}}
}

// PacketContext returns the fields of a packet's context that readers know: when it begins and ends, its sizes in bits, its
// number in the stream, and how many events were discarded before its end.
func PacketContext() []Field {
	return []Field{{Stamp, "timestamp_begin"}, {Stamp, "timestamp_end"}, {Uint64, "content_size"}, {Uint64, "packet_size"},
		{Uint64, "packet_seq_num"}, {Uint64, "events_discarded"}}
}

// EventHeader returns the header of an event: its stamp and its class.
func EventHeader(id Type) []Field { return []Field{{Stamp, "timestamp"}, {id, "id"}} }
