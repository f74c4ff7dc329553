package ring

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// takes makes a ring with one shard of two sub-buffers and two spare ones. It returns how many events of half a sub-buffer find
// room before a reader has opened it.
func takes(t *testing.T, dir string) (n int) {
	t.Helper()
	w, err := Create(Options{Dir: dir, Shards: 1, Spare: 2, Buffers: 2, BufferSize: minBuffer, Classes: 1, Metadata: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unmap()
	if _, err := w.Register(Class{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	for emit(w.Shard(0), 0, minBuffer/2, uint64(n+1)) {
		n++
	}
	r, err := Open(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	found := 0
	for {
		var p Packet
		ok, err := r.Next(&p)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		found += p.Count
	}
	if found != n || r.Discarded(0)+r.Discarded(1)+r.Discarded(2) != 1 {
		t.Fatalf("%d events were taken by the ring, the reader finds %d; %d, %d and %d discarded, where one was",
			n, found, r.Discarded(0), r.Discarded(1), r.Discarded(2))
	}
	return n
}

// TestRingsUseSpareShardsWhileAReaderListens, and neither before nor after: without a reader nobody would empty them.
func TestRingsUseSpareShardsWhileAReaderListens(t *testing.T) {
	const own, all = 4, 12 // halves of sub-buffers in one shard, and in all three
	dir := t.TempDir()
	if n := takes(t, dir); n != own {
		t.Fatalf("without a reader: %d events, not %d", n, own)
	}
	one, other := Listen(dir), Listen(dir)
	if n := takes(t, dir); n != all {
		t.Fatalf("with two readers that listen: %d events, not %d", n, all)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if n := takes(t, dir); n != all {
		t.Fatalf("with one reader that listens: %d events, not %d", n, all)
	}
	if n := takes(t, t.TempDir()); n != own {
		t.Fatalf("in another directory: %d events, not %d", n, own)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if n := takes(t, dir); n != own {
		t.Fatalf("after they closed: %d events, not %d", n, own)
	}
}

// TestListenersAreToldOfRings, and of nothing else: /dev/shm is not theirs alone.
func TestListenersAreToldOfRings(t *testing.T) {
	dir := t.TempDir()
	l := Listen(dir)
	defer l.Close()
	if l.watch == nil {
		t.Skip("this system has no inotify, or no instance of it left")
	}
	other := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other("other.ring")
	w, err := Create(Options{Dir: dir, Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unmap()
	select {
	case <-l.Created():
	case <-time.After(60 * time.Second):
		t.Fatal("the ring was made 60 s ago")
	}
	if found, err := Find(dir); err != nil || len(found) != 1 || found[0] != w.Path() {
		t.Fatalf("%v, %v instead of %s", found, err, w.Path())
	}
	other("meridian-1-x.ring")
	if w, err = Create(Options{Dir: dir, Shards: 1}); err != nil {
		t.Fatal(err)
	}
	defer w.Unmap()
	<-l.Created()
	if n := len(l.Created()); n != 0 {
		t.Fatalf("%d more messages", n)
	}
}

// TestAReaderThatListensIsWrittenIntoTheHeader before the ring says that it is in use: whoever reads that sees it.
func TestAReaderThatListensIsWrittenIntoTheHeader(t *testing.T) {
	dir := t.TempDir()
	for _, listens := range []bool{false, true} {
		if listens {
			defer Listen(dir).Close()
		}
		w, err := Create(Options{Dir: dir, Shards: 1})
		if err != nil {
			t.Fatal(err)
		}
		if there := atomic.LoadUint32(word32(w.mem, atReader)) != 0; there != listens {
			t.Fatalf("a reader listens: %v, and the header says %v", listens, there)
		}
		r, err := Open(w.Path())
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if atomic.LoadUint32(word32(w.mem, atReader)) != 0 {
			t.Fatal("the reader has gone, and the header says that it is there")
		}
		w.Unmap()
	}
}
