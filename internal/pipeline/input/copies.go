package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"meridian/internal/scratch"
)

// Copies are files that grow by what comes through pipes, so that they can be followed as captures that grow. A pipe is read as soon as
// something comes, whatever becomes of the copy. So its writer never waits for one that reads the copy. What was read of the copy
// is taken from the disk ([Copies.Forget]), so that the copy takes what is still to be read, and some megabytes.
//
//	ssh HOST tcpdump -w - --> pipe --> DIR/0/stdin.pcap --> pcap.Follow
//
//	copy  | head | hole .............. | at most 8 MiB read | to be read |
type Copies struct {
	of      map[string]string // path of each pipe, by that of its copy
	read    map[string]int64  // by copy: where its hole ends
	running sync.WaitGroup
	mu      sync.Mutex
	left    int             // pipes that have not ended
	ended   map[string]bool // copies of pipes that have
	errs    []error         // of the copying, other than those of ctx
}

const (
	// captureEnd makes a copy known for a capture before anything is in it.
	captureEnd = ".pcap"
	// leastCapture is how many bytes the least header has: of pcap 24, a section of pcapng 28.
	leastCapture = 24
	// keptHead is how much of a copy's beginning stays on the disk, bytes: followers look whether it is the same file.
	keptHead = 64 << 10
	// forgotten is how much of a copy is taken from the disk at once, bytes.
	forgotten = 8 << 20
)

// FollowPipes begins to copy the pipes among arguments, as [Spool] names them, and returns the arguments with the copies in their places.
// It does not wait for what comes. Ended is called, from several goroutines, when a pipe has ended, with its path; last says that nothing is left
// to follow, since all arguments are pipes and have ended. It is not called once ctx has ended. The copying ends with the pipes or with ctx.
// The caller must call [Copies.Wait].
func FollowPipes(ctx context.Context, args []string, dir *scratch.Dir, ended func(path string, last bool)) ([]string, *Copies, error) {
	out, pipes, err := pipesOf(args, dir, captureEnd)
	if err != nil {
		return nil, nil, err
	}
	c := &Copies{of: make(map[string]string), read: make(map[string]int64), left: len(pipes), ended: make(map[string]bool)}
	for path, to := range pipes {
		c.of[to] = path
		c.running.Go(func() {
			err := spoolOne(ctx, path, to)
			if info, statErr := os.Stat(to); err == nil && statErr == nil && info.Size() < leastCapture {
				err = fmt.Errorf("%s: ended after %d bytes, before the header of a capture", path, info.Size())
			}
			if left := c.end(ctx, to, err); ctx.Err() == nil {
				ended(path, left == 0 && len(pipes) == len(args))
			}
		})
	}
	return out, c, nil
}

// end notes that the pipe of a copy has ended, and returns how many are left.
func (c *Copies) end(ctx context.Context, file string, err error) (left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[file] = ctx.Err() == nil
	if err != nil && ctx.Err() == nil {
		c.errs = append(c.errs, err)
	}
	c.left--
	return c.left
}

// Pipe returns the path of the pipe that a file is the copy of; "" if it is none.
func (c *Copies) Pipe(file string) string { return c.of[file] }

// Ended reports whether a file is the copy of a pipe that has ended: it grows no more.
func (c *Copies) Ended(file string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended[file]
}

// Forget takes from the disk what was read of a copy, up to a byte, but for its first 64 KiB. It is called by one goroutine. Where the file
// system has no holes, or the system is not Linux, the copy stays whole.
func (c *Copies) Forget(file string, read int64) error {
	from := max(c.read[file], keptHead)
	to := read / forgotten * forgotten
	if c.of[file] == "" || to <= from {
		return nil
	}
	c.read[file] = to
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return makeHole(f, from, to-from)
}

// Wait waits until all pipes have ended, or ctx. The error joins those of pipes that could not be copied to their ends.
func (c *Copies) Wait() error {
	c.running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortFunc(c.errs, func(x, y error) int { return cmp.Compare(x.Error(), y.Error()) })
	return errors.Join(c.errs...)
}
