package index

import (
	"flag"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

// TestSettledTilesStayUnlessTheyAreSaidToChange compares the tiles of two views, between which events came: those that were
// not open, and do not end behind what the second says has changed, are to be the same.
func TestSettledTilesStayUnlessTheyAreSaidToChange(t *testing.T) {
	dir := t.TempDir()
	n, settled, changed := 0, 0, 0
	testseed.Check(t, func(t *rapid.T) {
		x := drawTimeline(t, 1500)
		n++
		schema := *x.schema
		l, err := NewLive(filepath.Join(dir, strconv.Itoa(n)), &schema, Options{risky: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		look := rapid.IntRange(0, len(x.records)).Draw(t, "look")
		for i := range x.records[:look] {
			if err := l.Write(&x.records[i]); err != nil {
				t.Fatal(err)
			}
		}
		before := l.View()
		defer before.Close()
		if rapid.Bool().Draw(t, "seal") {
			if err := l.Seal(nil); err != nil {
				t.Fatal(err)
			}
		}
		last := rapid.IntRange(look, len(x.records)).Draw(t, "last")
		for i := range x.records[look:last] {
			if err := l.Write(&x.records[look+i]); err != nil {
				t.Fatal(err)
			}
			if i%100 == 99 {
				l.View().Close() // others look as well
			}
		}
		after := l.View()
		defer after.Close()
		from := after.Growth(before.Growth(0).Version).Changed
		hosts, top := before.Reach()
		for level := top; level >= 0; level-- {
			end := before.Growth(0).Span >> (level + tileBits)
			for _, i := range []int64{0, end / 2, end - 1, end, rapid.Int64Range(0, end).Draw(t, "tile")} {
				for group := 0; group <= hosts && i >= 0; group++ {
					d := decodeTile(t, before, group, level, i)
					if d.Open {
						continue
					}
					if from >= 0 && (i+1)<<(level+tileBits) > from {
						changed++
						continue
					}
					settled++
					now := decodeTile(t, after, group, level, i)
					if now.Open || !reflect.DeepEqual(d, now) {
						t.Fatalf("tile %d.%d.%d was settled, changed is %d, and it was\n%+v\nand is\n%+v", group, level, i, from, d, now)
					}
				}
			}
		}
	})
	// Of few timelines none may have a late event where it changes a settled tile.
	few := testing.Short() || flag.Lookup("rapid.checks").Value.String() != "100"
	if settled == 0 || changed == 0 && !few {
		t.Errorf("%d tiles were settled, %d were said to have changed: nothing was tried", settled, changed)
	}
}

// decodeTile leaves out which class is the most frequent of a bin: of nearly equal ones it may be another after a seal.
func decodeTile(t *rapid.T, v *View, group, level int, i int64) *Decoded {
	b, err := v.Tile(group, level, i)
	if err != nil {
		t.Fatal(err)
	}
	d, err := DecodeTile(b, level, i)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range d.Lanes {
		for k := range l.Bins {
			l.Bins[k].Class = 0
		}
	}
	return d
}
