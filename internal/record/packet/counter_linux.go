package packet

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// counter counts the packets that go into the ring and come out of it. Only Read calls add and reads taken without update.
type counter struct {
	socket *socket

	mu      sync.Mutex
	stats   Stats
	arrived int64 // packets that the kernel put into the ring
	taken   int64 // of these, taken out
}

// update asks the kernel for its counts, which it resets each time, and returns how many packets went into the ring.
func (c *counter) update() (arrived int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var s *unix.TpacketStatsV3
	err = c.socket.control(func(fd int) (err error) {
		s, err = unix.GetsockoptTpacketStatsV3(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
		return err
	})
	if err != nil {
		return c.arrived, fmt.Errorf("packets: PACKET_STATISTICS: %w", err)
	}
	c.stats.Dropped += int64(s.Drops)
	c.arrived += int64(s.Packets) - int64(s.Drops)
	return c.arrived, nil
}

// add counts packets that were taken out of the ring.
func (c *counter) add(taken, unknown int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken += taken
	c.stats.Received += taken - unknown
	c.stats.Unknown += unknown
}

// current returns the statistics as of the last update.
func (c *counter) current() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
