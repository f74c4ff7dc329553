package order

import (
	"context"
	"io"
	"math"

	"meridian/clock"
	"meridian/trace"
)

// memory is what one source may hold at once, in frames that wait for their turn and frames read ahead.
const memory = 64 << 20

// batchSize returns the bytes of frames read ahead at once: so many that handing them over costs nothing, so few that
// they are still in the cache when they are emitted, and fewer when there are many sources.
func batchSize(sources int) int { return min(max(8<<20/max(sources, 1), 16<<10), 128<<10) }

// item is a frame in a batch.
type item struct {
	time    clock.TimelineTime
	stamp   clock.HostTime // of its capture
	number  int
	start   uint32 // of the data in the batch's bytes; options follow
	data    uint32 // lengths, which capture files hold in 32 bits
	options uint32
	iface   int32
	wire    uint32
}

// batch holds the bytes of some frames that were read one after another. It is used again when all were emitted.
type batch struct {
	items []item
	bytes []byte
	left  int                // items not yet emitted
	floor clock.TimelineTime // no frame of a later batch is before it
}

// frame fills f with a frame of the batch.
func (b *batch) frame(i int, f *trace.Frame) {
	it := &b.items[i]
	f.Number, f.Time, f.Interface, f.Wire = it.number, it.stamp, int(it.iface), it.wire
	end := it.start + it.data
	f.Data = b.bytes[it.start:end:end]
	f.Options = nil
	if it.options > 0 {
		f.Options = b.bytes[end : end+it.options : end+it.options]
	}
}

// feed reads a source ahead, in a goroutine of its own. Batches travel in a circle: free -> filled by run -> full -> head.
type feed struct {
	source     *Source
	cursor     clock.Cursor
	window     int64
	size       int
	full, free chan *batch
	made       int // batches in the circle, at most cap(free)
}

func newFeed(s *Source, size int) *feed {
	f := &feed{source: s, cursor: clock.NewCursor(s.Map.Mid), window: s.Window, size: size}
	if f.window == 0 {
		f.window = DefaultWindow
	}
	f.full = make(chan *batch, 3)
	f.free = make(chan *batch, memory/size+2*cap(f.full))
	return f
}

// run reads the source to its end.
func (f *feed) run(ctx context.Context) error {
	defer close(f.full)
	var frame trace.Frame
	latest := clock.HostTime(math.MinInt64)
	for {
		b, err := f.take(ctx)
		if err != nil {
			return err
		}
		err = f.fill(b, &frame, &latest)
		if err != nil && err != io.EOF {
			return err
		}
		if latest != math.MinInt64 {
			b.floor = f.cursor.At(clock.Add(latest, -f.window))
		}
		if len(b.items) > 0 {
			select {
			case f.full <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// take returns an empty batch: a used one if there is any, else a new one while memory allows.
func (f *feed) take(ctx context.Context) (*batch, error) {
	select {
	case b := <-f.free:
		return b, nil
	default:
	}
	if f.made < cap(f.free) {
		f.made++
		return &batch{items: make([]item, 0, f.size/128), bytes: make([]byte, 0, f.size)}, nil
	}
	select {
	case b := <-f.free:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fill reads frames into b until it is full or the source ends, which it says by io.EOF.
func (f *feed) fill(b *batch, frame *trace.Frame, latest *clock.HostTime) error {
	if cap(b.bytes) > 2*f.size {
		b.bytes = make([]byte, 0, f.size) // one giant frame must not weigh for ever
	}
	b.items, b.bytes = b.items[:0], b.bytes[:0]
	defer func() { b.left = len(b.items) }()
	for len(b.items) < cap(b.items) {
		if err := f.source.Frames.Next(frame); err != nil {
			return err
		}
		if f.source.Keep != nil {
			keep, more := f.source.Keep(frame.Number)
			if keep {
				f.add(b, frame, latest)
			}
			if !more {
				return io.EOF
			}
		} else {
			f.add(b, frame, latest)
		}
		if len(b.bytes) >= f.size {
			return nil
		}
	}
	return nil
}

func (f *feed) add(b *batch, frame *trace.Frame, latest *clock.HostTime) {
	*latest = max(*latest, frame.Time)
	b.items = append(b.items, item{
		time: f.cursor.At(frame.Time), stamp: frame.Time, number: frame.Number, start: uint32(len(b.bytes)), data: uint32(len(frame.Data)),
		options: uint32(len(frame.Options)), iface: int32(frame.Interface), wire: frame.Wire,
	})
	b.bytes = append(b.bytes, frame.Data...)
	b.bytes = append(b.bytes, frame.Options...)
}
