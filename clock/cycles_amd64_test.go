package clock

import "testing"

func TestInvariantCounterIsABitOfTheLeafForPower(t *testing.T) {
	for _, test := range []struct {
		most, power uint32
		want        bool
	}{
		{0x8000_0008, 1 << 8, true}, {0x8000_0007, 1 << 8, true}, {0x8000_0006, 1 << 8, false}, {0, 1 << 8, false},
		{0x8000_0008, 0, false}, {0x8000_0008, ^uint32(1 << 8), false}, {0x8000_0008, ^uint32(0), true},
	} {
		got := announcesInvariant(func(leaf, part uint32) (a, b, c, d uint32) {
			switch {
			case leaf == 0x8000_0000 && part == 0:
				return test.most, 0, 0, 0
			case leaf == 0x8000_0007 && part == 0:
				return 0, 0, 0, test.power
			}
			t.Errorf("leaf %#x, part %d", leaf, part)
			return 0, 0, 0, 0
		})
		if got != test.want {
			t.Errorf("leaves up to %#x, power %#x: %v", test.most, test.power, got)
		}
	}
}
