package text

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

func TestStampsAreExactToTheNanosecond(t *testing.T) {
	for _, c := range []struct {
		text       string
		down, up   clock.HostTime
		whyNot     error
		notInexact bool
	}{
		{"0", 0, 0, nil, true},
		{"-0", 0, 0, nil, true},
		{"1", 1e9, 1e9, nil, true},
		{"1.", 1e9, 1e9, nil, true},
		{"+1.5", 1500000000, 1500000000, nil, true},
		{".5", 500000000, 500000000, nil, true},
		{"-.000000001", -1, -1, nil, true},
		{"1700000000.123456789", 1700000000123456789, 1700000000123456789, nil, true},
		{"0001700000000.123456789000", 1700000000123456789, 1700000000123456789, nil, true},
		{"1.7e9", 1700000000e9, 1700000000e9, nil, true},
		{"1.700000000123456789E+09", 1700000000123456789, 1700000000123456789, nil, true},
		{"17e-1", 1700000000, 1700000000, nil, true},
		{"0e999999999999999999999", 0, 0, nil, true},
		{"0.0000000001", 0, 1, nil, false},
		{"-0.0000000001", -1, 0, nil, false},
		{"1.2345678901", 1234567890, 1234567891, nil, false},
		{"-1.2345678901", -1234567891, -1234567890, nil, false},
		{"1e-99999999999999", 0, 1, nil, false},
		{"4611686018.427387903", clock.Limit - 1, clock.Limit - 1, nil, true},
		{"-4611686018.427387903", 1 - clock.Limit, 1 - clock.Limit, nil, true},
		{"-4611686018.427387904", 0, 0, ErrRange, false},
		{"4611686018.427387904", 0, 0, ErrRange, false},
		{"1e99999999999999", 0, 0, ErrRange, false},
		{"99999999999999999999", 0, 0, ErrRange, false},
		{strings.Repeat("9", 5000), 0, 0, ErrRange, false},
		{strings.Repeat("0", 5000) + "7", 7e9, 7e9, nil, true},
		{"", 0, 0, ErrNumber, false},
		{".", 0, 0, ErrNumber, false},
		{"-", 0, 0, ErrNumber, false},
		{"1e", 0, 0, ErrNumber, false},
		{"1e+", 0, 0, ErrNumber, false},
		{"1.2.3", 0, 0, ErrNumber, false},
		{"1,5", 0, 0, ErrNumber, false},
		{"0x10", 0, 0, ErrNumber, false},
		{"nan", 0, 0, ErrNumber, false},
		{"inf", 0, 0, ErrNumber, false},
		{"1e5x", 0, 0, ErrNumber, false},
		{"--1", 0, 0, ErrNumber, false},
	} {
		down, exact, err := Seconds([]byte(c.text), clock.Down)
		up, _, _ := Seconds([]byte(c.text), clock.Up)
		if err != c.whyNot || down != c.down || up != c.up || exact != c.notInexact {
			t.Errorf("%.40q: got %d..%d exact %v, %v; want %d..%d exact %v, %v",
				c.text, down, up, exact, err, c.down, c.up, c.notInexact, c.whyNot)
		}
	}
}

// The truth is arithmetic of rationals: the text's value in nanoseconds, floor and ceiling.
func TestStampsRoundAsRationalsDo(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[+-]?([0-9]{1,12}(\.[0-9]{0,14})?|\.[0-9]{1,14})([eE][+-]?[0-9]{1,2})?`).Draw(t, "text")
		value, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no rational", text)
		}
		value.Mul(value, big.NewRat(1e9, 1))
		floor := new(big.Int).Div(value.Num(), value.Denom()) // Euclidean: towards minus infinity for a positive divisor
		ceil := new(big.Int).Set(floor)
		if !value.IsInt() {
			ceil.Add(ceil, big.NewInt(1))
		}
		for r, want := range map[clock.Rounding]*big.Int{clock.Down: floor, clock.Up: ceil} {
			got, exact, err := Seconds([]byte(text), r)
			if inRange := want.IsInt64() && clock.Valid(clock.HostTime(want.Int64())); inRange != (err == nil) {
				t.Fatalf("%q: %v, but it is %v ns", text, err, want)
			}
			if err == nil && (got != clock.HostTime(want.Int64()) || exact != value.IsInt()) {
				t.Fatalf("%q: got %d (exact %v), want %v", text, got, exact, want)
			}
		}
	})
}
