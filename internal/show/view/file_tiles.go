package view

import (
	"cmp"
	"fmt"
	"slices"

	"meridian/internal/show"
	"meridian/internal/show/index"
)

const (
	maxViolations = 2000   // in one file
	maxRaw        = 300    // messages in one file that are inverted in raw time
	maxTiles      = 30_000 // each costs the page time, however small
	chunkBytes    = 256 << 10
	maxDetailed   = 48 // violations around which finer tiles are written
)

// violations writes the list of violations and returns it, worst first.
func (f *file) violations() ([]index.Violation, error) {
	all := f.data.Violations()
	worst := slices.Clone(all.List)
	slices.SortStableFunc(worst, func(a, b index.Violation) int {
		return cmp.Or(cmp.Compare(b.Verdict, a.Verdict), cmp.Compare(a.Delay, b.Delay))
	})
	worst = worst[:min(len(worst), maxViolations)]
	total := int64(0)
	for _, n := range all.Counts[1:] {
		total += n
	}
	if n := int64(len(worst)); n < total {
		f.missing("The list of violations has the worst %s of %s%s", show.Count(n), show.Count(total), moreIn)
	}
	inFile := index.Violations{Counts: all.Counts, List: slices.Clone(worst), Raw: fewer(all.Raw)}
	slices.SortStableFunc(inFile.List, func(a, b index.Violation) int { return cmp.Compare(a.Sent, b.Sent) })
	return worst, f.json("violations", inFile)
}

// fewer returns the worst of the messages that are inverted in raw time: the page says of how many.
func fewer(all *index.Raw) *index.Raw {
	if all == nil || len(all.List) <= maxRaw {
		return all
	}
	worst := slices.Clone(all.List)
	slices.SortStableFunc(worst, func(a, b index.RawInversion) int { return cmp.Compare(a.Delay, b.Delay) })
	worst = worst[:maxRaw]
	slices.SortStableFunc(worst, func(a, b index.RawInversion) int { return cmp.Compare(a.Sent, b.Sent) })
	return &index.Raw{Inverted: all.Inverted, List: worst}
}

// tiles writes tiles level by level from the top down, until all are final or half of the remaining budget is used. Then it
// writes those around the worst violations and at the beginning, for half of the rest.
//
//	top      [       non-final        ]
//	         [ non-final ][   final   ]     no tiles are needed below a final one
//	         [ fin ][ nf ]
//	                 .. and beyond the budget, paths down to a few instants
func (f *file) tiles(worst []index.Violation) error {
	t := &tiling{file: f, final: make(map[key]bool), most: f.left - f.left/2, limit: maxTiles}
	var level []key
	for g := range len(f.about.Hosts) + 1 {
		level = append(level, key{g, f.about.Top, 0})
	}
	floor := f.about.Top
	for len(level) > 0 {
		var next []key
		for _, k := range level {
			final, err := t.add(k)
			if err != nil {
				return err
			}
			if t.full {
				break
			}
			if !final && k.level > 0 {
				next = append(next, k.child(0), k.child(1))
			}
		}
		if err := t.flush(); err != nil { // so the first chunk is the first level, and chunks end with a level
			return err
		}
		if t.full {
			break
		}
		floor, level = level[0].level, next
	}
	if !t.full {
		return nil
	}
	t.full, t.most, t.limit = false, f.left/2, maxTiles+maxTiles/4
	paths := min(len(worst), maxDetailed)
	for i := -1; i < paths && !t.full; i++ {
		at := int64(0)
		if i >= 0 {
			at = max(0, worst[i].Sent)
		}
		if err := t.path(at); err != nil {
			return err
		}
	}
	where := "at the beginning"
	if paths > 0 {
		where += " and around the worst violations"
	}
	f.missing("Where events are dense the finest resolution is %s, except in intervals %s%s", show.Duration(1<<floor), where, moreIn)
	return t.flush()
}

// tiling gathers tiles into chunks.
type tiling struct {
	*file
	final map[key]bool // of the tiles added
	keys  []key
	bytes []byte
	most  int64 // bytes left for tiles
	limit int   // most tiles
	full  bool
}

// add adds a tile unless it was added before, and reports whether it is final.
func (t *tiling) add(k key) (final bool, err error) {
	if final, known := t.final[k]; known {
		return final, nil
	}
	tile, err := t.data.Tile(k.group, k.level, k.number)
	if err != nil {
		return false, err
	}
	final = len(tile) == 0 || tile[0]&1 != 0
	t.final[k] = final
	t.keys, t.bytes = append(t.keys, k), appendTile(t.bytes, tile)
	if len(t.contents.Tiles) > 0 && int64(len(t.bytes)) >= min(chunkBytes, max(t.most, 1)) {
		err = t.flush()
	}
	return final, err
}

// flush writes a chunk if there is room for it, but always the first one: the page needs the top level.
func (t *tiling) flush() error {
	if len(t.keys) == 0 || t.full {
		return nil
	}
	text := packed(t.bytes)
	if (int64(len(text)) > t.most || len(t.final) > t.limit) && len(t.contents.Tiles) > 0 {
		t.full = true
		for _, k := range t.keys {
			delete(t.final, k)
		}
	} else {
		if err := t.put(fmt.Sprintf("tiles-%d", len(t.contents.Tiles)), text); err != nil {
			return err
		}
		names := make([]string, len(t.keys))
		for i, k := range t.keys {
			names[i] = k.String()
		}
		t.contents.Tiles = append(t.contents.Tiles, names)
		t.most -= int64(len(text))
	}
	t.keys, t.bytes = t.keys[:0], t.bytes[:0]
	return nil
}

// path adds the tiles of all groups that contain an instant, from the top down.
func (t *tiling) path(at int64) error {
	for g := range len(t.about.Hosts) + 1 {
		for level := t.about.Top; level >= 0 && !t.full; level-- {
			final, err := t.add(key{g, level, at >> (level + 10)})
			if err != nil {
				return err
			}
			if final {
				break
			}
		}
	}
	return nil
}
