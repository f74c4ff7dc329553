package output

import (
	"context"
	"io"
)

// asyncWriter passes what it is given to another writer in a goroutine of its own, so that making the data and the
// kernel's copying of it overlap: for a merged capture of gigabytes they cost about the same. An error of the other
// writer ends all further writes. Close always ends the goroutine.
//
// Blocks go round between two channels: full ones to the goroutine, empty ones back.
type asyncWriter struct {
	to         io.Writer
	free, full chan []byte
	block      []byte        // being filled by Write
	under      bool          // blocks may be on their way to the goroutine, or in it
	failed     chan struct{} // closed after err is set
	err        error         // of the goroutine; read after failed or done is closed
	done       chan struct{} // closed when the goroutine ends
}

const (
	blockSize  = 256 << 10 // small enough to be in a processor's cache still when the kernel copies it
	blockCount = 8
)

func newAsyncWriter(w io.Writer) *asyncWriter {
	a := &asyncWriter{
		to:   w,
		free: make(chan []byte, blockCount), full: make(chan []byte, blockCount),
		failed: make(chan struct{}), done: make(chan struct{}),
	}
	for range blockCount - 1 {
		a.free <- make([]byte, 0, blockSize)
	}
	a.block = make([]byte, 0, blockSize)
	go func() {
		defer close(a.done)
		for block := range a.full {
			if a.err == nil {
				if _, err := w.Write(block); err != nil {
					a.err = err
					close(a.failed)
				}
			}
			a.free <- block[:0]
		}
	}()
	return a
}

func (a *asyncWriter) Write(p []byte) (int, error) {
	select {
	case <-a.failed:
		return 0, a.err
	default:
	}
	n := len(p)
	for len(p) > 0 {
		k := copy(a.block[len(a.block):cap(a.block)], p)
		a.block, p = a.block[:len(a.block)+k], p[k:]
		if len(a.block) == cap(a.block) {
			a.under = true
			a.full <- a.block
			a.block = <-a.free
		}
	}
	return n, nil
}

// through writes p in the caller's goroutine, behind all that was given to Write: for callers that have large blocks made by
// several goroutines, whose processors have them in their caches.
func (a *asyncWriter) through(p []byte) error {
	if err := a.drain(); err != nil {
		return err
	}
	_, err := a.to.Write(p)
	if err != nil {
		a.err = err
		close(a.failed)
	}
	return err
}

// drain waits until all that was given to Write is written.
func (a *asyncWriter) drain() error {
	if a.under || len(a.block) > 0 {
		a.full <- a.block
		var all [blockCount][]byte
		for i := range all {
			all[i] = <-a.free // all blocks are back
		}
		for _, b := range all[1:] {
			a.free <- b
		}
		a.block, a.under = all[0], false
	}
	return a.err // of the goroutine, which waits for a block
}

// Close writes the last block, waits for all writes to end and returns the first error.
func (a *asyncWriter) Close() error {
	a.full <- a.block
	close(a.full)
	<-a.done
	return a.err
}

// ctxWriter fails once its context has ended, so that an interruption ends every output, whether or not its encoder
// looks at the context.
type ctxWriter struct {
	context.Context
	io.Writer
}

func (w ctxWriter) Write(p []byte) (int, error) {
	if err := w.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
