package record

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"meridian/internal/retention"
)

// chunkFile is the file of a stream, or where the recorder drops what is old a series of files:
//
//	NAME                  without [Options.Keep]
//	NAME_0, NAME_1, ...   with it: each is a chunk of whole packets; the oldest are removed, the last is written
//	NAME_R_0, ...         the same of a recorder that continues a trace, whose meridian:dropped events are in retention_R
//
// A chunk never has the name of one that was dropped: a copy of the trace on a server still has that.
//
// A recorder that drops nothing continues the last chunk of an earlier one. One that does begins a chunk of its own, so that
// the earlier ones may be removed at any time.
//
// The first packet of a chunk after others must tell of no new loss: a reader of that file alone could not tell it from the losses
// before. Where [chunkFile.fresh] holds, the owner first writes a packet without events and with the counts of the one before.
type chunkFile struct {
	k     *keeper // nil: nothing is dropped
	base  string  // path of NAME
	row   string  // what the file is of
	state bool    // of clocks: dropped when no event is left that needs it
	roll  int     // bytes after which a chunk ends of which only the last two are left, whatever is kept; 0 for none

	// lock is held while the file is written. The keeper tries it before it removes the file that is being written.
	lock *sync.Mutex

	f     *os.File // nil until there is something to write
	path  string
	size  int64
	next  int    // number of the next chunk
	began bool   // the stream has packets in earlier chunks, even if these were removed
	now   *chunk // of the keeper
	older []string
}

// fresh says whether the next packet begins a chunk after others.
func (c *chunkFile) fresh() bool { return c.f == nil && c.began && (c.k != nil || c.roll > 0) }

// resume continues the file of an earlier recorder.
func (c *chunkFile) resume(path string, size int64) {
	if path == "" {
		return
	}
	c.began = true
	if c.k == nil {
		c.path, c.size = path, size
	}
}

// append writes packets and returns the size of those that are in the file: all, or with an error those for which there was room.
func (c *chunkFile) append(b []byte, of retention.Span) (n int, err error) {
	if c.f == nil {
		if err := c.open(); err != nil {
			return 0, err
		}
	}
	if n, err = c.f.WriteAt(b, c.size); err != nil {
		// What was written of a packet would be one cut short, at which some readers stop. Whole ones stay: they may have been read.
		n = wholePackets(b[:n])
		c.size += int64(n)
		return n, errors.Join(full(err), c.f.Truncate(c.size))
	}
	c.size += int64(n)
	c.began = true
	of.Bytes = uint64(n)
	switch {
	case c.k != nil:
		if c.k.grew(c.now, of) {
			err = c.end()
		}
		return n, errors.Join(err, c.k.enforce())
	case c.roll > 0 && c.size >= int64(c.roll):
		return n, c.end()
	}
	return n, nil
}

// open opens the file of the next packet: the one that an earlier recorder left, or a new one.
func (c *chunkFile) open() (err error) {
	flags := os.O_WRONLY
	switch {
	case c.k != nil || c.roll > 0:
		run := ""
		if c.k != nil {
			run = c.k.run
		}
		c.path = fmt.Sprint(c.base, "_", run, c.next)
		c.next++
		flags |= os.O_CREATE | os.O_TRUNC
	case c.path == "":
		c.path = c.base
		flags |= os.O_CREATE | os.O_TRUNC // an earlier recorder may have been killed before its first packet
	}
	if c.f, err = os.OpenFile(c.path, flags, 0o666); err != nil {
		c.f = nil
		return full(err)
	}
	if c.k != nil {
		c.now = c.k.begin(c)
	}
	return nil
}

// end ends the chunk. The next packet begins another.
func (c *chunkFile) end() error {
	err := c.close()
	if c.roll > 0 {
		for c.older = append(c.older, c.path); len(c.older) > 1; c.older = c.older[1:] {
			os.Remove(c.older[0])
		}
	}
	c.size = 0
	return err
}

func (c *chunkFile) close() error {
	if c.f == nil {
		return nil
	}
	err := c.f.Close()
	c.f = nil
	if c.now != nil {
		c.k.ended(c.now)
		c.now = nil
	}
	return full(err)
}
