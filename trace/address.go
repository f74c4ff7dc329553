package trace

import (
	"encoding/binary"
	"net/netip"
)

// Address returns the IP address that a value of the field holds. Kernel events of LTTng and of our recorder have addresses as
// arrays called saddr and daddr: four bytes, or eight numbers of 16 bits, the first of the address first. States of interfaces
// have them as an integer of 32 bits called address_ipv4, whose highest byte is the first of the address; 0.0.0.0 stands
// for none. Nothing else is taken for an address.
func (f *Field) Address(v *Value) (a netip.Addr, ok bool) {
	switch f.Name {
	case "saddr", "daddr":
		if v.Kind == Array && f.Type.Elem != nil && f.Type.Elem.Kind == Uint {
			return addressOf(v.Items, f.Type.Elem.Bits)
		}
	case "address_ipv4":
		if v.Kind == Uint && f.Type.Bits == 32 && v.Bits>>32 == 0 {
			return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(v.Bits)))), true
		}
	}
	return a, false
}

// addressOf reads an address from numbers of so many bits.
func addressOf(numbers []Value, bits int) (a netip.Addr, ok bool) {
	if !(len(numbers) == 4 && bits == 8) && !(len(numbers) == 8 && bits == 16) {
		return a, false
	}
	var b [16]byte
	for i := range numbers {
		x := &numbers[i]
		switch {
		case x.Kind != Uint || x.Bits>>bits != 0:
			return a, false
		case bits == 8:
			b[i] = byte(x.Bits)
		default:
			binary.BigEndian.PutUint16(b[2*i:], uint16(x.Bits))
		}
	}
	if bits == 8 {
		return netip.AddrFrom4([4]byte(b[:4])), true
	}
	return netip.AddrFrom16(b), true
}

// Append appends a value of the field as [Value.Append] does, and as an address if it is one.
func (f *Field) Append(b []byte, v *Value) []byte {
	if a, ok := f.Address(v); ok {
		return a.AppendTo(b)
	}
	return v.Append(b, &f.Type)
}
