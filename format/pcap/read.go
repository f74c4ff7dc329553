package pcap

import (
	"context"
	"fmt"
	"io"

	"meridian/trace"
)

// Read reduces a capture to memory: a packet for every frame, in file order, so that packet i is frame number i. Progress
// is told the bytes of the file read so far from time to time, in the same goroutine; it and w may be nil. Cancelling ctx
// ends the reading with its error.
func Read(ctx context.Context, path, host string, w *trace.Warnings, progress func(fileBytes int64)) (*trace.Capture, error) {
	return ReadIn(ctx, path, host, nil, w, progress)
}

// ReadIn is [Read] for captures that may be larger than memory: m keeps the packets, unless it is nil.
func ReadIn(ctx context.Context, path, host string, m trace.Memory, w *trace.Warnings, progress func(fileBytes int64)) (*trace.Capture, error) {
	r, err := Open(path, w)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.blocks = new(fileBlocks)
	return reduceAll(ctx, r, path, host, newChunks(r, path), m, w, progress)
}

// ReadFrom is [ReadIn] for a file that is open already, or other bytes; file is their name in the capture, in errors and warnings. in stays the
// caller's to close.
func ReadFrom(ctx context.Context, in io.Reader, file, host string, m trace.Memory, w *trace.Warnings, progress func(fileBytes int64)) (*trace.Capture, error) {
	r, err := NewReader(in, file, w)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return reduceAll(ctx, r, file, host, nil, m, w, progress)
}

// reduceAll reduces what a reader brings. The frames are divided into x, unless it is nil.
func reduceAll(ctx context.Context, r *Reader, path, host string, x *chunks, m trace.Memory, w *trace.Warnings, progress func(fileBytes int64)) (*trace.Capture, error) {
	d := NewDecoder(path, w)
	defer d.Flush()
	c := &trace.Capture{Host: host, File: path, Packets: trace.NewLog(m)}
	var f trace.Frame
	var granularity trace.Granularity
	var check trace.TimestampCheck
	for n := 0; ; n++ {
		if n&(1<<14-1) == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(r.Consumed())
			}
		}
		before := r.last
		if err := r.Next(&f); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if x != nil {
			x.add(r, &f, before)
		}
		c.StampSum += uint64(f.Time)
		p := c.Packets.Append()
		d.Decode(r.ifaces[f.Interface].LinkType, &f, p)
		if r.unknown {
			p.Kind = trace.Untimed
		} else {
			granularity.Unit = r.step
			granularity.Add(f.Time)
		}
		check.Add(p)
	}
	if progress != nil {
		progress(r.Consumed())
	}
	if n := c.Packets.Len(); 2*r.badFractions > n {
		// What is below a second may be so by chance, and be wrong as well.
		r.tally.warn(mostBad, fmt.Sprintf("%d of %d", r.badFractions, n))
		for i := range n {
			c.Packets.At(i).Kind = trace.Untimed
		}
	}
	if absurd := check.Settle(c); absurd > 0 {
		r.tally.warn(absurdTime, fmt.Sprintf("%d of %d", absurd, c.Packets.Len()))
	}
	c.Packets.Finish()
	if x != nil && len(c.Retimed) == 0 { // chunks know nothing of other times
		c.Frames = x
	}
	c.Flows, c.PTP = d.Flows(), d.ptp
	c.Interfaces = r.Interfaces()
	if r.blocks != nil {
		c.Blocks, c.BlocksLeft = r.blocks.list, r.blocks.left
	}
	granularity.Unit = r.step
	c.Granularity = granularity.Step()
	return c, nil
}
