package pcap

import (
	"fmt"

	"meridian/format/internal/stream"
	"meridian/trace"
)

// tally counts what is wrong with single packets before it becomes a warning, since a million of them must cost neither
// a million lines nor a million formatted strings.
type tally struct {
	file  string
	w     *trace.Warnings // may be nil
	cases []tallied       // few: searched from the front
}

type tallied struct {
	kind  string
	count int64
	first place
}

// place is where a packet stands: its number from 0 and its offset in the uncompressed stream, negative if unknown.
type place struct {
	number int
	offset int64
}

// String counts packets from 1, as Wireshark shows them.
func (p place) String() string {
	if p.offset < 0 {
		return fmt.Sprintf("packet %d", p.number+1)
	}
	return fmt.Sprintf("packet %d at offset %d", p.number+1, p.offset)
}

func (t *tally) add(kind string, number int, offset int64) {
	if t.w == nil {
		return
	}
	for i := range t.cases {
		if t.cases[i].kind == kind {
			t.cases[i].count++
			return
		}
	}
	t.cases = append(t.cases, tallied{kind: kind, count: 1, first: place{number, offset}})
}

// warn reports one case at once.
func (t *tally) warn(kind, details string) {
	if t.w != nil {
		t.w.Add(t.file, kind, details)
	}
}

// compressed reports compressed data that are damaged or cut short, behind which nothing can be read.
func (t *tally) compressed(damage *stream.Damage, place string) {
	t.w.Gap(t.file, damage.Compression+damagedData, fmt.Sprintf("%s: %v", place, damage), 1)
}

// flush reports what was counted.
func (t *tally) flush() {
	for _, c := range t.cases {
		if gaps[c.kind] {
			t.w.Gap(t.file, c.kind, c.first.String(), c.count)
		} else {
			t.w.AddN(t.file, c.kind, c.first.String(), c.count)
		}
	}
	t.cases = t.cases[:0]
}
