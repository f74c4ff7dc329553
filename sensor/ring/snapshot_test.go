package ring

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

func TestSnapshotGoesOnBehindDamage(t *testing.T) {
	const size, perBuffer = 1024, minBuffer / 1024
	w := made(t, Options{Shards: 1, Buffers: 4, BufferSize: minBuffer})
	class := registered(t, w, "step")
	for n := range uint64(4 * perBuffer) {
		emit(w.Shard(0), class.ID, size, n)
	}
	for buffer := range uint64(3) { // the second event of each has no length that can be
		binary.LittleEndian.PutUint16(w.mem[w.data(0)+buffer*minBuffer+size+10:], 1)
	}
	var read []uint64
	err := opened(t, w.Path()).Snapshot(func(p *Packet) error {
		for b := p.Events; len(b) > 0; b = b[size:] {
			read = append(read, binary.LittleEndian.Uint64(b))
		}
		return nil
	})
	if n := strings.Count(err.Error(), "are left out"); n != 3 {
		t.Errorf("damage in three places: %v", err)
	}
	if len(read) != 3+perBuffer || read[len(read)-1] != 4*perBuffer-1 {
		t.Errorf("read %v", read)
	}
}

func TestAShardOverwrittenBeyondWhatIsPublishedIsTold(t *testing.T) {
	w := made(t, Options{Shards: 1, Overwrite: true})
	emit(w.Shard(0), registered(t, w, "step").ID, 100, 1)
	binary.LittleEndian.PutUint64(w.mem[w.control(0)+atOldest:], 1<<40)
	r := opened(t, w.Path())
	var p Packet
	damage := (*DamageError)(nil)
	if ok, err := r.Next(&p); ok || !errors.As(err, &damage) || damage.Bytes != 0 {
		t.Errorf("%t, %v", ok, err)
	}
	if ok, err := r.Next(&p); ok || err != nil {
		t.Errorf("told twice: %t, %v", ok, err)
	}
}

// TestAnOutrunSnapshotComesToTheNewest: from wherever, and it counts all that it passes over.
func TestAnOutrunSnapshotComesToTheNewest(t *testing.T) {
	r := &Reader{layout: layout{bufferCount: 16, bufferSize: minBuffer}}
	for begin := range uint64(2 * minBuffer) {
		for _, limit := range []uint64{begin, begin + 1, 3*minBuffer + 5, 16 * minBuffer} {
			at := cursor{position: begin}
			steps := 0
			for r.ahead(&at, limit) {
				steps++
			}
			if limit < begin {
				continue
			}
			if at.position-begin != at.overwritten || at.position > limit || at.position/minBuffer < limit/minBuffer || steps > 6 {
				t.Fatalf("from %d before %d: at %d in %d steps, %d overwritten", begin, limit, at.position, steps, at.overwritten)
			}
		}
	}
}
