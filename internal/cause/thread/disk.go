package thread

import (
	"fmt"
	"sort"
)

// block is a request to a device for blocks that was done.
type block struct {
	issued, done int64
	tid          int32 // that asked the device
	device       string
	bytes        uint64
	operation    uint64
}

// blockKey names a request while it is under way.
type blockKey struct {
	device string
	sector uint64
}

// Issue adds that a device was asked for blocks by a thread.
func (h *Host) Issue(at int64, tid int32, device string, sector, bytes, operation uint64) {
	h.asked[blockKey{device, sector}] = block{issued: at, tid: tid, device: device, bytes: bytes, operation: operation}
}

// Complete adds that a device has done what it was asked for, as a processor was told. The end of what began before the recording is left out.
func (h *Host) Complete(at int64, cpu int32, device string, sector uint64) {
	k := blockKey{device, sector}
	b, known := h.asked[k]
	if !known {
		return
	}
	delete(h.asked, k)
	b.done = at
	h.blocks = append(h.blocks, b)
	c := h.cpu(cpu)
	c.done, c.blocks = at, len(h.blocks)
}

var operations = [...]string{"read", "write", "flush", "discard", "request"}

func (b *block) words() string {
	name := operations[min(b.operation, uint64(len(operations)-1))]
	if b.bytes == 0 {
		return fmt.Sprintf("%s: %s", b.device, name)
	}
	return fmt.Sprintf("%s: %s of %d bytes", b.device, name, b.bytes)
}

// disk returns the last request to a device that was done in (from, to], one that a thread asked for before others; "" if there was none.
func (h *Host) disk(tid int32, from, to int64) string {
	last := ""
	for i := sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i].done > to }) - 1; i >= 0 && h.blocks[i].done > from; i-- {
		if h.blocks[i].tid == tid {
			return h.blocks[i].words()
		}
		if last == "" {
			last = h.blocks[i].words()
		}
	}
	return last
}
