package ctf

// fieldClass is a field class as the metadata declares it, before a field uses it: lengths and selectors are still paths, the
// native byte order and the clocks are still names. Many fields may use one class; resolver makes the [Type] of
// each.
type fieldClass struct {
	kind      Kind
	scalar    scalar
	labels    []Label        // of a scalar: an enumeration
	fields    []memberClass  // Struct, Variant
	elem      *fieldClass    // Optional, FixedArray, Sequence
	length    uint64         // FixedArray, TextArray, BlobArray
	location  *fieldLocation // where a length or a selector stands; nil: a variant without a tag yet
	selectors [][]Range      // CTF 2: what selects the options; CTF 1.8 takes them from the tag's labels
	align     int            // Struct and arrays: at least so
	media     string
	line      int
	roles     []string // CTF 2
	depth     int      // of the tree below
	nodes     int      // how many types a use of it makes
	resolved  *Type    // of an enumeration once resolved
}

type memberClass struct {
	name  string // as it stands, underscores and all
	class *fieldClass
}

// scalar is the layout of one value. It is comparable, so that equal ones share a Type.
type scalar struct {
	kind               Kind
	order              order
	encoding           Encoding
	signed, reversed   bool
	size, align, base  int
	exponent, mantissa int
	clock              string
}

type order uint8

const (
	nativeOrder order = iota
	littleEndian
	bigEndian
)

// Bounds on what metadata can ask for. Forty types, each of two of the one before, are short to write down:
// nothing is built before its size is known.
const (
	maxDepth      = 64       // of types within types
	maxNodes      = 1 << 18  // types in one trace
	maxInvalid    = 10000    // declarations that cannot be read; with more it is no metadata
	maxAllocation = 24 << 20 // bytes of declarations, and again of types
)

// measure fills depth and nodes from the children's and reports whether the class is within bounds.
func (s *fieldClass) measure() bool {
	s.depth, s.nodes = 1, 1
	add := func(c *fieldClass) {
		s.depth = max(s.depth, c.depth+1)
		s.nodes = min(s.nodes+c.nodes, maxNodes+1)
	}
	for i := range s.fields {
		add(s.fields[i].class)
	}
	if s.elem != nil {
		add(s.elem)
	}
	return s.depth <= maxDepth && s.nodes <= maxNodes
}

// fieldLocation is the path to a length or a selector ("field location" in CTF 2).
type fieldLocation struct {
	scope dynamicScope // inAnyScope: to be searched outwards from the field that uses it
	names []string
	line  int
	// strict: CTF 2. The names are exact, start from the up-th structure around the field that uses it, and lead through
	// optional fields and variants to whatever is there.
	strict bool
	up     int
}

// dynamicScope is one of the structures of which an event with its packet consists, in their order there.
type dynamicScope int

const (
	inPacketHeader dynamicScope = iota
	inPacketContext
	inEventHeader
	inStreamEventContext
	inEventContext
	inEventPayload
	dynamicScopes
	inAnyScope
	inEnvironment
)

func (d dynamicScope) String() string {
	return [...]string{"packet header", "packet context", "event header", "common event context", "event context",
		"event payload", "", "", "environment"}[d]
}
