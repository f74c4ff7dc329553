package index

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"

	"meridian/clock"
	"meridian/trace"
)

// Live is an index that can be read while it grows. What came since the last seal, the tail, is in memory; all before it is
// in segments, files of a directory. A seal writes the tail as a segment. Compact merges segments, so that there are
// few. Lanes, rows, classes and events keep their numbers throughout.
//
//	Write --> tail (memory) --Seal--> segment files --Compact--> fewer, longer segment files
//	             |                        |                            |
//	             '------------------------+------ View: tiles, events --'
//
// It holds what a [Builder] over the same events would hold, but that fewer ends of messages wait for their partners
// (maxLiveEnds). A slice or a message whose two ends are in different segments is one item, in the segment of its later
// end: what is open is a part of the state that passes from seal to seal.
//
// One goroutine at a time calls the methods, except where they say otherwise. A [View] is for any number of them.
type Live struct {
	dir    string
	lock   *os.File // of it
	b      *Builder
	tail   memoryPart // its blocks; its items are those pending on the lanes
	bytes  int64      // of these blocks
	growth growth

	attached map[string][]byte // replaced, never changed

	files    sync.Mutex   // guards what follows, which other goroutines change
	frozen   []frozenPart // the oldest first
	segments []*segment
	gaps     []gap // in order
	torn     bool  // something between the segments and frozen was dropped
	drops    int64 // how often something was dropped

	sealing    sync.Mutex // one at a time
	compacting sync.Mutex
	seals      int64
	cache      *pageCache
	edge       edge
	failed     bool // a seal has, guarded by sealing
	closed     bool
}

// maxLiveEnds bounds the message ends that wait for their partners: each seal writes them.
const maxLiveEnds = 1 << 16

// NewLive begins an index in a directory, which must be empty or not there, of records that refer to a schema. The schema
// may grow: its slices get more elements, and those that there are stay. Only the maps may be replaced.
func NewLive(dir string, schema *trace.Schema, o Options) (*Live, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if len(list) > 0 {
		return nil, fmt.Errorf("index: %s is not empty", dir)
	}
	l := newLive(dir, schema, o)
	if err := l.own(); err != nil {
		return nil, err
	}
	return l, nil
}

func newLive(dir string, schema *trace.Schema, o Options) *Live {
	l := &Live{dir: dir, attached: make(map[string][]byte), cache: new(pageCache)}
	b := &Builder{schema: schema, options: o, direct: true, blocks: newBlockBuilder(), sorter: newSorter(nil, o.MinDelay),
		devices: make(map[trace.Stream]int32), batch: new(batch)}
	b.sorter.trees.held, b.sorter.trees.touched = true, math.MaxInt64
	b.sorter.pairs.most = maxLiveEnds
	b.blocks.sink = func(r *rawBlock) {
		packed := s2.Encode(nil, r.raw)
		l.tail.blocks, l.tail.packed = append(l.tail.blocks, r.block), append(l.tail.packed, packed)
		l.bytes += int64(len(packed))
		select {
		case l.b.blocks.free <- r:
		default:
		}
	}
	l.b = b
	return l
}

// Begin says where the timeline begins at the latest, before the first record: those of several components may go back behind the first.
func (l *Live) Begin(at clock.TimelineTime) {
	if b := l.b; b.events == 0 {
		b.origin, b.begun = at, true
	}
}

// Write takes the next record. One whose time is before that of an earlier one of its component is shown at the
// instant of that, and counted.
// After an error, all further ones return it too.
func (l *Live) Write(r *trace.TimelineEvent) error {
	if l.closed {
		return errors.New("index: Write after Close")
	}
	return l.b.Write(r)
}

// Schema returns the schema that the records refer to.
func (l *Live) Schema() *trace.Schema { return l.b.schema }

// Events returns how many events there are, and how many of them are only in memory.
func (l *Live) Events() (all, tail int64) {
	l.files.Lock()
	defer l.files.Unlock()
	return l.b.events, l.b.events - l.sealed()
}

func (l *Live) sealed() int64 {
	if n := len(l.segments); n > 0 {
		return l.segments[n-1].end
	}
	return 0
}

// Limits of the tail, beyond which it is due to be sealed.
const (
	maxTailEvents = 1 << 18
	maxTailBytes  = 8 << 20
)

// Due reports whether the tail has become long enough to be sealed. To be read fast and to bound what is read again after
// a crash, it should also be sealed every 30 s or so.
func (l *Live) Due() bool {
	from := l.tailBegin()
	return l.b.events-from >= maxTailEvents || l.bytes >= maxTailBytes
}

// tailBegin is the number of the first event of the tail.
func (l *Live) tailBegin() int64 {
	l.files.Lock()
	defer l.files.Unlock()
	if n := len(l.frozen); n > 0 {
		return l.frozen[n-1].end
	}
	return l.sealed()
}

// Attach sets the contents under a name, or replaces them. They are not to be changed afterwards. They are written with
// the next seal.
func (l *Live) Attach(name string, data []byte) {
	l.attached = maps.Clone(l.attached)
	l.attached[name] = data
	l.growth.shape++
}

// View returns what there is now. It does not change. It must be closed.
func (l *Live) View() *View {
	b := l.b
	b.grow()
	v := &View{facts: b.facts(), lanes: make([]laneFacts, len(b.sorter.trees.lanes)), attached: l.attached, mostTile: mostTile, edge: &l.edge,
		order: b.sorter.pairs.order, worst: slices.Clone(b.sorter.pairs.worst), raw: b.sorter.pairs.raw}
	v.raw.worst = slices.Clone(v.raw.worst)
	tail := &memoryPart{lanes: make([]memoryLane, len(v.lanes)), blocks: l.tail.blocks, packed: l.tail.packed, end: b.events}
	for i, x := range b.sorter.trees.lanes {
		v.lanes[i] = laneFacts{kind: x.kind, memory: x.memory, items: x.items}
		tail.lanes[i] = memoryLane{items: x.pending, sums: x.sums}
	}
	if b.blocks.count > 0 {
		var r rawBlock
		b.blocks.copy(&r)
		tail.blocks = append(slices.Clip(tail.blocks), r.block)
		tail.packed = append(slices.Clip(tail.packed), s2.Encode(nil, r.raw))
	}
	l.growth.group(v)
	l.openSlices(v)
	l.files.Lock()
	for _, s := range l.segments {
		s.acquire()
		v.parts, v.ends = append(v.parts, s), append(v.ends, s.end)
	}
	v.segments, v.drops = l.segments, l.drops
	for _, p := range l.frozen {
		v.parts, v.ends = append(v.parts, p.memoryPart), append(v.ends, p.end)
	}
	v.gaps = l.gaps
	l.files.Unlock()
	v.parts = append(v.parts, tail)
	l.growth.count(v, &b.sorter.trees)
	v.prepare()
	return v
}

// openSlices draws what has not ended up to the last instant.
func (l *Live) openSlices(v *View) {
	v.open = make(map[int]item)
	v.openFrom = make([]int64, len(v.groups))
	for i := range v.openFrom {
		v.openFrom[i] = math.MaxInt64
	}
	for _, w := range l.b.sorter.rows {
		for depth, o := range w.nest.open {
			if !o.used {
				continue
			}
			v.open[w.nest.lanes[depth].number] = item{at: o.at, to: l.b.last, event: o.event, other: -1, class: o.class, flags: noEnd}
			v.openFrom[w.host] = min(v.openFrom[w.host], o.at)
		}
	}
	v.facts.lanes.noEnd += int64(len(v.open))
}

// Close gives up what has not been sealed and closes the files. Views stay good until they are closed.
func (l *Live) Close() error {
	l.sealing.Lock()
	defer l.sealing.Unlock()
	l.compacting.Lock()
	defer l.compacting.Unlock()
	l.files.Lock()
	defer l.files.Unlock()
	l.closed = true
	for _, s := range l.segments {
		s.release()
	}
	l.segments = nil
	if l.lock == nil {
		return nil
	}
	err := l.lock.Close()
	l.lock = nil
	return err
}
