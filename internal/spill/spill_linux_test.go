package spill

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"meridian/internal/filetest"
	"meridian/internal/scratch"
	"meridian/internal/testneed"
)

func open(t *testing.T, under string, limit int64) *Memory {
	t.Helper()
	dir := scratch.New(under)
	m := New(dir, limit, func(error) {})
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), dir.Close()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestArraysStayWhatTheyAreWhilePagesAreUnmapped(t *testing.T) {
	m := open(t, t.TempDir(), 0)
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			var kept, want [][]byte
			for range 20 {
				n := 1 + r.IntN(1<<19)
				b := random(r, n)
				want = append(want, bytes.Clone(b))
				switch r.IntN(3) {
				case 0:
					kept = append(kept, m.Keep(b))
					continue
				case 1:
					kept = append(kept, placed(m, r, b))
					continue
				}
				made := m.Make(n)
				if !bytes.Equal(made, make([]byte, n)) {
					t.Error("not zeros")
				}
				m.trim(0)
				copy(made, b)
				kept = append(kept, made)
			}
			m.trim(0)
			for i := range kept {
				if !bytes.Equal(kept[i], want[i]) {
					t.Errorf("array %d of %d bytes has another content", i, len(want[i]))
				}
				kept[i][0]++ // writable
			}
			m.trim(0)
			for i := range kept {
				if kept[i][0] != want[i][0]+1 {
					t.Errorf("array %d: what was written is lost", i)
				}
			}
		})
	}
	all.Wait()
	if m.Err() != nil || m.Spilled() == 0 {
		t.Errorf("%d bytes spilled: %v", m.Spilled(), m.Err())
	}
}

// placed writes an array part by part, in any order.
func placed(m *Memory, r *rand.Rand, b []byte) []byte {
	room := m.Room(len(b))
	part := 1 + r.IntN(1<<17)
	for _, k := range r.Perm((len(b) + part - 1) / part) {
		m.Place(room, k*part, b[k*part:min((k+1)*part, len(b))])
	}
	return room
}

func TestUnmappedPagesAreNotInMemory(t *testing.T) {
	m := open(t, t.TempDir(), 0)
	const size = 96 << 20
	b := m.Make(size)
	before := m.pages.bytes()
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	m.trim(0)
	if grown := m.pages.bytes() - before; grown > size/2 {
		t.Errorf("%d bytes of %d are in memory", grown, size)
	}
}

// A file system may keep a file in blocks of megabytes, all of which a touch of one byte would map.
func TestATouchMapsLittle(t *testing.T) {
	m := open(t, t.TempDir(), 0)
	const size, touches = 64 << 20, 64
	ones := bytes.Repeat([]byte{1}, size)
	for name, b := range map[string][]byte{"made": m.Make(size), "placed": placed(m, rand.New(rand.NewPCG(1, 2)), ones), "kept": m.Keep(ones)} {
		m.trim(0)
		before := m.pages.bytes()
		for i := 0; i < size; i += size / touches {
			b[i] = 2
		}
		if grown := m.pages.bytes() - before; grown > touches*4*piece {
			t.Errorf("%s: %d touches mapped %d bytes", name, touches, grown)
		}
	}
}

func TestWhatFitsStaysOnTheHeap(t *testing.T) {
	under := t.TempDir()
	m := open(t, under, 1<<30) // of which 3/8 less 64 MiB are 320 MiB
	for i := range 320 {
		b := []byte{1<<20 - 1: byte(i)}
		if kept := m.Keep(b); &kept[0] != &b[0] {
			t.Fatalf("array %d was copied", i)
		}
	}
	if got := filetest.Names(t, under); len(got) > 0 || m.Spilled() > 0 {
		t.Errorf("%v is made, %d bytes spilled", got, m.Spilled())
	}
	short := make([]byte, least-1)
	if kept := m.Keep(short); &kept[0] != &short[0] {
		t.Error("a short array is not worth pages")
	}
	long := make([]byte, 1<<20)
	if kept := m.Keep(long); &kept[0] == &long[0] || m.Spilled() != 1<<20 {
		t.Errorf("%d bytes spilled of one megabyte too many", m.Spilled())
	}
}

// Of 1 GiB arrays may take 320 MiB, and 64 MiB if a tenth of the input has shown that all of it will be more.
func TestOfALargeInputLittleStaysOnTheHeap(t *testing.T) {
	for _, c := range []struct {
		total   int64 // of which 10 are read after 33 MiB
		spilled int64 // bytes of 100 MiB
	}{{90, 0}, {100, 36 << 20}, {1000, 36 << 20}} {
		m := open(t, t.TempDir(), 1<<30)
		m.Progress(0, c.total)
		for i := range 100 {
			m.Keep(make([]byte, 1<<20))
			if i == 32 {
				m.Progress(10, c.total)
			}
		}
		if m.Spilled() != c.spilled {
			t.Errorf("%d times as much: %d MiB spilled, want %d", c.total/10, m.Spilled()>>20, c.spilled>>20)
		}
	}
}

func TestWhatIsFreedTakesNoRoom(t *testing.T) {
	m := open(t, t.TempDir(), 0)
	const size = 8 << 20
	first, b, last := m.Keep(bytes.Repeat([]byte{1}, 5000)), m.Make(size), m.Keep(bytes.Repeat([]byte{2}, 5000))
	for i := range b {
		b[i] = 3
	}
	before := room(t, m)
	m.Free(b)
	m.freed.Wait()
	if freed := before - room(t, m); freed < size/2 {
		t.Errorf("%d of %d bytes are freed", freed, size)
	}
	if first[4999] != 1 || last[0] != 2 {
		t.Error("other arrays have changed")
	}
}

func TestWhatIsDroppedTakesNoRoom(t *testing.T) {
	m := open(t, t.TempDir(), 0)
	for range 3 {
		m.Keep(bytes.Repeat([]byte{1}, 8<<20))
	}
	before := room(t, m)
	m.Drop()
	m.freed.Wait()
	if left := room(t, m); left > before/2 {
		t.Errorf("%d of %d bytes are left", left, before)
	}
	if b := m.Keep([]byte{1, 2}); b[1] != 2 || m.Err() != nil {
		t.Errorf("after it %v (%v) is kept", b, m.Err())
	}
}

// room returns how much of the disk a memory's file takes, bytes.
func room(t *testing.T, m *Memory) int64 {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Fstat(int(m.file.Fd()), &s); err != nil {
		t.Fatal(err)
	}
	return s.Blocks * 512
}

// A process that is killed leaves nothing behind but an empty directory, which the next run removes.
func TestTheFileHasNoName(t *testing.T) {
	under := t.TempDir()
	m := open(t, under, 0)
	m.Keep(make([]byte, 1<<20))
	dirs := filetest.Names(t, under)
	if len(dirs) != 1 {
		t.Fatalf("in the directory: %v", dirs)
	}
	if files := filetest.Names(t, filepath.Join(under, dirs[0])); len(files) > 0 {
		t.Errorf("in the scratch directory: %v", files)
	}
}

func TestAFullDiskIsAnErrorAndTheArraysAreThere(t *testing.T) {
	testneed.Root(t, "mounting a small file system")
	disk := t.TempDir()
	if err := syscall.Mount("meridian", disk, "tmpfs", 0, "size=4m"); err != nil {
		testneed.Missing(t, "a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for name, add := range map[string]func(*Memory, []byte) []byte{
		"keep": func(m *Memory, b []byte) []byte { return m.Keep(bytes.Clone(b)) },
		"make": func(m *Memory, b []byte) []byte {
			made := m.Make(len(b))
			copy(made, b)
			return made
		},
	} {
		dir, failed := scratch.New(disk), 0
		m := New(dir, 0, func(err error) {
			if failed++; !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: %v", name, err)
			}
		})
		r := rand.New(rand.NewPCG(1, 2))
		var kept, want [][]byte
		for range 8 {
			b := random(r, 1<<20)
			want = append(want, b)
			kept = append(kept, add(m, b))
		}
		for i := range kept {
			if !bytes.Equal(kept[i], want[i]) {
				t.Errorf("%s: array %d has another content", name, i)
			}
		}
		if failed != 1 || !errors.Is(m.Err(), syscall.ENOSPC) {
			t.Errorf("%s: told %d times: %v", name, failed, m.Err())
		}
		if err := errors.Join(m.Close(), dir.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestADirectoryThatIsNotThereIsAnError(t *testing.T) {
	var told error
	m := New(scratch.New(filepath.Join(t.TempDir(), "none")), 0, func(err error) { told = err })
	defer m.Close()
	if b := m.Make(1 << 20); len(b) != 1<<20 || !errors.Is(told, os.ErrNotExist) {
		t.Errorf("%d bytes; %v", len(b), told)
	}
}

// The goroutine that watches may come late, as on a busy machine. It is not even there while this test's one reads.
func TestWhoeverReadsUnmapsWhatIsTooMuch(t *testing.T) {
	const limit, size, step = 256 << 20, 256 << 20, 1 << 20
	m := open(t, t.TempDir(), limit)
	m.Progress(1, 100) // the first byte shows a hundred times as much
	b := m.Keep(make([]byte, size))
	if m.Spilled() != size {
		t.Fatalf("%d bytes spilled", m.Spilled())
	}
	close(m.quit)
	m.done.Wait()
	m.quit = make(chan struct{}) // which Close closes
	most := int64(0)
	for from := 0; from < size; from += step {
		for i := from; i < from+step; i += 4096 {
			b[i]++
		}
		m.Touched(step)
		most = max(most, m.pages.bytes()-m.others)
	}
	if least := int64(limit / 8); most < least/2 || most > least+lookAfter+step {
		t.Errorf("%d MiB are mapped at most, want some %d", most>>20, least>>20)
	}
}
