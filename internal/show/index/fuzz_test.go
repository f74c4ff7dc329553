package index

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// dense is a timeline of few lanes, of which some have many items: trees of two levels, a lane with coarse levels, several blocks
// of events. Its index has every kind of page, and its directory is short.
func dense() *timeline {
	one := clock.Identity()
	x := &timeline{schema: &trace.Schema{Title: "dense", Hosts: []string{"a", "b"},
		Streams: []trace.Stream{{Name: "r", Host: "a", Parent: -1}, {Name: "s", Host: "b", Parent: 0}},
		Classes: []trace.Class{{Name: "<b>", Fields: []trace.Field{{Name: "n", Type: trace.Type{Kind: trace.Int}}}}, {Name: "other"}},
		Maps:    []trace.HostMap{{Host: 0, Map: &one}, {Host: 1, Map: &one}}}}
	for i := range 1800 {
		at := int64(i/10)*1_000_000 + int64(i%10)*10 // in groups: a coarse level has fewer steps than items
		e := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at), Class: i % 2}, Time: clock.TimelineTime(at)}
		switch n := i % 10; n {
		case 0, 1:
			e.Phase = []trace.Phase{trace.Begin, trace.End}[n]
		case 2:
			e.Phase = trace.Counter
		case 3, 4:
			e.Flow, e.Role = uint64(i/10)+1, []trace.Role{trace.Sends, trace.Receives}[n-3]
			e.Stream, e.Host, e.Map = n-3, n-3, n-3
		}
		if e.Class == 0 {
			e.Values = []trace.Value{trace.OfInt(int64(i % 100))}
		}
		x.records = append(x.records, e)
	}
	return x
}

// kept opens the index of dense, whose pages are then at hand.
func kept(f *testing.F) *Index {
	b := dense().file(f, Options{})
	x, err := read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		f.Fatal(err)
	}
	return x
}

// FuzzIndex changes pages and the directory behind their checksums, and asks for tiles, events, a search and an attachment:
// whatever comes of it, it ends. The input says where.
//
//fuzzall:cost 2
func FuzzIndex(f *testing.F) {
	whole := dense().file(f, Options{})
	f.Add(uint32(40), []byte{1}, uint16(0), uint16(0))
	for i := range 60 {
		f.Add(uint32(i*len(whole)/60), []byte{byte(i), 0xff, 0x80}, uint16(i), uint16(i*997))
	}
	b := bytes.Clone(whole)
	testseed.Fuzz(f, func(t *testing.T, at uint32, with []byte, xor, where uint16) {
		copy(b, whole)
		tail := len(b) - trailerSize
		directory := int(binary.LittleEndian.Uint64(b[tail:]))
		for i, c := range with {
			if k := (int(at) + i) % tail; k >= headerSize {
				b[k] ^= c ^ byte(xor)
			}
		}
		reseal(b, directory, tail)
		x, err := read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		a := x.About()
		if a.Span > 1<<61 || len(a.Hosts) > 1000 {
			return // it may be; the loop below would take long
		}
		x.pages.unchecked = true
		level, from := max(a.Top-int(where&3), 0), a.Events/64*int64(where>>4&63)
		for group := range len(a.Hosts) + 1 {
			i := min(a.Span>>(level+tileBits), int64(where>>2&3))
			if tile, err := x.Tile(group, level, i); err == nil {
				_, _ = DecodeTile(tile, level, i)
			}
		}
		_, _ = x.Events(from, 8)
		_, _ = x.Search(`5 | name:"<b>"`, from-1, 20)
		_, _ = x.Attachment("report")
	})
}

// FuzzPage reads any bytes as a page of a tree behind the summary that leads to it. What is read agrees with the summary, and is
// read back from what it is written as.
func FuzzPage(f *testing.F) {
	x := kept(f)
	var add func(k laneKind, n *node)
	add = func(k laneKind, n *node) {
		page, err := x.pages.page(n.pageRef)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(appendNode([]byte{byte(k), byte(n.level)}, k, n, &node{}), page...))
		if n.level > 0 {
			below, err := decodeFan(nil, page, k, n, x.limits)
			if err != nil {
				f.Fatal(err)
			}
			add(k, &below[0])
		}
	}
	for i := range x.lanes {
		add(x.lanes[i].kind, &x.lanes[i].root)
	}
	read, again := walker{x: x}, walker{x: x}
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		d := decoder{b: data}
		k, level := laneKind(d.byte()), int(d.byte())
		if k >= laneKinds || level > 32 {
			return
		}
		n := d.node(k, level, &node{}, x.limits)
		if d.bad {
			return
		}
		if level > 0 {
			if nodes, err := decodeFan(nil, d.b, k, &n, x.limits); err == nil {
				checkFan(t, k, &n, nodes, x.limits)
			}
			return
		}
		items, err := read.leaf(d.b, k, &n)
		if err != nil {
			return
		}
		if int64(len(items)) != n.count {
			t.Fatalf("%d items of %d", len(items), n.count)
		}
		for i := range items {
			it := &items[i]
			if from, to := it.extent(k); it.at < n.first || it.at > n.last || from < n.begin || to > n.end || it.event < 0 || it.event >= x.limits.events {
				t.Fatalf("item %d, %+v, of %+v", i, it, n)
			}
		}
		back, err := again.leaf(appendLeaf(nil, k, items, &n.summary), k, &n)
		if err != nil || !slices.Equal(back, items) {
			t.Fatalf("%+v comes back as %+v, %v", items, back, err)
		}
	})
}

// checkFan holds the nodes of a page against the one above them.
func checkFan(t *testing.T, k laneKind, n *node, nodes []node, l limits) {
	count := int64(0)
	for i := range nodes {
		x := &nodes[i]
		count += x.count
		if x.level != n.level-1 || x.first < n.first || x.last > n.last || x.begin < n.begin || x.end > n.end || x.count < 1 {
			t.Fatalf("node %d, %+v, of %+v", i, x, n)
		}
	}
	if count != n.count {
		t.Fatalf("%d items of %d", count, n.count)
	}
	back, err := decodeFan(nil, appendFan(nil, k, nodes), k, n, l)
	if err != nil || !slices.Equal(back, nodes) {
		t.Fatalf("%+v comes back as %+v, %v", nodes, back, err)
	}
}

// FuzzSteps reads any bytes as a page of a coarse level, for a tile of that level or a higher one: twice, with the same bins.
func FuzzSteps(f *testing.F) {
	x := kept(f)
	for i := range x.lanes {
		for _, c := range x.lanes[i].coarse {
			page, err := x.pages.page(c.pages[0].pageRef)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(x.lanes[i].kind), uint8(c.level), uint8(1), uint64(c.pages[0].first), uint64(c.pages[0].last), page)
		}
	}
	f.Add(uint8(counter), uint8(3), uint8(0), uint64(0), uint64(9), []byte{byte(counter), 3, 1, 4, 1, 2, 3})
	f.Add(uint8(messages), uint8(3), uint8(0), uint64(0), uint64(9), []byte{byte(messages), 3, 1, 4, 1, 2, 3, 1})
	f.Add(uint8(sliced), uint8(3), uint8(0), uint64(0), uint64(9), []byte{byte(sliced), 3, 1, 4, 1, 2, 0, 1})
	b, twice := new(bins), new(bins)
	testseed.Fuzz(f, func(t *testing.T, kind, level, above uint8, first, last uint64, page []byte) {
		above %= tileBits
		if laneKind(kind) >= laneKinds || last < first || level > 62-above || last > far>>level || len(page) > longestPage {
			return
		}
		file := append(append(make([]byte, headerSize, headerSize+len(page)+4), page...), 0, 0, 0, 0)
		y := &Index{pages: pageReader{f: bytes.NewReader(file), size: int64(len(file)), unchecked: true, cache: new(pageCache)}, limits: x.limits}
		c := &coarse{level: int(level), pages: []coarsePage{{pageRef{headerSize, int64(len(page)) + 4}, int64(first), int64(last)}}}
		tile := int(level + above)
		from := int64(first) << level >> tile << tile // at most far
		var out [2][]byte
		for i, b := range []*bins{b, twice} {
			b.reset(laneKind(kind), tile, from, min(from+tileBins<<min(tile, 50), far))
			if b.steps(&walker{x: y}, c) == nil {
				out[i] = b.append(nil)
			}
		}
		if !bytes.Equal(out[0], out[1]) {
			t.Fatalf("%x, then %x", out[0], out[1])
		}
	})
}

// FuzzBlock reads any bytes as a block of events, as they are and compressed: as many as it should have or an error, and none that
// refers to a row or class that is not there.
func FuzzBlock(f *testing.F) {
	x := kept(f)
	blocks := blockList{blocks: x.blocks, end: x.events, pages: &x.pages}
	for i := range x.blocks {
		var r blockReader
		packed, err := blocks.at(i)
		if err == nil {
			err = r.open(packed, x.blocks[i].first, int(blocks.endOf(i)-x.blocks[i].first))
		}
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(r.left-1), r.raw)
	}
	limits := eventLimits{rows: len(x.about.Rows), classes: len(x.about.Classes), clocks: len(x.about.Clocks)}
	r := blockReader{limits: limits}
	var packed []byte
	testseed.Fuzz(f, func(t *testing.T, last uint8, data []byte) {
		if len(data) > mostBlock {
			return
		}
		packed = s2.Encode(packed[:cap(packed)], data)
		for _, block := range [][]byte{packed, data} {
			if r.open(block, 7, int(last)+1) != nil {
				continue
			}
			texts := texts{left: mostText}
			for n := int64(7); ; n++ {
				number, h, values, ok, err := r.next()
				if err != nil {
					break
				}
				if !ok {
					if n != 7+int64(last)+1 {
						t.Fatalf("%d events of %d", n-7, int(last)+1)
					}
					break
				}
				if number != n || h.row >= limits.rows || int(h.class) >= limits.classes || h.clock >= limits.clocks || h.at < 0 || h.at > far {
					t.Fatalf("event %d of %d: %+v", number, n, h)
				}
				if fields := texts.of(x.fields[h.class], &values); len(fields) > h.valueBytes {
					t.Fatalf("%d fields in %d bytes", len(fields), h.valueBytes)
				}
			}
		}
	})
}

// FuzzTile reads any bytes as a tile: no more entries than bytes.
func FuzzTile(f *testing.F) {
	x := kept(f)
	a := x.About()
	for group := range len(a.Hosts) + 1 {
		for level := a.Top; level >= 0; level -= 4 {
			tile, err := x.Tile(group, level, 0)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(tile, uint8(level), uint32(0))
		}
	}
	testseed.Fuzz(f, func(t *testing.T, tile []byte, level uint8, i uint32) {
		out, err := DecodeTile(tile, int(level%53), int64(i)%2)
		if err != nil {
			return
		}
		entries := 0
		for _, l := range out.Lanes {
			entries += len(l.Items) + len(l.Bins) + 1
		}
		if entries > len(tile) {
			t.Fatalf("%d entries of %d bytes", entries, len(tile))
		}
	})
}
