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
	whole, some, none := 0, 0, 0 // tiles of which all lanes are made in parts, the first, or none
	for group, lanes := range x.groups {
		for level := x.about.Top; level >= 0; level-- {
			for _, i := range []int64{0, x.about.Span >> (level + tileBits) / 2} {
				for _, most := range []int{mostTile, 20_000, 500} {
					of := func(fill func(t *tiler) (int, error)) (*tiler, int) {
						m := &tiler{lanesOf: fileLanes{x}, level: level, from: i << (level + tileBits)}
						m.to = m.from + tileBins<<level
						m.begin()
						n, err := fill(m)
						if err != nil {
							t.Fatal(err)
						}
						return m, n
					}
					_, inParts := of(func(m *tiler) (int, error) { return m.fillInParts(lanes, most), nil })
					parts, n := of(func(m *tiler) (int, error) { return m.fill(lanes, most) })
					turn, all := of(func(m *tiler) (int, error) { return m.fillInTurn(lanes, most) })
					switch {
					case inParts == len(lanes):
						whole++
					case all == len(lanes) && len(lanes) >= 2*leastPart:
						t.Errorf("tile %d.%d.%d of %d bytes is not made in parts", group, level, i, most)
					case inParts > 0:
						some++
					default:
						none++
					}
					if n != all || !bytes.Equal(parts.out, turn.out) || parts.lanes != turn.lanes || parts.number != turn.number || parts.final != turn.final {
						t.Errorf("tile %d.%d.%d of %d bytes is another one in parts", group, level, i, most)
					}
				}
			}
		}
	}
	if whole == 0 || some == 0 || none == 0 {
		t.Errorf("%d tiles in parts, %d partly, %d not", whole, some, none)
	}
}
