package index

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/bits"
	"strings"

	"meridian/clock"
	"meridian/trace"
)

// The file begins with magic and the version, then come pages, then the directory, and a trailer at its end:
//
//	magic [8] version u32 0 u32 | pages, each with its CRC-32C | directory | at u64, size u64, its CRC u32, 0 u32, magic [8]
const (
	magic       = "\x89MerIdx\n"
	version     = 1
	headerSize  = 16
	trailerSize = 32
)

// directory is all of an index that is held in memory.
type directory struct {
	about      *About
	fields     [][]trace.Field // by class
	violations *Violations
	events     int64
	blocks     []block
	lanes      []laneRoot
	attached   []attachment
}

// laneRoot is where the tree of a lane begins. Lanes are in order of their number.
type laneRoot struct {
	group  int
	kind   laneKind
	owner  int // row, or link
	root   node
	coarse []coarse // from the finest on
}

func (b *Builder) directory() (*directory, error) {
	d := &directory{events: b.events, blocks: b.blockList, attached: b.attached, about: b.about()}
	for i := range b.schema.Classes {
		d.fields = append(d.fields, b.schema.Classes[i].Fields)
	}
	var lanes []*lane
	// A lane's number is its index in the directory.
	root := func(l *lane, group, owner int) (int, *node, error) {
		n, err := b.sorter.trees.finish(l)
		d.lanes = append(d.lanes, laneRoot{group: group, kind: l.kind, owner: owner, root: n})
		lanes = append(lanes, l)
		return len(d.lanes) - 1, &d.lanes[len(d.lanes)-1].root, err
	}
	for i, w := range b.sorter.rows {
		into := &d.about.Rows[i].Lanes
		add := func(l *lane, x Lane) error {
			if l == nil {
				return nil
			}
			number, n, err := root(l, int(w.host), i)
			x.Lane, x.Kind, x.Items, x.Least, x.Greatest = number, l.kind.String(), l.items, n.least, n.greatest
			*into = append(*into, x)
			return err
		}
		if err := add(w.instants, Lane{}); err != nil {
			return nil, err
		}
		for depth, l := range w.nest.lanes {
			if err := add(l, Lane{Depth: depth}); err != nil {
				return nil, err
			}
		}
		for _, c := range w.counters {
			if err := add(c.lane, Lane{Name: b.counterName(c)}); err != nil {
				return nil, err
			}
		}
	}
	numbers := make(map[*link]int)
	for i, l := range b.sorter.pairs.order {
		number, n, err := root(l.lane, len(b.hosts), i)
		if err != nil {
			return nil, err
		}
		numbers[l] = number
		d.about.Links = append(d.about.Links, Link{Lane: number, From: int(l.from), To: int(l.to), Messages: l.lane.items, Worst: n.worst})
	}
	d.violations = b.sorter.pairs.list(func(l *link) int { return numbers[l] })
	return d, b.coarsen(d, lanes)
}

// coarsen goes over all lanes once more and gives those that need it their coarse levels.
func (b *Builder) coarsen(d *directory, lanes []*lane) error {
	if err := b.sorter.trees.flush(); err != nil {
		return err
	}
	x := &Index{pages: pageReader{f: b.store.f, size: b.store.end}, limits: limits{classes: uint64(len(b.classes)), events: b.events}}
	w := walker{x: x}
	for i, l := range lanes {
		r := &d.lanes[i]
		levels := l.coarseLevels(r.root.busy, int64(b.last))
		if len(levels) == 0 {
			continue
		}
		c := newCoarsener(l.kind, levels, l.extent)
		err := w.walk(r, c)
		if err == nil {
			r.coarse, err = c.finish()
		}
		if err != nil {
			return err
		}
	}
	return b.sorter.trees.flush()
}

// counterName names a counter after its class, and after the field too where it has several.
func (b *Builder) counterName(c counterLane) string {
	class := &b.schema.Classes[c.class]
	field := class.Fields[c.field].Name
	if len(b.classes[c.class].numbers) > 1 || class.Name == "" {
		return strings.TrimSpace(class.Name + " " + field)
	}
	return class.Name
}

// topLevel returns the least level whose tile 0 covers all.
func topLevel(span int64) int { return max(bits.Len64(uint64(span))-tileBits, 0) }

func (b *Builder) about() *About {
	l := b.schema
	a := &About{
		Version: version, Title: l.Title, Origin: b.origin, Span: int64(b.last), Top: topLevel(int64(b.last)), Step: b.granularity(-1), Events: b.events,
		Verdicts: b.sorter.pairs.counts, Delays: histograms(b.sorter.pairs.delays), Method: l.Method, Assumption: l.Assumption,
		Hosts: []Host{}, Clocks: []Clock{}, Rows: []Row{}, Classes: []Class{}, Links: []Link{},
		Warnings: b.warnings(), Pairs: [][]string{}, Left: []string{},
	}
	for _, n := range a.Verdicts {
		a.Messages += n
	}
	named := make(map[string]int)
	for i, name := range l.Hosts {
		if _, ok := named[name]; !ok {
			named[name] = i
		}
		a.Hosts = append(a.Hosts, Host{Name: name, HostReport: HostReport{Addresses: []string{}}, Events: b.hosts[i]})
	}
	for i := range l.Maps {
		a.Clocks = append(a.Clocks, b.clock(i))
	}
	for i, stream := range b.byRow {
		s := &l.Streams[stream]
		x := Row{Host: named[s.Host], Clock: -1, Name: s.Name, Kind: s.Kind.String(), ID: s.ID, Parent: -1, Lanes: []Lane{}}
		if i < len(b.sorter.rows) && b.sorter.rows[i].events > 0 {
			w := b.sorter.rows[i]
			x.Host, x.Events = int(w.host), w.events
			x.Clock, x.Clocks = w.clocks()
		}
		if s.Parent >= 0 && s.Parent < len(b.streams) {
			x.Parent = int(b.streams[s.Parent])
		}
		a.Rows = append(a.Rows, x)
	}
	for i := range l.Classes {
		c := &l.Classes[i]
		x := Class{Name: c.Name, Category: c.Category, Fields: []string{}, Events: b.classes[i].events}
		for k := range c.Fields {
			x.Fields = append(x.Fields, c.Fields[k].Name)
		}
		a.Classes = append(a.Classes, x)
	}
	return a
}

// mostCorners is how many corners all clocks have together, at least 64 each.
const mostCorners = 1 << 16

// clock describes a map of the schema. It is drawn over the whole timeline and somewhat beyond, but for one that is not its
// host's only one: that is drawn where it brought stamps.
func (b *Builder) clock(i int) Clock {
	m := &b.schema.Maps[i]
	c := Clock{Host: m.Host, Low: m.Map.Low != nil, High: m.Map.High != nil, Granularity: b.maps[i+1].granularity, Corners: []Corner{}}
	if m.Map.Mid.Check() != nil {
		return c
	}
	first, last := int64(0), b.last
	for k := range b.schema.Maps {
		if s := &b.maps[i+1]; k != i && b.schema.Maps[k].Host == m.Host && s.used {
			first, last = s.first, s.last
		}
	}
	margin := max((last-first)/8, 1_000_000)
	limit := max(64, min(2048, mostCorners/len(b.schema.Maps)))
	c.Corners = Corners(m.Map, clock.Add(b.origin, first-margin), clock.Add(b.origin, clock.Add(last, margin)), limit)
	for k := range c.Corners {
		c.Corners[k].At = clock.Sub(clock.TimelineTime(c.Corners[k].At), b.origin)
	}
	return c
}

// warnings says what is not shown as it was.
func (b *Builder) warnings() []string {
	of := &b.sorter.lost
	ends := of.ends + int64(len(b.sorter.pairs.waiting))
	mixed := int64(0)
	for _, w := range b.sorter.rows {
		if w.mixed {
			mixed++
		}
	}
	out := []string{}
	for _, x := range []struct {
		n   int64
		say string
	}{
		{b.lost.late, "events came after later ones and are shown at the instant of these"},
		{b.lost.far, "events lie more than 146 years behind the first and are shown there"},
		{ends, "ends of messages are without their other end"},
		{of.folded, "messages are shown between the first rows of their hosts, as there are too many pairs of rows"},
		{of.noBegin, "slices have no begin"},
		{of.noEnd, "slices have no end and are shown to the last instant"},
		{of.reused, "slices have no end and are shown until another began under their number"},
		{of.deep, "slices overlap with more than 256 others of their row and are not shown"},
		{mixed, "rows have events by several clocks in turns, and in raw time are shown by one of them"},
		{b.lost.cut, "events have more in their fields than is shown"},
		{b.lost.noNumber, "values of counters are infinite or no number and are not shown"},
	} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.say))
		}
	}
	return out
}

// write lays the directory down at the end, with what frames the file.
func (d *directory) write(s *store) error {
	b, err := d.encode()
	if err != nil {
		return err
	}
	at := s.reserve(len(b) + trailerSize)
	n := len(b)
	sum := crc32.Checksum(b, castagnoli)
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	b = binary.LittleEndian.AppendUint32(b, sum)
	b = append(binary.LittleEndian.AppendUint32(b, 0), magic...)
	if err := s.write(b, at); err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), version)
	return s.write(binary.LittleEndian.AppendUint32(head, 0), 0)
}

func (d *directory) encode() ([]byte, error) {
	var b []byte
	for _, part := range []any{d.about, d.fields, d.violations} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = binary.AppendUvarint(b, uint64(d.events))
	b = binary.AppendUvarint(b, uint64(len(d.blocks)))
	var before block
	for _, x := range d.blocks {
		b = binary.AppendVarint(b, x.at-before.at)
		b = binary.AppendUvarint(b, uint64(x.size))
		b = binary.AppendUvarint(b, uint64(x.first-before.first))
		b = binary.LittleEndian.AppendUint64(b, x.classes)
		b = binary.LittleEndian.AppendUint64(b, x.rows)
		before = x
	}
	b = binary.AppendUvarint(b, uint64(len(d.lanes)))
	for i := range d.lanes {
		x := &d.lanes[i]
		b = binary.AppendUvarint(b, uint64(x.group))
		b = binary.AppendUvarint(b, uint64(x.owner))
		b = append(b, byte(x.kind), byte(x.root.level))
		b = appendNode(b, x.kind, &x.root, &node{})
		b = binary.AppendUvarint(b, uint64(len(x.coarse)))
		for _, c := range x.coarse {
			b = binary.AppendUvarint(append(b, byte(c.level)), uint64(len(c.pages)))
			end := int64(0)
			for _, p := range c.pages {
				b = binary.AppendUvarint(b, uint64(p.at-end))
				b = binary.AppendUvarint(b, uint64(p.size))
				b = binary.AppendUvarint(b, uint64(p.first))
				b = binary.AppendUvarint(b, uint64(p.last-p.first))
				end = p.at + p.size
			}
		}
	}
	b = binary.AppendUvarint(b, uint64(len(d.attached)))
	for _, x := range d.attached {
		b = append(binary.AppendUvarint(b, uint64(len(x.name))), x.name...)
		b = binary.AppendUvarint(b, uint64(x.at))
		b = binary.AppendUvarint(b, uint64(x.size))
	}
	return b, nil
}
