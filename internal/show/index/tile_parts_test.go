package index

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"meridian/internal/load"
)

// TestPartsOfATileAreTheTile makes tiles in parts and in turn, also tiles that are too small for all lanes.
func TestPartsOfATileAreTheTile(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	o := load.Options{Events: 40_000, Hosts: 2, Messages: 4_000}
	schema := load.Schema(o)
	b, err := NewBuilder(schema, Options{})
	if err == nil {
		err = errors.Join(load.Write(o, schema, b), b.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.Index()
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	inParts, inTurn := 0, 0
	for group, lanes := range x.groups {
		for level := x.about.Top; level >= 0; level-- {
			for _, i := range []int64{0, x.about.Span >> (level + tileBits) / 2} {
				for _, most := range []int{mostTile, 20_000, 500} {
					of := func(fill func(t *tiler) (bool, error)) (*tiler, bool) {
						m := &tiler{lanesOf: fileLanes{x}, level: level, from: i << (level + tileBits)}
						m.to = m.from + tileBins<<level
						filled, err := fill(m)
						if err != nil {
							t.Fatal(err)
						}
						return m, filled
					}
					parts, filled := of(func(m *tiler) (bool, error) { return m.fillInParts(lanes, most) })
					turn, all := of(func(m *tiler) (bool, error) {
						n, err := m.fillInTurn(lanes, most)
						return n == len(lanes), err
					})
					if !filled {
						inTurn++
						if all && len(lanes) >= 2*leastPart {
							t.Errorf("tile %d.%d.%d of %d bytes is not made in parts", group, level, i, most)
						}
						continue
					}
					inParts++
					if !all || !bytes.Equal(parts.out, turn.out) || parts.lanes != turn.lanes || parts.number != turn.number || parts.final != turn.final {
						t.Errorf("tile %d.%d.%d of %d bytes is another one in parts", group, level, i, most)
					}
				}
			}
		}
	}
	if inParts == 0 || inTurn == 0 {
		t.Errorf("%d tiles in parts, %d not", inParts, inTurn)
	}
}
