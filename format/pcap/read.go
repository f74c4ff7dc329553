package pcap

import (
	"context"
	"io"

	"meridian/trace"
)

// Read reduces a capture to memory: a packet for every frame, in file order, so that packet i is frame number i. Progress
// is told the bytes of the file read so far from time to time, in the same goroutine; it and w may be nil. Cancelling ctx
// ends the reading with its error.
func Read(ctx context.Context, path, host string, w *trace.Warnings, progress func(fileBytes int64)) (*trace.Capture, error) {
	r, err := Open(path, w)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	d := NewDecoder(path, w)
	defer d.Flush()
	c := &trace.Capture{Host: host, File: path}
	var f trace.Frame
	step := steps{at: 1_000_000_000}
	for n := 0; ; n++ {
		if n&(1<<14-1) == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(r.Consumed())
			}
		}
		if err := r.Next(&f); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		p := c.Packets.Append()
		d.Decode(r.ifaces[f.Interface].LinkType, &f, p)
		if r.unknown {
			p.Kind = trace.Other // its stamp is made up
			continue
		}
		step.add(f.Time, r.step)
	}
	if progress != nil {
		progress(r.Consumed())
	}
	c.Flows = d.Flows()
	c.Interfaces = r.Interfaces()
	c.Granularity = r.step
	if step.seen >= enoughStamps {
		c.Granularity = max(r.step, step.at)
	}
	return c, nil
}

// enoughStamps is how many stamps must agree before they are believed to be coarser than the file's unit.
const enoughStamps = 100

// steps finds the largest power of ten that divides every stamp.
type steps struct {
	at   int64
	seen int
}

// add takes a stamp; no step finer than the file's own is looked for.
func (s *steps) add(t, finest int64) {
	s.seen++
	for s.at > finest && t%s.at != 0 {
		s.at /= 10
	}
}
