package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// ring is a processor's ring in one of the instances: the files of which its cursor reads the pages.
type ring struct {
	*cursor
	pages *os.File // trace_pipe_raw
	stats *os.File
}

func openRing(in *instance, cpu int, everyone bool, l *pageLayout) (*ring, error) {
	dir := filepath.Join(in.dir, "per_cpu", "cpu"+strconv.Itoa(cpu))
	failed := func(err error) (*ring, error) {
		return nil, unavailable(fmt.Sprintf("ring buffer of processor %d", cpu), err)
	}
	fd, err := unix.Open(filepath.Join(dir, "trace_pipe_raw"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed(err)
	}
	g := &ring{cursor: newCursor(cpu, l), pages: os.NewFile(uintptr(fd), "trace_pipe_raw")}
	if g.stats, err = os.Open(filepath.Join(dir, "stats")); err != nil {
		g.pages.Close()
		return failed(err)
	}
	g.everyone = everyone
	g.readPage = func(b []byte) (int, error) { return readPage(fd, cpu, b) }
	return g, nil
}

// readPage reads the next page, or 0 bytes if there is none. It never blocks.
func readPage(fd, cpu int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return 0, nil
		case err != nil:
			return 0, fmt.Errorf("kernel events of processor %d: %w", cpu, err)
		}
		return n, nil
	}
}

// lost returns how many events the ring had no room for.
func (g *ring) lost() (uint64, error) {
	var b [1024]byte
	n, err := g.stats.ReadAt(b[:], 0)
	if n == 0 && err != nil {
		return 0, fmt.Errorf("kernel events: counts of lost events: %w", err)
	}
	return max(parseStats(b[:n]), g.missed.Load()), nil
}

func (g *ring) close() error { return errors.Join(g.pages.Close(), g.stats.Close()) }
