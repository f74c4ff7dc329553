package s3

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Sizes of what is kept.
const (
	blockSize   = 256 << 10
	cacheBlocks = 512 // 128 MiB
	maxRun      = 16  // blocks that are requested at once: 4 MiB
)

// Retries of a range whose answer broke off. Requests that are not answered are repeated by the client below.
const (
	maxRetries   = 5
	retryPause   = 100 * time.Millisecond // doubled each time
	stallTimeout = 30 * time.Second       // without a byte
)

// errAbandoned ends a block whose file was closed while it was requested. Others that wait for it request it again.
var errAbandoned = errors.New("the request was given up")

var errStalled = fmt.Errorf("no byte in %v", stallTimeout)

// cache has blocks of all open files.
type cache struct {
	limit int // blocks; what is on its way is not dropped and may be more

	mu     sync.Mutex
	blocks map[blockID]*block
	used   list.List // of *block that are there, the least recently used first
	files  int       // that are open
}

// blockID names a block of an object; several files may be of one object.
type blockID struct {
	bucket, key, tag string
	number           int64
}

// block is a part of an object. data and err may be read when ready is closed.
type block struct {
	id    blockID
	ready chan struct{}
	data  []byte
	err   error
	place *list.Element // nil while it is on its way
}

func newCache(limit int) *cache { return &cache{limit: limit, blocks: make(map[blockID]*block)} }

func (c *cache) open(ctx context.Context, client *Client, e *entry) *File {
	c.mu.Lock()
	c.files++
	c.mu.Unlock()
	f := &File{entry: e, client: client, cache: c}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

func (c *cache) closed() {
	c.mu.Lock()
	c.files--
	c.mu.Unlock()
}

// longestRun is how many blocks one file may request ahead: files that are read at the same time share the cache.
func (c *cache) longestRun() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(max(1, min(maxRun, c.limit/4/max(c.files, 1))))
}

// take returns the block of a number and begins requests for those of the n from it on that are missing. f fetches them.
func (c *cache) take(f *File, number, n int64) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.blocks[f.id(number)]
	if first != nil && first.place != nil {
		c.used.MoveToBack(first.place)
	}
	// One request has blocks of one object that lie one behind the other.
	o, _, left := f.entry.holding(number)
	var missing []*block
	for end := min(number+min(n, left), f.blocks()); number < end; number++ {
		id := f.id(number)
		if c.blocks[id] == nil {
			b := &block{id: id, ready: make(chan struct{})}
			c.blocks[id] = b
			missing = append(missing, b)
			if first == nil {
				first = b
			}
		} else if len(missing) > 0 {
			break
		}
	}
	for len(c.blocks) > c.limit && c.used.Len() > 0 {
		old := c.used.Remove(c.used.Front()).(*block)
		delete(c.blocks, old.id)
	}
	if len(missing) > 0 {
		f.fetches.Go(func() { f.fetch(o, missing) })
	}
	return first
}

// done tells those that wait for a block what came of it.
func (c *cache) done(b *block, data []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.data, b.err = data, err; err != nil {
		delete(c.blocks, b.id)
	} else {
		b.place = c.used.PushBack(b)
	}
	close(b.ready)
}

// fetch requests blocks of an object that lie one behind the other, and goes on where an answer breaks off.
func (f *File) fetch(o *Object, blocks []*block) {
	for tries := 0; len(blocks) > 0; {
		n, err := f.fetchOnce(o, blocks)
		blocks = blocks[n:]
		if n > 0 {
			tries = 0
		}
		if len(blocks) == 0 {
			return
		}
		tries++
		if f.ctx.Err() == nil && tries < maxRetries && isBroken(err) {
			pause := time.NewTimer(retryPause << (tries - 1))
			select {
			case <-pause.C:
				continue
			case <-f.ctx.Done():
				pause.Stop()
			}
		}
		if f.ctx.Err() != nil {
			err = errAbandoned
		}
		for _, b := range blocks {
			f.cache.done(b, nil, err)
		}
		return
	}
}

// brokenOff is an answer that ended early, or was damaged on its way.
type brokenOff struct{ error }

func (e brokenOff) Unwrap() error { return e.error }

func isBroken(err error) bool {
	var broken brokenOff
	return errors.As(err, &broken)
}

// fetchOnce makes one request for blocks. It returns how many have come.
func (f *File) fetchOnce(o *Object, blocks []*block) (n int, err error) {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	from := blocks[0].id.number * blockSize
	body, sums, err := f.client.Range(ctx, o, from, min(from+int64(len(blocks))*blockSize, o.Size))
	if err != nil {
		return 0, err
	}
	defer body.Close()
	stalled := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	defer stalled.Stop()
	for _, b := range blocks {
		data := make([]byte, min(blockSize, o.Size-b.id.number*blockSize))
		for at := 0; at < len(data); {
			k, err := body.Read(data[at:])
			stalled.Reset(stallTimeout)
			if at += k; err != nil && at < len(data) {
				if cause := context.Cause(ctx); cause != nil {
					err = cause
				}
				return n, brokenOff{fmt.Errorf("s3://%s/%s at offset %d: the answer broke off: %w", o.Bucket, o.Key, b.id.number*blockSize+int64(at), noEOF(err))}
			}
		}
		if err := sums.check(b.id.number, data); err != nil {
			return n, brokenOff{fmt.Errorf("s3://%s/%s at offset %d: %w", o.Bucket, o.Key, b.id.number*blockSize, err)}
		}
		f.cache.done(b, data, nil)
		n++
	}
	return n, nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
