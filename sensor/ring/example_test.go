package ring_test

import (
	"fmt"
	"log"
	"os"
	"unsafe"

	"meridian/sensor/ring"
)

// A writer and a reader of one ring, here in one process.
func Example() {
	dir, err := os.MkdirTemp("", "ring")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	w, err := ring.Create(ring.Options{Dir: dir, Clock: ring.Clock{Kind: 4, Frequency: 1e9}})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Unmap()
	class, err := w.Register(ring.Class{Name: "step", Fields: "integer { size = 64; align = 8; signed = false; } _n;"})
	if err != nil {
		log.Fatal(err)
	}
	shard, err := w.Claim() // this goroutine's alone until Release
	if err != nil {
		log.Fatal(err)
	}
	const size = ring.HeadSize + 8
	for n := range uint64(3) {
		if p := shard.Reserve(size); p != nil { // nil: no room, and counted
			ring.PutHead(p, class.ID, size, 1000+n)
			*(*uint64)(unsafe.Add(p, ring.HeadSize)) = n
			shard.Commit(size, 1000+n)
		}
	}
	w.Release(shard)

	r, err := ring.Open(w.Path())
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	var p ring.Packet
	for {
		ok, err := r.Next(&p)
		if err != nil {
			log.Fatal(err)
		}
		if !ok {
			break
		}
		fmt.Printf("%d events of %d bytes, from %d to %d\n", p.Count, len(p.Events), p.First, p.Last)
	}
	if err := r.Commit(); err != nil { // no reader sees them again
		log.Fatal(err)
	}
	// Output: 3 events of 60 bytes, from 1000 to 1002
}

// Look says what a ring is, without being its reader.
func ExampleLook() {
	dir, err := os.MkdirTemp("", "ring")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := ring.Create(ring.Options{Dir: dir, Program: "shop", Shards: 2, Overwrite: true})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Unmap()

	paths, err := ring.Find(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range paths {
		info, err := ring.Look(path)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.Program, info.PID == os.Getpid(), info.Shards, info.Overwrite)
	}
	// Output: shop true 2 true
}
