package simulation

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"meridian/internal/collect/wire"
	"meridian/internal/spool"
)

// recorder writes a directory as Meridian's does: whole packets, sometimes half of one before it is killed, in chunks of which it drops some. Each packet
// has a number. What it wrote is kept in memory, beside the directory that the agent reads.
type recorder struct {
	w       *world
	r       *rand.Rand
	dir     string
	number  uint64
	turns   [streams]int
	wrote   map[string][]byte // whole packets of each file
	torn    map[string]int    // bytes behind them
	gone    map[string]bool   // files that were dropped
	dropped int64             // bytes of files that servers did not have
	version int
	account []byte           // of the agent, as it was some time before
	forgot  bool             // the agent's account went with the power, or the newest part of it
	cut     bool             // the host has lost power: nothing more is recorded
	left    map[string]int64 // whole packets that its disk had then
	had     map[string]int64 // what servers had acknowledged by then, as the agent wrote it down
	known   int64            // bytes that it had written down as recorded, as far as its disk had that
	sizes   map[string]int64 // of these, in each file that was not settled
}

const streams = 3

const uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564"

func newRecorder(w *world, dir string) *recorder {
	return &recorder{w: w, r: w.r, dir: dir, wrote: make(map[string][]byte), torn: make(map[string]int), gone: make(map[string]bool)}
}

// describe puts another metadata into the directory.
func (x *recorder) describe(more int) {
	x.version++
	text := fmt.Sprintf("/* CTF 1.8 */\ntrace { major = 1; minor = 8; uuid = %q; byte_order = le; };\nclock { name = monotonic; uuid = %q; freq = 1000000000; };\n/* %d %s */\n", uuid, boots[0], x.version, bytes.Repeat([]byte{'x'}, more))
	next := filepath.Join(x.dir, ".metadata.new")
	x.w.must(os.WriteFile(next, []byte(text), 0o666))
	x.w.must(os.Rename(next, filepath.Join(x.dir, wire.Metadata)))
	x.wrote[wire.Metadata] = []byte(text)
}

// boots name the times before and after a power cut.
var boots = []string{"11111111-6cee-11e0-8c08-cb07d7b3a564", "22222222-6cee-11e0-8c08-cb07d7b3a564"}

// powerCut takes from the directory what may not have been on the disk: the ends of files, whole files, and the newest account of the agent.
func (x *recorder) powerCut() {
	x.cut, x.left, x.had = true, make(map[string]int64), make(map[string]int64)
	if account, err := spool.Read(x.dir); err == nil {
		for name, part := range account.Files {
			x.had[name] = part.Acknowledged
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.wrote)) {
		if name == wire.Metadata || x.gone[name] {
			continue
		}
		path, size := filepath.Join(x.dir, name), len(x.wrote[name])+x.torn[name]
		switch x.r.IntN(6) {
		case 0:
			x.w.must(os.Remove(path))
			size = 0
		case 1, 2:
			size = x.r.IntN(size + 1)
			x.w.must(os.Truncate(path, int64(size)))
		}
		x.left[name] = wholePackets(x.wrote[name], size)
	}
	account := filepath.Join(x.dir, spool.File)
	x.forgot = x.r.IntN(2) == 0
	switch {
	case x.forgot && x.r.IntN(2) == 0:
		if err := os.Remove(account); err != nil && !errors.Is(err, fs.ErrNotExist) {
			x.w.must(err)
		}
	case x.forgot:
		if x.account != nil {
			x.w.must(os.WriteFile(account, x.account, 0o666))
		}
	}
	if left, err := spool.Read(x.dir); err == nil {
		x.known = left.Settled.Recorded
		x.sizes = make(map[string]int64)
		for _, of := range []map[string]spool.Part{left.Files, left.Gone} {
			for name, part := range of {
				x.known += part.Size
				x.sizes[name] = part.Size
			}
		}
	}
}

// wholePackets returns the end of the last whole packet of a file that was cut off.
func wholePackets(b []byte, size int) (end int64) {
	for end+64 <= int64(min(len(b), size)) {
		n := int64(binary.LittleEndian.Uint64(b[end+56:]) / 8)
		if end+n > int64(size) {
			break
		}
		end += n
	}
	return end
}

// packet returns a packet with the next number, of some size.
func (x *recorder) packet(size int) []byte {
	b := make([]byte, size)
	for i := 0; i < size; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], x.r.Uint64())
	}
	binary.LittleEndian.PutUint32(b, 0xc1fc1fc1)
	binary.LittleEndian.PutUint64(b[8:], x.number)
	binary.LittleEndian.PutUint64(b[56:], uint64(size)*8)
	x.number++
	return b
}

// record writes some packets.
func (x *recorder) record() {
	if x.cut {
		return
	}
	if x.r.IntN(8) == 0 {
		if b, err := os.ReadFile(filepath.Join(x.dir, spool.File)); err == nil {
			x.account = b
		}
	}
	for range 1 + x.r.IntN(4) {
		stream := x.r.IntN(streams)
		name := fmt.Sprintf("kernel_1_%d_%d", stream, x.turns[stream])
		path := filepath.Join(x.dir, name)
		if x.torn[name] > 0 { // the next recorder cuts it off
			x.w.must(os.Truncate(path, int64(len(x.wrote[name]))))
			delete(x.torn, name)
		}
		p := x.packet(64 + 8*x.r.IntN(900))
		if x.r.IntN(20) == 0 {
			x.number--
			p = p[:1+x.r.IntN(len(p)-1)]
			x.torn[name] = len(p)
		} else {
			x.wrote[name] = append(x.wrote[name], p...)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
		x.w.must(err)
		_, err = f.Write(p)
		x.w.must(err)
		x.w.must(f.Close())
		x.w.must(os.Chtimes(path, time.Now(), time.Now())) // of the schedule
		if x.torn[name] == 0 && x.r.IntN(6) == 0 {
			x.turns[stream]++ // this chunk is complete
		}
	}
	if x.r.IntN(20) == 0 {
		x.describe(x.r.IntN(100) * x.r.IntN(1000)) // some have no room in a message
	}
}

// drop removes complete chunks that an agent's account has in full: with released alone those that servers have (--release), else the oldest as well (--keep).
// A chunk that no agent has seen is told by events of the trace, which this recorder does not write.
func (x *recorder) drop(released bool) {
	account, err := spool.Read(x.dir)
	if err != nil || x.cut {
		return // there is none yet
	}
	for _, stream := range x.r.Perm(streams) {
		for turn := range x.turns[stream] {
			name := fmt.Sprintf("kernel_1_%d_%d", stream, turn)
			part, known := account.Files[name]
			if whole := int64(len(x.wrote[name])); x.gone[name] || !known || part.Size != whole || whole == 0 || released && part.Acknowledged < whole {
				continue
			}
			x.w.must(os.Remove(filepath.Join(x.dir, name)))
			x.gone[name] = true
			if x.w.net.note("drop %s %v", name, released); !released {
				x.dropped += int64(len(x.wrote[name]))
				return // one at a time
			}
		}
	}
}
