package record

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"meridian/clock"
	"meridian/internal/retention"
	"meridian/trace"
)

// Keep says how much of a recording is kept. The zero value keeps all.
type Keep struct {
	Time  time.Duration // packets that end within this time; 0 for any age
	Bytes int64         // of the directory, give or take a chunk; 0 for any size
	Spool int64         // the same of one that an agent sends, where other chunks go first; 0 for any size
	// Release drops the chunks that servers have (package spool) as soon as they are complete.
	Release bool
}

// Limits of [Keep].
const (
	MinKeepTime  = time.Second
	MinKeepBytes = 1 << 20
)

func (k Keep) all() bool { return k == Keep{} }

func (k Keep) String() string {
	var parts []string
	if k.Time > 0 {
		parts = append(parts, k.Time.String())
	}
	if k.Bytes > 0 {
		parts = append(parts, fmt.Sprint(k.Bytes, " bytes"))
	}
	if k.Spool > 0 {
		parts = append(parts, fmt.Sprint("spool of ", k.Spool, " bytes"))
	}
	if k.Release {
		parts = append(parts, "what servers do not have")
	}
	return strings.Join(parts, ", ")
}

// A chunk ends at a part of what is kept, so that about as much more is there.
const (
	chunksOfTime  = 8
	chunksOfBytes = 32
	maxChunk      = 8 << 20
	stateMargin   = 10 * time.Second // how much longer than events the readings of clocks are kept, which the events need
)

// keeper removes the oldest chunks of a trace. Each removal is told in the trace first (package retention). It removes only
// what the streams begin with, so what a next recorder needs to go on is in what is left: a ring's position is in its last packet,
// or else, where even that is old enough, in the ring itself.
type keeper struct {
	keep  Keep
	bytes int64  // of a chunk
	span  uint64 // of a chunk, ns
	run   string // before the numbers of chunks where earlier recorders may have had the same ones; else ""
	w     *trace.Warnings

	mu      sync.Mutex
	chunks  []*chunk
	total   int64
	check   uint64 // no chunk is too old before
	dropped retention.Dropped
	rows    *rows // of meridian:dropped
	values  []trace.Value
	sent    sent
	saved   string           // where dropped chunks go; "" for nowhere
	listed  map[string]int64 // of these only, unless nil: those that the snapshot has
}

// chunk is a file that may be removed.
type chunk struct {
	path, row string
	retention.Span
	state bool
	owner *chunkFile // that writes it; nil once it is complete
	stuck bool       // it cannot be removed
}

// newKeeper returns the keeper of a trace, which enters the files of earlier recorders; nil where everything is kept.
func newKeeper(t *hostTrace, o *Options) (*keeper, error) {
	if o.Keep.all() {
		return nil, nil
	}
	k := &keeper{keep: o.Keep, bytes: maxChunk, w: o.Warnings, sent: sent{dir: t.dir}}
	for _, most := range []int64{o.Keep.Bytes, o.Keep.Spool} {
		if most > 0 {
			k.bytes = min(k.bytes, most/chunksOfBytes)
		}
	}
	if o.Keep.Time > 0 {
		k.span = uint64(o.Keep.Time) / chunksOfTime
	}
	var err error
	if t.continued {
		if err := k.adopt(t); err != nil {
			return nil, fmt.Errorf("record: the trace to continue: %w", err)
		}
	}
	if k.rows, err = newRows(t, retention.Stream, false); err != nil {
		return nil, err
	}
	k.rows.roll = 64 << 10
	if t.continued {
		k.run = fmt.Sprint(t.id(k.rows.class), "_")
	}
	if err := k.rows.declare([]trace.Class{retention.Class()}); err != nil {
		return nil, err
	}
	return k, k.rows.add([]trace.Stream{{Name: retention.Stream, Kind: trace.OtherStream, Parent: -1}})
}

// begin enters a chunk.
func (k *keeper) begin(of *chunkFile) *chunk {
	c := &chunk{path: of.path, row: of.row, state: of.state, owner: of}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.chunks = append(k.chunks, c)
	return c
}

// grew counts packets and says whether the chunk is to end.
func (k *keeper) grew(c *chunk, of retention.Span) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	c.Add(of)
	k.total += int64(of.Bytes)
	return int64(c.Bytes) >= k.bytes || k.span > 0 && c.End-c.Begin >= k.span
}

// ended says that a chunk is complete.
func (k *keeper) ended(c *chunk) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c.owner = nil
}

// enforce removes the chunks that are not kept. Nil keeps all. An error means that the trace cannot be written.
func (k *keeper) enforce() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := uint64(clock.Monotonic.Now())
	within := func(most int64) bool { return most == 0 || k.total <= most }
	if within(k.keep.Bytes) && within(k.keep.Spool) && now < k.check {
		return nil
	}
	var locked []*chunk // that are still being written, by nobody now
	defer func() {
		for _, c := range locked {
			c.owner.lock.Unlock()
		}
	}()
	victims := k.choose(now, &locked)
	if len(victims) == 0 {
		return nil
	}
	if err := k.tell(now, victims); err != nil {
		return err
	}
	for _, c := range victims {
		k.remove(c)
	}
	return nil
}

// choose returns the chunks to be removed, those that are still being written with their owner's lock.
func (k *keeper) choose(now uint64, locked *[]*chunk) (victims []*chunk) {
	total := k.total
	slices.SortStableFunc(k.chunks, func(a, b *chunk) int { return cmp.Compare(a.End, b.End) })
	k.check = now + uint64(time.Second)
	chosen := make(map[*chunk]bool)
	drop := func(c *chunk) {
		total -= int64(c.Bytes)
		chosen[c] = true
		victims = append(victims, c)
	}
	for _, c := range k.chunks {
		if c.state || c.stuck {
			continue
		}
		old := k.keep.Time > 0 && c.End+uint64(k.keep.Time) < now
		if (old || k.keep.Bytes > 0 && total > k.keep.Bytes) && c.free(locked) {
			drop(c)
		} else if k.keep.Time > 0 {
			k.check = min(k.check, max(c.End+uint64(k.keep.Time), now+uint64(100*time.Millisecond)))
		}
	}
	if k.keep.Release || k.keep.Spool > 0 && total > k.keep.Spool {
		for _, c := range k.sent.order(k.chunks, now) {
			switch sent := k.keep.Release && k.sent.has(c); {
			case chosen[c] || c.state || c.stuck:
			case !sent && (k.keep.Spool == 0 || total <= k.keep.Spool):
			case c.free(locked):
				drop(c)
			}
		}
	}
	oldest := now
	for _, c := range k.chunks {
		if !c.state && !c.stuck && !chosen[c] {
			oldest = min(oldest, c.Begin)
		}
	}
	for _, c := range k.chunks {
		if c.state && !c.stuck && c.owner == nil && c.End+uint64(stateMargin) < oldest {
			victims = append(victims, c)
		}
	}
	return victims
}

// free says whether nobody writes a chunk, and takes the lock of its owner if it is not complete.
func (c *chunk) free(locked *[]*chunk) bool {
	switch {
	case c.owner == nil:
		return true
	case c.owner.lock == nil || !c.owner.lock.TryLock():
		return false
	}
	*locked = append(*locked, c)
	return true
}

// tell writes an event for each chunk that is removed next.
func (k *keeper) tell(now uint64, victims []*chunk) error {
	d := &k.dropped
	for _, c := range victims {
		d.File, d.Row, d.Span = filepath.Base(c.path), c.row, c.Span
		if !c.state {
			d.All.Add(c.Span)
			d.Until = max(d.Until, c.End)
		}
		k.values = d.Values(k.values[:0])
		if err := k.rows.write(&Event{Stamp: now, Values: k.values}); err != nil {
			return err
		}
	}
	return k.rows.flush()
}

// remove removes a chunk, whose owner's lock is held if it has one.
func (k *keeper) remove(c *chunk) {
	if err := k.drop(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.w.Add(c.path, "what is not kept cannot be removed", err.Error())
		c.stuck = true
		return
	}
	k.total -= int64(c.Bytes)
	if o := c.owner; o != nil {
		o.f.Close()
		o.f, o.now, o.size = nil, nil, 0
	}
	k.chunks = slices.DeleteFunc(k.chunks, func(x *chunk) bool { return x == c })
}

// summary returns what was dropped so far, nil for nothing. Origin is by how much the trace's clock is ahead of MONOTONIC.
func (k *keeper) summary(origin int64) *Dropped {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dropped.All.Packets == 0 && k.dropped.All.Bytes == 0 {
		return nil
	}
	a := k.dropped.All
	return &Dropped{Events: a.Events, Packets: a.Packets, Bytes: a.Bytes, WholeFrom: int64(k.dropped.Until) + origin}
}

func (k *keeper) close() error {
	if k == nil {
		return nil
	}
	return k.rows.close()
}

// adopt enters the files that earlier recorders of the trace left, and what they dropped.
func (k *keeper) adopt(t *hostTrace) error {
	if err := finishRemovals(t.dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || name == "metadata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "interfaces_") || strings.HasPrefix(name, retention.Stream+"_") {
			continue
		}
		c := &chunk{path: filepath.Join(t.dir, name), row: name, state: strings.HasPrefix(name, "clocks_")}
		if c.Span, err = spanOf(c.path); err != nil {
			return err
		}
		k.chunks, k.total = append(k.chunks, c), k.total+int64(c.Bytes)
	}
	packets, err := filepath.Glob(filepath.Join(escaped(t.dir), packetFiles, "*"+packetSuffix))
	if err != nil {
		return err
	}
	for _, path := range packets {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		// The time of the last write stands for that of the last packet.
		end := uint64(max(0, int64(clock.Monotonic.Now())-int64(time.Since(info.ModTime()))))
		k.chunks = append(k.chunks, &chunk{path: path, row: "packets", Span: retention.Span{Packets: 1, Bytes: uint64(info.Size()), Begin: end, End: end}})
		k.total += info.Size()
	}
	d, _, err := retention.Of(t.dir)
	k.dropped = d
	return err
}

// finishRemovals removes the chunk that the recorder before has told of and was killed before it removed it, so that it is told once.
func finishRemovals(dir string) error {
	return retention.Each(dir, func(d *retention.Dropped) error {
		path := filepath.Join(dir, retention.PathOf(d.File))
		info, err := os.Lstat(path)
		if err != nil || filepath.Base(d.File) != d.File || !info.Mode().IsRegular() || uint64(info.Size()) != d.Bytes {
			return nil // it is gone
		}
		return os.Remove(path)
	})
}

// spanOf returns what packets a file has, as far as they are whole. Their events are not counted.
func spanOf(path string) (s retention.Span, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	le := binary.LittleEndian
	head := make([]byte, sourceHead)
	for at := int64(0); info.Size()-at >= sourceHead; {
		if _, err := f.ReadAt(head, at); err != nil {
			return s, err
		}
		length := le.Uint64(head[atSize:]) / 8
		if le.Uint32(head) != packetMagic || length < sourceHead || length > uint64(info.Size()-at) {
			break
		}
		s.Add(retention.Span{Packets: 1, Bytes: length, Begin: le.Uint64(head[atBegin:]), End: le.Uint64(head[atEnd:])})
		at += int64(length)
	}
	return s, nil
}
