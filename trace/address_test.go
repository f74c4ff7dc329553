package trace

import "testing"

func array(name string, bits int, numbers ...uint64) (Field, Value) {
	v := Value{Kind: Array}
	for _, n := range numbers {
		v.Items = append(v.Items, OfUint(n))
	}
	return Field{Name: name, Type: Type{Kind: Array, Length: len(numbers), Elem: &Type{Kind: Uint, Bits: bits}}}, v
}

func TestAddressesOfKernelEventsAreReadAsAddressesAndOtherArraysAsArrays(t *testing.T) {
	for _, c := range []struct {
		name    string
		bits    int
		numbers []uint64
		want    string
	}{
		{"saddr", 8, []uint64{10, 0, 2, 255}, "10.0.2.255"},
		{"daddr", 8, []uint64{127, 0, 0, 1}, "127.0.0.1"},
		{"saddr", 16, []uint64{0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x12}, "2001:db8::12"},
		{"daddr", 16, []uint64{0, 0, 0, 0, 0, 0xffff, 0x0a00, 0x0201}, "::ffff:10.0.2.1"},
		{"flow_lbl", 8, []uint64{1, 2, 3, 4}, "[1, 2, 3, 4]"},
		{"saddr", 8, []uint64{1, 2, 3}, "[1, 2, 3]"},
		{"saddr", 8, []uint64{1, 2, 3, 256}, "[1, 2, 3, 256]"},
		{"saddr", 32, []uint64{1, 2, 3, 4}, "[1, 2, 3, 4]"},
	} {
		f, v := array(c.name, c.bits, c.numbers...)
		outer := Value{Kind: Struct, Items: []Value{v}}
		if got, want := string(outer.Append(nil, &Type{Kind: Struct, Fields: []Field{f}})), "{"+c.name+": "+c.want+"}"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestTheStateOfAnInterfaceHasItsAddressAsAnAddress(t *testing.T) {
	for _, c := range []struct {
		name string
		bits int
		n    uint64
		want string
	}{
		{"address_ipv4", 32, 0x0a000102, "10.0.1.2"},
		{"address_ipv4", 32, 0, "0.0.0.0"},
		{"address_ipv4", 32, 1 << 32, "4294967296"},
		{"address_ipv4", 64, 5, "5"},
		{"mtu", 32, 5, "5"},
	} {
		f, v := Field{Name: c.name, Type: Type{Kind: Uint, Bits: c.bits}}, OfUint(c.n)
		if got := string(f.Append(nil, &v)); got != c.want {
			t.Errorf("%s of %d bits is %s, want %s", c.name, c.bits, got, c.want)
		}
	}
}
