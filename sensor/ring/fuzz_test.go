package ring

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// image returns the bytes of a small ring with events in it.
func image(f testing.TB, overwrite bool) []byte {
	w := made(f, Options{Shards: 2, Buffers: 2, Classes: 4, Metadata: 300, Overwrite: overwrite})
	class := registered(f, w, "step")
	for n := range uint64(100) {
		emit(w.Shard(0), class.ID, 100, n)
	}
	emit(w.Shard(1), class.ID, 30, 1)
	bytes, err := os.ReadFile(w.Path())
	if err != nil {
		f.Fatal(err)
	}
	return bytes
}

// FuzzRing opens rings in which numbers were changed (patches: an offset and eight bytes each), or files of anything. The
// reader must end soon, must not panic, and may return no byte twice as part of an event.
func FuzzRing(f *testing.F) {
	bases := [][]byte{image(f, false), image(f, true)}
	addSeeds(f, bases[0])
	path := filepath.Join(f.TempDir(), "meridian-1-00000000-0000-0000-0000-000000000000.ring")
	f.Fuzz(func(t *testing.T, file, patches []byte, overwrite bool) {
		if len(file) == 0 {
			base := bases[0]
			if overwrite {
				base = bases[1]
			}
			file = append(file, base...)
		}
		for ; len(patches) >= 12; patches = patches[12:] {
			if at := int(binary.LittleEndian.Uint32(patches)); at <= len(file)-8 {
				copy(file[at:], patches[4:12])
			}
		}
		os.Remove(path)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			return
		}
		defer r.Close()
		if n := len(r.Classes()); n > maxClasses {
			t.Fatalf("%d classes", n)
		}
		if n := len(r.Metadata()); n > 3*len(file) { // a byte that is not UTF-8 becomes three
			t.Fatalf("%d bytes of metadata in %d", n, len(file))
		}
		readAnything(t, r, len(file))
	})
}

// addSeeds adds the base itself, and the base with numbers that once misled a reader or might.
func addSeeds(f *testing.F, base []byte) {
	patch := func(pairs ...uint64) (b []byte) {
		for i := 0; i < len(pairs); i += 2 {
			b = binary.LittleEndian.AppendUint32(b, uint32(pairs[i]))
			b = binary.LittleEndian.AppendUint64(b, pairs[i+1])
		}
		return b
	}
	shards := binary.LittleEndian.Uint64(base[atShards:])
	data := binary.LittleEndian.Uint64(base[atData:])
	none := ^uint64(0)
	f.Add([]byte{}, []byte{}, false)
	f.Add([]byte{}, []byte{}, true)
	f.Add([]byte(magic), []byte{}, false)
	f.Add([]byte{}, patch(shards, none), false)
	f.Add([]byte{}, patch(shards, none), true)
	f.Add([]byte{}, patch(shards, 0), false)
	f.Add([]byte{}, patch(shards+atConsumed, none), false)
	f.Add([]byte{}, patch(shards+atConsumed, 5), false)
	f.Add([]byte{}, patch(shards+atOldest, 5), true)
	f.Add([]byte{}, patch(shards+atOldest, none<<12), true)
	f.Add([]byte{}, patch(data+8, 0), false)
	f.Add([]byte{}, patch(data+8, none), false)
	f.Add([]byte{}, patch(data+108, 1<<16), false)
	f.Add([]byte{}, patch(atShardCount, 1<<40|4096), false)
	f.Add([]byte{}, patch(atBufferSize, 1<<24), false)
	f.Add([]byte{}, patch(atMetadataLength, none), false)
	f.Add([]byte{}, patch(atClassCount, 4<<32|0xffffffff), false)
	f.Add([]byte{}, patch(data+8, 0xffff<<16), false)
	f.Add([]byte{}, patch(atData, none-4095), false)
	f.Add([]byte{}, patch(atSize, none), true)
}

// readAnything reads a ring that may hold anything, once without and once with taking it.
func readAnything(t *testing.T, r *Reader, size int) {
	events := 0
	taken := func(p *Packet) error {
		if p.Count == 0 || len(p.Events) < p.Count*HeadSize || len(p.Events) > r.bufferSize {
			t.Fatalf("%d events in %d bytes", p.Count, len(p.Events))
		}
		events += len(p.Events)
		if events > size {
			t.Fatalf("%d bytes of events in a file of %d", events, size)
		}
		return nil
	}
	var damage *DamageError
	if err := r.Snapshot(taken); err != nil && !errors.As(err, &damage) {
		t.Fatal(err)
	}
	events = 0
	// Each sub-buffer gives events or damage or both; one more is the part before the first, and then the shard is given up.
	for left := r.shardCount * (2*r.bufferCount + 4); ; left-- {
		if left == 0 {
			t.Fatal("there is no end to it")
		}
		var p Packet
		ok, err := r.Next(&p)
		if err != nil && !errors.As(err, &damage) {
			t.Fatal(err)
		}
		if ok {
			taken(&p)
		}
		if !ok && err == nil {
			break
		}
		if err := r.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWriterBearsWhateverAReaderStores: a wrong consumed costs events, and nothing else.
func TestWriterBearsWhateverAReaderStores(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		w := made(t, Options{Overwrite: overwrite})
		class := registered(t, w, "step")
		for n := range uint64(1000) {
			control := w.control(0)
			for _, at := range []uint64{atProduced, atDiscarded, atLastStamp, atConsumed, atOldest} {
				*word64(w.mem, control+at) = n * 0x9e3779b97f4a7c15
			}
			emit(w.Shard(0), class.ID, 12+int(n%4000), n)
		}
	}
}
