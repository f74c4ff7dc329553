package simulation

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
}

const streams = 3

const uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564"

func newRecorder(w *world, dir string) *recorder {
	return &recorder{w: w, r: w.r, dir: dir, wrote: make(map[string][]byte), torn: make(map[string]int), gone: make(map[string]bool)}
}

// describe puts another metadata into the directory.
func (x *recorder) describe(more int) {
	x.version++
	text := fmt.Sprintf("/* CTF 1.8 */\ntrace { major = 1; minor = 8; uuid = %q; byte_order = le; };\n/* %d %s */\n", uuid, x.version, bytes.Repeat([]byte{'x'}, more))
	next := filepath.Join(x.dir, ".metadata.new")
	x.w.must(os.WriteFile(next, []byte(text), 0o666))
	x.w.must(os.Rename(next, filepath.Join(x.dir, wire.Metadata)))
	x.wrote[wire.Metadata] = []byte(text)
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
	if err != nil {
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
