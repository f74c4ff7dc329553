package ctf

import (
	"fmt"
	"strings"
)

// dumpType writes a type in one line: kind and bits, big-endian as be, @alignment, base, clock, role, the slot it stores to
// as >n, the slots it reads as <n.
//
//	{id:u5@1(compact=0..30)>0 v:<0[0..30]{timestamp:u27~0!Stamp}|[31]...}@32
func dumpType(t *Type) string {
	if t == nil {
		return "none"
	}
	var b strings.Builder
	switch t.Kind {
	case Integer, VarInt, Boolean, BitArray, Float, CString:
		b.WriteString(dumpScalar(t))
	case TextArray, TextSeq:
		fmt.Fprintf(&b, "text%d%s", t.Encoding, dumpLength(t))
	case BlobArray, BlobSeq:
		fmt.Fprintf(&b, "blob%s%s", dumpLength(t), t.MediaType)
	case Struct:
		b.WriteByte('{')
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(f.Name + ":" + dumpType(f.Type))
		}
		b.WriteByte('}')
	case Variant:
		fmt.Fprintf(&b, "<%d", t.TagSlot)
		for i, f := range t.Fields {
			fmt.Fprintf(&b, "|%s%s:%s", dumpRanges(t.Select[i], t.TagSigned), f.Name, dumpType(f.Type))
		}
	case Optional:
		fmt.Fprintf(&b, "<%d?%s%s", t.TagSlot, dumpRanges(t.Select[0], t.TagSigned), dumpType(t.Elem))
	case FixedArray, Sequence:
		b.WriteString(dumpType(t.Elem) + dumpLength(t))
	}
	if t.Align != 1 {
		fmt.Fprintf(&b, "@%d", t.Align)
	}
	if t.Clock >= 0 {
		fmt.Fprintf(&b, "~%d", t.Clock)
	}
	if t.Role != NoRole {
		fmt.Fprintf(&b, "!%d", t.Role)
	}
	if t.Slot >= 0 {
		fmt.Fprintf(&b, ">%d", t.Slot)
	}
	return b.String()
}

func dumpScalar(t *Type) string {
	name := map[Kind]string{Integer: "u", VarInt: "vu", Boolean: "bool", BitArray: "bits", Float: "f", CString: "string"}[t.Kind]
	if t.Signed {
		name = strings.TrimSuffix(name, "u") + "i"
	}
	s := fmt.Sprintf("%s%d", name, t.Size)
	if t.BigEndian {
		s += "be"
	}
	if t.Reversed {
		s += "rev"
	}
	if t.Base != 10 {
		s += fmt.Sprintf("b%d", t.Base)
	}
	if t.Encoding != NoEncoding {
		s += fmt.Sprintf("e%d", t.Encoding)
	}
	if t.Kind == Float {
		s += fmt.Sprintf("(%d+%d)", t.Exponent, t.Mantissa)
	}
	for i, l := range t.Labels {
		s += map[bool]string{true: "(", false: " "}[i == 0] + l.Name + "=" + dumpRanges(l.Ranges, t.Signed)
	}
	if t.Labels != nil {
		s += ")"
	}
	return s
}

func dumpLength(t *Type) string {
	if t.LengthSlot >= 0 {
		return fmt.Sprintf("[<%d]", t.LengthSlot)
	}
	return fmt.Sprintf("[%d]", t.Length)
}

func dumpRanges(set []Range, signed bool) string {
	var parts []string
	for _, r := range set {
		low, high := fmt.Sprint(r.Low), fmt.Sprint(r.High)
		if !signed {
			low, high = fmt.Sprint(uint64(r.Low)), fmt.Sprint(uint64(r.High))
		}
		if low != high {
			low += ".." + high
		}
		parts = append(parts, low)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// dumpAll writes a whole trace, a line for each type.
func dumpAll(m *Metadata) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d.%d %x %v slots %d\n", m.Major, m.Minor, m.UUID, m.BigEndian, m.Slots)
	for _, e := range m.Env {
		fmt.Fprintf(&b, "env %+v\n", e)
	}
	for _, c := range m.Clocks {
		fmt.Fprintf(&b, "clock %+v\n", c)
	}
	fmt.Fprintf(&b, "packet header %s\n", dumpType(m.PacketHeader))
	for _, s := range m.Streams {
		fmt.Fprintf(&b, "stream %d %q clock %d\n  packet %s\n  header %s\n  context %s\n", s.ID, s.Name, s.Clock,
			dumpType(s.PacketContext), dumpType(s.EventHeader), dumpType(s.EventContext))
		for _, e := range s.Events {
			fmt.Fprintf(&b, "  event %d %q ns %q level %d %v uri %q attributes %v\n    context %s\n    payload %s\n", e.ID, e.Name,
				e.Namespace, e.LogLevel, e.HasLevel, e.URI, e.Attributes, dumpType(e.Context), dumpType(e.Payload))
		}
	}
	return b.String()
}
