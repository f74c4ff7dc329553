package pipeline

import "io"

// behind passes what it is given to another writer in a goroutine of its own, so that making the data and the kernel's
// copying of it overlap: over a merged capture of gigabytes they cost about the same. A close ends the goroutine in
// any case and returns the first error; an error also ends all further writes.
type behind struct {
	free, full chan []byte
	block      []byte
	failed     chan struct{} // closed when err is set
	err        error
	done       chan struct{}
}

const (
	behindBlock  = 256 << 10 // small enough to be still in a cache when the kernel copies it
	behindBlocks = 8
)

func newBehind(w io.Writer) *behind {
	b := &behind{
		free: make(chan []byte, behindBlocks), full: make(chan []byte, behindBlocks),
		failed: make(chan struct{}), done: make(chan struct{}),
	}
	for range behindBlocks - 1 {
		b.free <- make([]byte, 0, behindBlock)
	}
	b.block = make([]byte, 0, behindBlock)
	go func() {
		defer close(b.done)
		for block := range b.full {
			if b.err == nil {
				if _, err := w.Write(block); err != nil {
					b.err = err
					close(b.failed)
				}
			}
			b.free <- block[:0]
		}
	}()
	return b
}

func (b *behind) Write(p []byte) (int, error) {
	select {
	case <-b.failed:
		return 0, b.err
	default:
	}
	n := len(p)
	for len(p) > 0 {
		k := copy(b.block[len(b.block):cap(b.block)], p)
		b.block, p = b.block[:len(b.block)+k], p[k:]
		if len(b.block) == cap(b.block) {
			b.full <- b.block
			b.block = <-b.free
		}
	}
	return n, nil
}

// Close writes what is left and waits for it.
func (b *behind) Close() error {
	b.full <- b.block
	close(b.full)
	<-b.done
	return b.err
}
