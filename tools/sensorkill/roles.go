//go:build unix

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"meridian/sensor/ring"
)

const roleVariable = "MERIDIAN_SENSORKILL"

// roles are what this program is when it was started by itself.
var roles = map[string]func(){"writer": writer, "overwriter": writer, "reader": reader}

// started starts this program in a role.
func started(role string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), roleVariable+"="+role)
	c.Stderr = os.Stderr
	return c, c.Start()
}

// failed ends a child that was not killed.
func failed(err error) {
	fmt.Fprintf(os.Stderr, "sensorkill: %s: %v\n", os.Getenv(roleVariable), err)
	os.Exit(1)
}

// acknowledged is the page on which a writer keeps the number of the last event that it published, a cache line a shard.
type acknowledged []byte

func newAcknowledged(path string) (acknowledged, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func (a acknowledged) shard(i int) *uint64 { return (*uint64)(unsafe.Pointer(&a[i*64])) }

// writer emits numbered events in all shards, in the directory of its first argument, until it is killed.
func writer() {
	page, err := newAcknowledged(os.Args[2])
	if err != nil {
		failed(err)
	}
	w, err := ring.Create(ring.Options{Dir: os.Args[1], Shards: shards, Buffers: 4, BufferSize: 4096, Classes: 16, Metadata: 4096,
		Overwrite: os.Getenv(roleVariable) == "overwriter"})
	if err != nil {
		failed(err)
	}
	class, err := w.Register(ring.Class{Name: "number"})
	if err != nil {
		failed(err)
	}
	var all sync.WaitGroup
	for i := range shards {
		all.Add(1)
		go func() {
			defer all.Done()
			s, ack := w.Shard(i), page.shard(i)
			for number := uint64(1); ; {
				if emit(s, class.ID, i, number) {
					atomic.StoreUint64(ack, number)
					number++
				} else {
					runtime.Gosched()
				}
			}
		}()
	}
	all.Wait()
}

// reader appends the packets of a ring to a file, each in one write, and commits every few of them, until it is killed.
//
//	shard (4 bytes)  length (4)  position (8)  events
func reader() {
	r, err := ring.Open(os.Args[1])
	if err != nil {
		failed(err)
	}
	f, err := os.OpenFile(os.Args[2], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		failed(err)
	}
	var record []byte
	for n := 0; ; {
		var p ring.Packet
		ok, err := r.Next(&p)
		if err != nil {
			failed(err)
		}
		if !ok {
			runtime.Gosched()
			continue
		}
		record = binary.LittleEndian.AppendUint32(record[:0], uint32(p.Shard))
		record = binary.LittleEndian.AppendUint32(record, uint32(len(p.Events)))
		record = binary.LittleEndian.AppendUint64(record, p.Position)
		record = append(record, p.Events...)
		if _, err := f.Write(record); err != nil {
			failed(err)
		}
		if n++; n%3 == 0 {
			if err := r.Commit(); err != nil {
				failed(err)
			}
		}
	}
}
