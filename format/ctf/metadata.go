package ctf

// Metadata is what a trace says of itself: the content of its metadata file, every reference in it resolved.
type Metadata struct {
	Major, Minor int // 1.8 or 2.0
	UUID         [16]byte
	HasUUID      bool
	BigEndian    bool // the trace's own byte order; each type has its own
	Env          []Env
	Clocks       []Clock
	PacketHeader *Type // nil for none
	Streams      []StreamClass
	Slots        int // how many slots the types refer to: 0 to Slots-1
}

// Env is an entry of a trace's environment: the tracer, the host, the process.
type Env struct {
	Name   string
	Text   string
	Number int64
	IsText bool
}

// Clock is a class of clocks. A stamp of c cycles is c/Frequency + OffsetSeconds + Offset/Frequency seconds after its
// origin, which is the Epoch of 1970 where that is known.
type Clock struct {
	Name, Description string
	UUID              string // as it stands in the metadata; "" without one
	Frequency         uint64 // Hz
	Precision         uint64 // cycles; 0 if unknown
	OffsetSeconds     int64
	Offset            int64 // cycles
	Absolute          bool  // the origin is the same for all clocks that say so
	Epoch             bool  // CTF 2: the origin is 1970-01-01T00:00:00Z; CTF 1.8 cannot say and is taken at its word that it is
}

// StreamClass is a type of data stream; a stream is a file of packets.
type StreamClass struct {
	ID            uint64
	Name          string
	Clock         int   // index into Clocks of the stamps of its packets and events; -1 for none
	PacketContext *Type // nil for none, like all below
	EventHeader   *Type
	EventContext  *Type
	Events        []EventClass
}

// EventClass is a type of event.
type EventClass struct {
	ID         uint64
	Name       string
	Namespace  string // CTF 2
	LogLevel   int
	HasLevel   bool
	URI        string // model.emf.uri
	Context    *Type
	Payload    *Type
	Attributes []Env // CTF 2: attributes that are single texts or numbers, for people to see
}

// Kind is the layout of a type.
type Kind uint8

const (
	Integer    Kind = iota // Size bits, Signed or not; with Labels an enumeration
	VarInt                 // CTF 2: LEB128 of at most 64 bits, Signed or not; with Labels an enumeration
	Boolean                // CTF 2: Size bits, true unless all are 0
	BitArray               // CTF 2: Size bits, read as an unsigned integer
	Float                  // IEEE 754 of Size bits: 16, 32, 64, 80 to 128 where Exponent and Mantissa say so
	CString                // bytes up to one NUL code unit of Encoding
	TextArray              // CTF 2: Length bytes of text, up to a NUL
	TextSeq                // CTF 2: as many bytes of text as LengthSlot says
	BlobArray              // CTF 2: Length bytes
	BlobSeq                // CTF 2: as many bytes as LengthSlot says
	Struct                 // Fields, one after another
	Variant                // the one of Fields that TagSlot selects
	Optional               // Elem, or nothing, as TagSlot selects
	FixedArray             // Length times Elem
	Sequence               // as often Elem as LengthSlot says
)

// Type is a resolved field class: one node of a layout. The types of one trace form trees: fields with different slots share no node.
//
// Lengths and selectors stand in fields decoded earlier, possibly in another scope: the packet header, the packet
// context, the event header, the event contexts. The metadata's parser gives each field that another refers to a slot,
// a number unique in the trace. Decoding that field stores its value there; fields that refer to it read the slot. The
// last value stored is the one that lexical scoping means, also inside arrays of structures.
type Type struct {
	Kind      Kind
	Size      int // bits
	Align     int // bits, from the start of the packet; at least 1
	BigEndian bool
	Reversed  bool // CTF 2: the bit order is not the one that goes with the byte order
	Signed    bool
	Base      int // 2, 8, 10, 16; 10 where nothing is said
	Encoding  Encoding
	Exponent  int // Float: bits of the exponent
	Mantissa  int // Float: bits of the mantissa, with the sign
	Clock     int // Integer, VarInt: index of the clock whose cycles it counts; -1 for none
	Role      Role
	Labels    []Label // enumeration
	Fields    []Field // Struct, Variant
	Elem      *Type   // Optional, FixedArray, Sequence
	Length    uint64  // FixedArray, TextArray, BlobArray
	// Slot is where the value is stored for fields that refer to it, -1 for none. LengthSlot and TagSlot are where it is
	// read.
	Slot       int
	LengthSlot int
	TagSlot    int
	Select     [][]Range // Variant: for each of Fields the selectors that choose it; Optional: one entry, those that mean it is there
	TagSigned  bool      // how the ranges of Select are compared
	MediaType  string    // CTF 2 blobs
}

// Field is a named member of a structure, or an alternative of a variant. CTF 1.8 metadata puts an underscore before
// names so that none is a keyword; the parser removes it.
type Field struct {
	Name string
	Type *Type
}

// Label is a name of an enumeration and the values that have it.
type Label struct {
	Name   string
	Ranges []Range
}

// Range holds the values from Low to High, both included; of an unsigned type their bits.
type Range struct{ Low, High int64 }

// Encoding of text.
type Encoding uint8

const (
	NoEncoding Encoding = iota // an integer that is no character; for text: UTF-8
	UTF8
	ASCII
	UTF16BE
	UTF16LE
	UTF32BE
	UTF32LE
)

// Role is what a field means to the reader of the trace. CTF 1.8 gives roles by name, CTF 2 in so many words.
type Role uint8

const (
	NoRole Role = iota
	PacketMagic
	TraceUUID
	StreamClassID
	StreamID // which stream of its class
	PacketBegin
	PacketEnd
	PacketContent   // bits of the packet that mean something
	PacketSize      // bits of the packet
	EventsDiscarded // so far in the stream
	PacketSequence
	CPU // cpu_id of a packet context
	EventClassID
	Stamp // time of an event; in CTF 1.8 any integer of its header that is mapped to a clock
)

// eachScope calls visit for the root of every scope, also for absent ones.
func (m *Metadata) eachScope(visit func(*Type)) {
	visit(m.PacketHeader)
	for i := range m.Streams {
		s := &m.Streams[i]
		visit(s.PacketContext)
		visit(s.EventHeader)
		visit(s.EventContext)
		for j := range s.Events {
			visit(s.Events[j].Context)
			visit(s.Events[j].Payload)
		}
	}
}
