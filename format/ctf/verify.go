package ctf

import (
	"context"
	"io"
)

// EndsWithinPacket is the kind of warning about a file that ends within a packet: its writer was killed, or has not
// come further yet.
const EndsWithinPacket = "file ends within a packet: its complete events are used"

// Verify reads all packets of the trace without decoding their events: damaged ones, by their CRC-32C where they have
// one, and what the tracer says that it lost, become gaps in the warnings given to [Open]. Cancelling ctx ends it with
// its error. Of a trace in memory it takes about the time of its checksums.
func (t *Trace) Verify(ctx context.Context) (Tally, error) {
	var sum Tally
	for _, s := range t.Streams {
		r := s.newReader()
		for {
			if err := ctx.Err(); err != nil {
				return sum, err
			}
			if err := r.nextPacket(); err == io.EOF {
				break
			} else if err != nil {
				return sum, err
			}
		}
		sum.add(&r.Tally)
	}
	return sum, nil
}
