package index

import "fmt"

// Decoded is a tile as the page reads it.
type Decoded struct {
	Final bool
	Shift int  // a bin is 2^(level+Shift) ns
	Left  bool // lanes are missing at the end
	Open  bool // it may still change, as the timeline grows
	Lanes []DecodedLane
}

// DecodedLane is a lane of a tile. Of its lists the one of its mode is filled.
type DecodedLane struct {
	Lane   int
	Mode   int
	Before *float64 // modes 2 and 6: the value that stood when the tile begins
	Items  []DecodedItem
	Bins   []DecodedBin
}

// DecodedItem is an exact entry: modes 0 to 3. To is the end of a slice and the receipt of a message.
type DecodedItem struct {
	At, To       int64
	Class        int // of an instant; the name of a slice
	Flags        int // of a slice: 1 it has no end, 2 no begin
	Value        float64
	Verdict      Verdict
	Event, Other int64 // Other: the event that received a message
}

// DecodedBin is an entry of modes 4 to 7: Count of instants, of slices that begin, of messages that are sent.
type DecodedBin struct {
	Bin                   int
	Count                 int64
	Class                 int // most frequent, or the name that takes most
	Busy                  int // of 255
	Least, Greatest, Last float64
	Quickest, Slowest     int64
	Worst                 Verdict
}

// DecodeTile reads tile i of a level; the inverse of [Index.Tile].
func DecodeTile(tile []byte, level int, i int64) (*Decoded, error) {
	d := decoder{b: tile}
	begin := i << (level + tileBits)
	flags := d.byte()
	out := &Decoded{Final: flags&isFinal != 0, Shift: int(flags >> shiftAt & 15), Left: flags&lanesLeft != 0, Open: flags&unsettled != 0}
	if flags > knownTiles || out.Shift > tileBits {
		return nil, fmt.Errorf("index: invalid tile flags %#x", flags)
	}
	number := -1
	for range d.length(len(tile)) {
		number += int(d.u())
		l := DecodedLane{Lane: number, Mode: int(d.byte())}
		entries := d.length(tileBins)
		if l.Mode == 2 || l.Mode == 6 {
			if d.byte() != 0 {
				v := d.float()
				l.Before = &v
			}
		}
		switch {
		case l.Mode < inBins:
			l.Items = d.items(laneKind(l.Mode), begin, entries)
		case l.Mode < 2*inBins:
			l.Bins = d.bins(laneKind(l.Mode-inBins), entries)
		default:
			return nil, fmt.Errorf("index: invalid lane mode %d in a tile", l.Mode)
		}
		out.Lanes = append(out.Lanes, l)
		if d.bad {
			break
		}
	}
	if d.bad || len(d.b) > 0 {
		return nil, fmt.Errorf("index: invalid tile of %d bytes: %d left over", len(tile), len(d.b))
	}
	return out, nil
}

func (d *decoder) items(k laneKind, at int64, n int) (out []DecodedItem) {
	var event, other int64
	for range n {
		var x DecodedItem
		switch k {
		case instants:
			x.At = at + int64(d.u())
			x.Class = int(d.u())
			x.Event = event + d.s()
			at = x.At
		case sliced:
			x.At = at + d.s()
			x.To = x.At + int64(d.u())
			x.Flags, x.Class = int(d.byte()), int(d.u())
			x.Event = event + d.s()
			at = x.To
		case counter:
			x.At = at + int64(d.u())
			x.Value = d.float()
			x.Event = event + d.s()
			at = x.At
		case messages:
			x.At = at + d.s()
			x.To = x.At + d.s()
			x.Verdict = Verdict(d.byte())
			x.Event = event + d.s()
			x.Other = other + d.s()
			at, other = x.At, x.Other
		}
		event = x.Event
		out = append(out, x)
	}
	return out
}

func (d *decoder) bins(k laneKind, n int) (out []DecodedBin) {
	bin := -1
	for range n {
		bin += int(d.u())
		x := DecodedBin{Bin: bin}
		switch k {
		case instants:
			x.Count, x.Class = int64(d.u()), int(d.u())
		case sliced:
			x.Count = int64(d.u())
			x.Busy, x.Class = int(d.byte()), int(d.u())
		case counter:
			x.Least, x.Greatest, x.Last = d.float(), d.float(), d.float()
		case messages:
			x.Count = int64(d.u())
			x.Quickest, x.Slowest = d.s(), d.s()
			x.Worst = Verdict(d.byte())
		}
		out = append(out, x)
	}
	return out
}
