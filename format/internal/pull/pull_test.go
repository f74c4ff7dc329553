package pull

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

// tree rebuilds what encoding/json would make of a value.
func tree(raw []byte) (any, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, ErrSyntax
	}
	switch raw[0] {
	case '{':
		m := map[string]any{}
		var inner error
		err := Members(raw, func(name, value []byte) bool {
			var v any
			v, inner = tree(value)
			m[string(name)] = v
			return inner == nil
		})
		if err == nil {
			err = inner
		}
		return m, err
	case '[':
		l := []any{}
		var inner error
		err := Elements(raw, func(value []byte) bool {
			var v any
			v, inner = tree(value)
			l = append(l, v)
			return inner == nil
		})
		if err == nil {
			err = inner
		}
		return l, err
	case '"':
		s, ok := Text(nil, raw)
		if !ok {
			return nil, ErrSyntax
		}
		return strings.ToValidUTF8(string(s), "\ufffd"), nil
	}
	var v any
	return v, json.Unmarshal(raw, &v)
}

func TestPartsAreWhatEncodingJSONSays(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, ` { "a" : 1 , "b\n" : [ true , null , "x\u00e9\ud83d\ude00\"\\\/" ] } `, `{"a":{"b":{"c":[[],[{}]]}}}`,
		`"plain"`, `-1.5e3`, `[1,2,3]`, `["\ud800","}]{["]`,
	} {
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if got, err := tree([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v %v, want %v", text, got, err, want)
		}
		// One byte at a time and the value after it.
		r := NewReader(iotest.OneByteReader(strings.NewReader(text + " 7")))
		raw, err := r.Value(1 << 10)
		if err != nil || string(raw) != strings.TrimSpace(text) {
			t.Errorf("%s: value %s, %v", text, raw, err)
		}
		if raw, err = r.Value(9); string(raw) != "7" || err != nil {
			t.Errorf("%s: then %s, %v", text, raw, err)
		}
		if _, err = r.Value(9); err != io.EOF || r.Err() != nil {
			t.Errorf("%s: then %v, %v", text, err, r.Err())
		}
	}
}

func TestBrokenObjectsAreNone(t *testing.T) {
	for _, text := range []string{``, `x`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":"x}`, `{"a":1`} {
		if err := Members([]byte(text), func(_, _ []byte) bool { return true }); err != ErrSyntax {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{``, `[`, `[1`, `[1,]`, `[1 2]`, `[,]`, `{}`} {
		if err := Elements([]byte(text), func(_ []byte) bool { return true }); err != ErrSyntax {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLongValuesAreSkippedWithoutBeingHeld(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", 3<<20) + `"}`
	r := NewReader(strings.NewReader(long + long + `[1]`))
	if _, err := r.Value(1 << 20); err != ErrLong {
		t.Fatal(err)
	}
	if err := r.Skip(); err != nil {
		t.Fatal(err)
	}
	if raw, err := r.Value(10); string(raw) != "[1]" || err != nil {
		t.Errorf("%s, %v", raw, err)
	}
	if cap(r.buf) > 4<<20 {
		t.Errorf("the buffer grew to %d", cap(r.buf))
	}
	if want := int64(2*len(long) + 3); r.Offset() != want {
		t.Errorf("at %d, want %d", r.Offset(), want)
	}
}

func TestTheNextSoundElementIsFoundBehindABrokenOne(t *testing.T) {
	r := NewReader(strings.NewReader(`{"a":"lost quote}, {"b":"x"},{"c":2}`))
	raw, err := r.Value(1 << 10)
	if err != nil && err != io.ErrUnexpectedEOF {
		t.Fatal(err)
	}
	if Members(raw, func(_, _ []byte) bool { return true }) == nil {
		t.Fatalf("%s is sound", raw)
	}
	if n, ok := r.Resume(); !ok || n != 19 {
		t.Fatal(n, ok)
	}
	if raw, err = r.Value(1 << 10); string(raw) != `{"b":"x"}` {
		t.Errorf("%s, %v", raw, err)
	}
}

// The truth is a rational, rounded half away from zero.
func TestDecimalsAreExact(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,16}(\.[0-9]{1,9})?([eE][+-]?[0-9])?`).Draw(t, "text")
		shift := rapid.SampledFrom([]int{0, 3, 9}).Draw(t, "shift")
		x, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		x.Mul(x, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil)))
		half := big.NewRat(1, 2)
		if x.Sign() < 0 {
			half.Neg(half)
		}
		x.Add(x, half)
		want := new(big.Int).Quo(x.Num(), x.Denom())
		limit := big.NewInt(1 << 62)
		got, ok := Decimal[int64]([]byte(text), shift)
		if in := new(big.Int).Abs(want).Cmp(limit) < 0; ok != in || ok && got != want.Int64() {
			t.Fatalf("%s shifted by %d: got %d %v, want %v", text, shift, got, ok, want)
		}
		if again, ok2 := Decimal[int64]([]byte(fmt.Sprintf("%q", text)), shift); again != got || ok2 != ok {
			t.Fatal("not the same as text")
		}
	})
	for _, text := range []string{"", "-", ".", "1x", "e5", "1e", "null", "0x10", `"`, "1e99999999999", "1e300", "NaN"} {
		if v, ok := Decimal[int64]([]byte(text), 3); ok {
			t.Errorf("%q is %d", text, v)
		}
	}
	if v, ok := Decimal[int64]([]byte("1743521598000123.457"), 3); !ok || v != 1743521598000123457 {
		t.Errorf("%d, %v", v, ok)
	}
}

func TestOutlinesOfCutTexts(t *testing.T) {
	text := `{"data":[{"traceID":"x","spans":[{"spanID":"y"}]}],"total":0}`
	if got := Outline([]byte(text), 5); !got[".data[].spans[].spanID"] || !got[".total"] || len(got) != 7 {
		t.Errorf("%v", got)
	}
	for i := range text {
		Outline([]byte(text)[:i], 4)
	}
	if got := Outline([]byte(text)[:30], 3); !got[".data[].spans"] && !got[".data[].traceID"] {
		t.Errorf("%v", got)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":"\u00e9"}],"c":null}{"x":"`))
	f.Add([]byte(`{"a":"}, {"b":"x"},{"c":2}`))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		Outline(data, 4)
		r := NewReader(bytes.NewReader(data))
		for range len(data) + 1 {
			raw, err := r.Value(64)
			if err == nil {
				// Valid JSON may hold numbers beyond float64, which encoding/json refuses, and so does tree, by it.
				var want any
				if utf8.Valid(raw) && json.Unmarshal(raw, &want) == nil {
					if got, err := tree(raw); err != nil || !reflect.DeepEqual(got, want) {
						t.Fatalf("%s: %v, %v", raw, got, err)
					}
				} else {
					tree(raw)
				}
				r.Resume()
				continue
			}
			if err == io.EOF {
				return
			}
			if _, ok := r.Resume(); !ok && err == ErrSyntax {
				r.Take()
			}
		}
	})
}
