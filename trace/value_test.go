package trace

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"meridian/internal/testseed"
)

func TestValuesReadAsPeopleWriteThem(t *testing.T) {
	enum := []Label{{"idle", 0, 0}, {"busy", 1, 3}, {"high", -1, -1}, {"also busy", 2, 2}, {"low", -9, -5}}
	integer, text := Type{Kind: Int}, Type{Kind: Text}
	for _, c := range []struct {
		v    Value
		t    Type
		want string
	}{
		{OfBool(true), Type{Kind: Bool}, "true"}, {OfBool(false), Type{Kind: Bool}, "false"},
		{OfInt(-5), integer, "-5"}, {OfInt(0), integer, "0"}, {OfInt(math.MinInt64), integer, "-9223372036854775808"}, {OfUint(math.MaxUint64), Type{Kind: Uint}, "18446744073709551615"},
		{OfInt(-5), Type{Kind: Int, Base: 10}, "-5"}, {OfInt(26), Type{Kind: Int, Base: 16}, "0x1a"}, {OfInt(5), Type{Kind: Int, Base: 2}, "0b101"}, {OfInt(8), Type{Kind: Int, Base: 8}, "010"},
		{OfInt(7), Type{Kind: Int, Base: 7}, "7"},
		// Other bases show a negative number's bits as they stand, in the width of its type.
		{OfInt(-1), Type{Kind: Int, Base: 16, Bits: 8}, "0xff"}, {OfInt(-1), Type{Kind: Int, Base: 16, Bits: 63}, "0x7fffffffffffffff"}, {OfInt(-2), Type{Kind: Int, Base: 2, Bits: 1}, "0b0"},
		{OfInt(-1), Type{Kind: Int, Base: 16, Bits: 64}, "0xffffffffffffffff"}, {OfInt(-1), Type{Kind: Int, Base: 8}, "01777777777777777777777"},
		{OfUint(1 << 40), Type{Kind: Uint, Base: 16, Bits: 8}, "0x10000000000"},
		{OfFloat(0.1), Type{Kind: Float}, "0.1"}, {OfFloat(math.Inf(-1)), Type{Kind: Float}, "-Inf"}, {OfFloat(1e21), Type{Kind: Float}, "1e+21"},
		{OfText("a b\x00\xff"), text, "a b\x00\xff"}, {OfBytes([]byte{0, 0x1f, 0xa0}), Type{Kind: Bytes}, "001fa0"}, {Value{}, integer, ""},
		{OfInt(0), Type{Kind: Int, Labels: enum}, "idle"}, {OfInt(1), Type{Kind: Int, Labels: enum}, "busy"}, {OfInt(2), Type{Kind: Int, Labels: enum}, "busy"}, {OfInt(3), Type{Kind: Int, Labels: enum}, "busy"},
		{OfInt(4), Type{Kind: Int, Labels: enum}, "4"}, {OfInt(-1), Type{Kind: Int, Labels: enum}, "high"}, {OfInt(-9), Type{Kind: Int, Labels: enum}, "low"}, {OfInt(-5), Type{Kind: Int, Labels: enum}, "low"},
		{OfInt(-10), Type{Kind: Int, Labels: enum}, "-10"}, {OfInt(-4), Type{Kind: Int, Labels: enum}, "-4"},
		{OfUint(math.MaxUint64), Type{Kind: Uint, Labels: enum}, "high"}, {OfUint(3), Type{Kind: Uint, Labels: enum}, "busy"}, {OfUint(math.MaxUint64 - 8), Type{Kind: Uint, Labels: enum}, "low"}, {OfUint(9), Type{Kind: Uint, Labels: enum}, "9"},
		{Value{Kind: Struct, Items: []Value{OfInt(1), OfText("x")}}, Type{Kind: Struct, Fields: []Field{{"a", integer}, {"b", text}}}, "{a: 1, b: x}"},
		{Value{Kind: Struct}, Type{Kind: Struct}, "{}"}, {Value{Kind: Struct, Items: []Value{OfInt(1)}}, Type{Kind: Struct, Fields: []Field{{"a", integer}, {"b", text}}}, "{a: 1}"},
		{Value{Kind: Array, Items: []Value{OfInt(1), OfInt(2), OfInt(-3)}}, Type{Kind: Array, Elem: &integer}, "[1, 2, -3]"}, {Value{Kind: Array}, Type{Kind: Array, Elem: &integer}, "[]"},
		{Value{Kind: Variant, Bits: 1, Items: []Value{OfText("x")}}, Type{Kind: Variant, Fields: []Field{{"a", integer}, {"b", text}}}, "x"},
		{Value{Kind: Variant, Bits: 2, Items: []Value{OfText("x")}}, Type{Kind: Variant, Fields: []Field{{"a", integer}, {"b", text}}}, ""},
		{Value{Kind: Variant, Bits: 0}, Type{Kind: Variant, Fields: []Field{{"a", integer}}}, ""},
		{Value{Kind: Array, Items: []Value{{Kind: Array, Items: []Value{OfInt(1)}}, {Kind: Array}}}, Type{Kind: Array, Elem: &Type{Kind: Array, Elem: &integer}}, "[[1], []]"},
	} {
		if got := string(c.v.Append([]byte("> "), &c.t)); got != "> "+c.want {
			t.Errorf("%v of base %d: %q, want %q", c.v, c.t.Base, got, c.want)
		}
	}
}

func TestNumbersAreThoseOfTheirKind(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want float64
		ok   bool
	}{{OfBool(true), 1, true}, {OfBool(false), 0, true}, {OfInt(-3), -3, true}, {OfUint(1 << 63), 1 << 63, true}, {OfFloat(-0.5), -0.5, true}, {OfText("7"), 0, false}, {Value{}, 0, false}, {OfBytes([]byte{7}), 0, false}, {Value{Kind: Array}, 0, false}} {
		if got, ok := c.v.Number(); got != c.want || ok != c.ok {
			t.Errorf("%v: %g %v", c.v, got, ok)
		}
	}
	v := OfInt(-3)
	if u := OfBool(true); v.Int() != -3 || v.Uint() != math.MaxUint64-2 || !v.Bool() || !u.Bool() || u.Int() != 1 {
		t.Error("a number is not what it was made of")
	}
}

func TestAClonedValueSharesNothing(t *testing.T) {
	v := Value{Kind: Struct, Items: []Value{OfText("abc"), {Kind: Array, Items: []Value{OfBytes([]byte{1, 2})}}, OfInt(5), {Kind: Text, Data: []byte{}}, {Kind: Array, Items: []Value{}}}}
	c := v.Clone()
	if !reflect.DeepEqual(c, v) {
		t.Fatalf("%v, want %v", c, v)
	}
	v.Items[0].Data[0], v.Items[1].Items[0].Data[1], v.Items[2].Bits = 'z', 9, 6
	if string(c.Items[0].Data) != "abc" || c.Items[1].Items[0].Data[1] != 2 || c.Items[2].Int() != 5 {
		t.Errorf("changed with the original: %v", c)
	}
}

func TestKindsHaveNames(t *testing.T) {
	seen := make(map[string]bool)
	for k := range Variant + 1 {
		seen[k.String()] = true
	}
	for k := range StreamKinds {
		seen[k.String()] = true
	}
	if len(seen) != int(Variant+1)+int(StreamKinds) || seen["unknown"] || seen[""] {
		t.Errorf("%v", seen)
	}
	if (Variant+1).String() != "unknown" || StreamKinds.String() != "unknown" {
		t.Error("a kind that is none has a name")
	}
}

// FuzzValueAppend lets values and types disagree in any way: what cannot be read is left out.
func FuzzValueAppend(f *testing.F) {
	f.Add([]byte{1, 7, 2, 8, 9, 3})
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		next := func() byte {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return b
		}
		var typeOf func(depth int) Type
		typeOf = func(depth int) Type {
			k := Type{Kind: ValueKind(next() % 12), Bits: int(int8(next())), Base: int(next() % 20)}
			if next()&1 > 0 {
				k.Labels = []Label{{"label", int64(int8(next())), int64(int8(next()))}}
			}
			for range int(next()%3) * min(depth, 1) {
				k.Fields = append(k.Fields, Field{"f", typeOf(depth - 1)})
			}
			if next()&1 > 0 && depth > 0 {
				elem := typeOf(depth - 1)
				k.Elem = &elem
			}
			return k
		}
		var valueOf func(depth int) Value
		valueOf = func(depth int) Value {
			v := Value{Kind: ValueKind(next() % 12), Bits: uint64(int64(int8(next()))), Data: slices.Repeat([]byte{next()}, int(next()%4))}
			for range int(next()%3) * min(depth, 1) {
				v.Items = append(v.Items, valueOf(depth-1))
			}
			return v
		}
		k, v := typeOf(3), valueOf(3)
		text := v.Append([]byte("> "), &k)
		c := v.Clone()
		if again := c.Append([]byte("> "), &k); string(text) != string(again) || string(text[:2]) != "> " {
			t.Fatalf("%q, and of a clone %q", text, again)
		}
		v.Number()
		k.Label(&v)
	})
}
