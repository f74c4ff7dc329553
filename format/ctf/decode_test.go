package ctf

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// bit returns a bit of data in the order in which CTF counts them.
func bit(data []byte, at uint64, big bool) uint64 {
	if big {
		return uint64(data[at/8]) >> (7 - at%8) & 1
	}
	return uint64(data[at/8]) >> (at % 8) & 1
}

func TestIntegersAreReadAsTheirBitsStand(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 9, 24).Draw(t, "data")
		width := rapid.IntRange(1, 64).Draw(t, "width")
		pos := uint64(rapid.IntRange(0, len(data)*8-width).Draw(t, "pos"))
		var low, high uint64 // the first bit as the lowest, and as the highest
		for i := range uint64(width) {
			low |= bit(data, pos+i, false) << i
			high = high<<1 | bit(data, pos+i, true)
		}
		if got := loadBits(data, pos, uint8(width), false); got != low {
			t.Fatalf("little-endian: %#x, want %#x", got, low)
		}
		if got := loadBits(data, pos, uint8(width), true); got != high {
			t.Fatalf("big-endian: %#x, want %#x", got, high)
		}
		if got := loadReversed(data, pos, uint8(width), false); got != bits.Reverse64(high)>>(64-width) {
			t.Fatalf("little-endian, reversed: %#x", got)
		}
		if got := loadReversed(data, pos, uint8(width), true); got != bits.Reverse64(low)>>(64-width) {
			t.Fatalf("big-endian, reversed: %#x", got)
		}
	})
}

func TestIntegersOfVariableLengthAreLEB128(t *testing.T) {
	for _, test := range []struct {
		data   []byte
		signed bool
		want   uint64
		end    uint64
		ok     bool
	}{
		{[]byte{0}, false, 0, 1, true},
		{[]byte{0xe5, 0x8e, 0x26}, false, 624485, 3, true},
		{[]byte{0xc0, 0xbb, 0x78}, true, math.MaxUint64 - 123456 + 1, 3, true},
		{[]byte{0x7f}, true, math.MaxUint64, 1, true},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, false, math.MaxUint64, 10, true},
		{[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, true, 1 << 63, 10, true},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, false, 0, 10, false},
		{[]byte{0x80, 0x80}, false, 0, 2, false},
		{nil, false, 0, 0, false},
	} {
		got, end, ok := loadVar(test.data, 0, test.signed)
		if ok != test.ok || end != test.end || ok && got != test.want {
			t.Errorf("% x: %d, %d, %v", test.data, int64(got), end, ok)
		}
	}
}

func TestFloatsOfAllSizes(t *testing.T) {
	for _, test := range []struct {
		name               string
		data               []byte
		size, exponent, mm int
		big                bool
		want               float64
	}{
		{"half 1.5", []byte{0x00, 0x3e}, 16, 5, 11, false, 1.5},
		{"half -2, big-endian", []byte{0xc0, 0x00}, 16, 5, 11, true, -2},
		{"half smallest", []byte{0x01, 0x00}, 16, 5, 11, false, math.Ldexp(1, -24)},
		{"half infinite", []byte{0x00, 0x7c}, 16, 5, 11, false, math.Inf(1)},
		{"single", []byte{0xc3, 0xf5, 0x48, 0x40}, 32, 8, 24, false, float64(float32(3.14))},
		{"double, big-endian", []byte{0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18}, 64, 11, 53, true, math.Pi},
		{"x87 extended 1.5", []byte{0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x3f}, 80, 15, 65, false, 1.5},
		{"quadruple -1.25", []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0xff, 0xbf}, 128, 15, 113, false, -1.25},
		{"bfloat 1", []byte{0x80, 0x3f}, 16, 8, 8, false, 1},
	} {
		got := loadFloat(test.data, 0, &Type{Size: test.size, Exponent: test.exponent, Mantissa: test.mm, BigEndian: test.big})
		if got != test.want {
			t.Errorf("%s: %g, want %g", test.name, got, test.want)
		}
	}
}

// exact is the time of a stamp by rational numbers.
func exact(c *Clock, cycles uint64) clock.HostTime {
	sum := new(big.Int).Add(big.NewInt(c.Offset), new(big.Int).SetUint64(cycles))
	sum.Mul(sum, big.NewInt(second))
	q := new(big.Int)
	q.DivMod(sum, new(big.Int).SetUint64(c.Frequency), new(big.Int)) // rounds down, as the divisor is positive
	q.Add(q, new(big.Int).Mul(big.NewInt(c.OffsetSeconds), big.NewInt(second)))
	limit := big.NewInt(clock.Limit - 1)
	if q.Cmp(limit) > 0 {
		return clock.Limit - 1
	}
	if q.Cmp(limit.Neg(limit)) < 0 {
		return 1 - clock.Limit
	}
	return clock.HostTime(q.Int64())
}

func TestStampsBecomeTimesExactly(t *testing.T) {
	for _, c := range []Clock{
		{Frequency: second, Offset: 1_700_000_000_123_456_789},
		{Frequency: second, OffsetSeconds: -5, Offset: -7},
		{Frequency: 2_800_130_166, OffsetSeconds: 1_651_437_635, Offset: 370_127_861},
		{Frequency: 3, Offset: -1},
		{Frequency: 1 << 62, OffsetSeconds: 12},
		{Frequency: 1, Offset: math.MinInt64},
		{Frequency: 32768, OffsetSeconds: math.MaxInt64},
	} {
		m := &Metadata{Clocks: []Clock{c}}
		ticks := newCycleClock(m, 0)
		random := rand.New(rand.NewPCG(7, 7))
		at := uint64(0)
		for range 20000 {
			switch random.IntN(20) {
			case 0:
				at = random.Uint64() >> random.IntN(64)
			case 1:
				at -= random.Uint64N(1000)
			default:
				at += random.Uint64N(1 << random.IntN(40))
			}
			if got, want := ticks.at(at), exact(&c, at); got != want {
				t.Fatalf("%+v: %d cycles are at %d, want %d", c, at, got, want)
			}
		}
	}
}

func TestNarrowStampsAreExtendedFromTheOneBefore(t *testing.T) {
	for _, test := range []struct {
		what                  string
		before, v             uint64
		width                 uint8
		begin, end, extension uint64
	}{
		{"further on", 0x7000001, 0x5, 24, 0, 0, 0x8000005},
		{"the same", 0x7000001, 0x1, 24, 0, 0, 0x7000001},
		{"a wrap", 0x7ffffff, 0x2, 27, 0, 0, 0x8000002},
		{"a step back in a packet that ends before a wrap", 1000, 990, 27, 900, 2000, 990},
		{"a wrap in a packet that ends behind it", 1000, 990, 27, 900, 1 << 28, 990 + 1<<27},
		{"all bits", 1000, 990, 64, 0, 0, 990},
	} {
		if test.what == "further on" {
			test.v = 0x1000005 & (1<<24 - 1)
			test.extension = 0x7000005
		}
		if got := extendStamp(test.before, test.v, test.width, test.begin, test.end); got != test.extension {
			t.Errorf("%s: %#x, want %#x", test.what, got, test.extension)
		}
	}
}

func TestCountersAreReadAcrossTheirWrap(t *testing.T) {
	for _, test := range []struct {
		before, now uint64
		width       uint8
		want        int64
	}{
		{5, 9, 64, 4}, {math.MaxUint64, 1, 64, 2}, {math.MaxUint32, 3, 32, 4}, {9, 5, 32, -4}, {250, 4, 8, 10}, {7, 7, 16, 0},
	} {
		if got := counterIncrease(test.before, test.now, test.width); got != test.want {
			t.Errorf("from %d to %d of %d bits: %d, want %d", test.before, test.now, test.width, got, test.want)
		}
	}
}

func TestLongArraysAreCutAndSaidSo(t *testing.T) {
	const text = `/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; }; stream { };
event { name = "bits"; fields := struct { integer { size = 32; align = 8; } n; integer { size = 1; align = 1; } bits[n];
	integer { size = 8; align = 8; } last; }; };`
	n := 3 << 20
	data := make([]byte, 4+n/8+1)
	data[0], data[1], data[2] = byte(n), byte(n>>8), byte(n>>16)
	data[len(data)-1] = 77
	var w trace.Warnings
	tr := openTrace(t, &w, text, data)
	s := tr.Events()
	var e trace.Event
	if err := s.Next(&e); err != nil {
		t.Fatal(err)
	}
	v := s.Values()
	if len(v[1].Items) == 0 || len(v[1].Items) >= n || v[2].Uint() != 77 {
		t.Errorf("%d of %d bits, then %d", len(v[1].Items), n, v[2].Uint())
	}
	s.Close()
	if l := w.Lines(); len(l) == 0 {
		t.Error("nothing was said")
	}
}
