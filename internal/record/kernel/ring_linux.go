package kernel

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"meridian/internal/record/internal/proc"
)

// nextPause returns the pause after the given one. Fill is the share in use of the fullest ring.
func nextPause(pause, longest time.Duration, fill float64) time.Duration {
	switch {
	case fill > 1./8:
		return max(pause/2, minPause)
	case fill > 1./32:
		return pause
	}
	return min(2*pause, longest)
}

// maxBatch is how many records are read of one ring before the next ring's turn.
const maxBatch = 1 << 13

// ring is the BPF ring buffer of a processor.
type ring struct {
	cpu    int
	buffer *ebpf.Map
	reader *ringbuf.Reader
	sorter stampSorter
}

// ringSize returns the size of a ring buffer: a power of two and whole pages.
func ringSize(wanted int) int {
	if wanted <= 0 {
		return 4 << 20
	}
	size := os.Getpagesize()
	for size < wanted && size < 1<<30 {
		size *= 2
	}
	return size
}

// openRings makes a ring for every processor that is online and puts it into the table, an array by processor. Events of
// a processor that comes online later are counted as lost. On an error the rings made so far are returned too.
func openRings(table *ebpf.Map, inner *ebpf.MapSpec) ([]*ring, error) {
	online, err := proc.OnlineCPUs()
	if err != nil {
		return nil, err
	}
	var rings []*ring
	for _, cpu := range online {
		if cpu >= int(table.MaxEntries()) {
			continue
		}
		g := &ring{cpu: cpu}
		rings = append(rings, g)
		if err := g.open(table, inner); err != nil {
			return rings, err
		}
	}
	return rings, nil
}

func (g *ring) open(table *ebpf.Map, inner *ebpf.MapSpec) (err error) {
	if g.buffer, err = ebpf.NewMap(inner); err != nil {
		return fmt.Errorf("kernel events: ring buffer of %d bytes for processor %d: %w", inner.MaxEntries, g.cpu, err)
	}
	if err := table.Put(uint32(g.cpu), g.buffer); err != nil {
		return unavailable(fmt.Errorf("ring buffer of processor %d: %w", g.cpu, err))
	}
	if g.reader, err = ringbuf.NewReader(g.buffer); err != nil {
		return fmt.Errorf("kernel events: ring buffer of processor %d: %w", g.cpu, err)
	}
	g.reader.SetDeadline(time.Unix(1, 0)) // has passed: reads never block
	return nil
}

func (g *ring) close() (err error) {
	if g.reader != nil {
		err = g.reader.Close()
	}
	if g.buffer != nil {
		err = errors.Join(err, g.buffer.Close())
	}
	return err
}

// readRings passes on the records that are in the rings, those of each in the order of their stamps, and returns how many
// there were, whether one of the rings may hold many more, and the share in use of the fullest at its turn.
func readRings(rings []*ring, each func(stamp uint64, cpu int, record []byte) error) (n int, backlog bool, fill float64, err error) {
	for _, g := range rings {
		fill = max(fill, float64(g.reader.AvailableBytes())/float64(g.reader.BufferSize()))
		found, err := g.drain(func(stamp uint64, record []byte) error { return each(stamp, g.cpu, record) })
		if err != nil {
			return n, backlog, fill, err
		}
		n += found
		backlog = backlog || found >= maxBatch/2
	}
	return n, backlog, fill, nil
}

// drain passes on the records in the ring, at most maxBatch, and returns how many.
func (g *ring) drain(each func(stamp uint64, record []byte) error) (int, error) {
	for n := 0; n < maxBatch; n++ {
		if g.reader.AvailableBytes() == 0 {
			return n, g.sorter.flush(each) // seen after the last record was complete, as the sorter requires
		}
		record := ringbuf.Record{RawSample: g.sorter.buffer()}
		err := g.reader.ReadInto(&record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return n, g.sorter.flush(each)
		}
		if err != nil {
			return n, fmt.Errorf("kernel events of processor %d: %w", g.cpu, err)
		}
		if err := g.sorter.put(record.RawSample, each); err != nil {
			return n, err
		}
	}
	return maxBatch, nil
}
