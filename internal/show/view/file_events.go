package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"meridian/internal/show"
	"meridian/internal/show/index"
)

const (
	blockEvents = 256 // events of a block
	chunkBlocks = 16
)

// events writes the fields of events, block by block, all of them if the budget allows. Otherwise it writes first the
// blocks in which the worst violations begin and end, then those from the beginning on.
func (f *file) events(worst []index.Violation) error {
	blocks := (f.about.Events + blockEvents - 1) / blockEvents
	taken := make(map[int64]bool)
	var first []int64
	for _, v := range worst {
		for _, event := range []int64{v.From, v.To} {
			if b := event / blockEvents; event >= 0 && b < blocks && !taken[b] {
				taken[b] = true
				first = append(first, b)
			}
		}
	}
	events := int64(0)
	next := int64(0)
	for full := false; !full; {
		var chunk []int64
		if n := min(chunkBlocks, len(first)); n > 0 {
			chunk, first = first[:n], first[n:]
		}
		for ; len(chunk) < chunkBlocks && next < blocks; next++ {
			if !taken[next] {
				chunk = append(chunk, next)
			}
		}
		if len(chunk) == 0 {
			break
		}
		slices.Sort(chunk)
		text, n, err := f.chunk(chunk)
		if err != nil {
			return err
		}
		if full = int64(len(text)) > f.left; full {
			break
		}
		if err := f.put(fmt.Sprintf("events-%d", len(f.contents.Events)), text); err != nil {
			return err
		}
		f.contents.Events = append(f.contents.Events, slices.Clone(chunk))
		events += n
	}
	if events < f.about.Events {
		format := "Search and fields cover only the first %s of %s events"
		if len(worst) > 0 {
			format = "Search and fields cover only %s of %s events, those of the worst violations and the first"
		}
		f.missing(format+"; meridian view covers all", show.Count(events), show.Count(f.about.Events))
	}
	return nil
}

// chunk packs blocks of events, and counts their events.
func (f *file) chunk(blocks []int64) (text []byte, events int64, err error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, block := range blocks {
		answer, err := f.data.Events(block*blockEvents, blockEvents)
		if err != nil {
			return nil, 0, err
		}
		list, err := json.Marshal(answer)
		if err != nil {
			return nil, 0, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(list)
		events += min(blockEvents, f.about.Events-block*blockEvents)
	}
	b.WriteByte(']')
	return packed(b.Bytes()), events, nil
}
