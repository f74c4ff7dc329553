package packet

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Stats returns what was counted so far. It may be called while Read runs.
func (c *Capture) Stats() (Stats, error) {
	_, err := c.wentIn()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told()
	c.stats.Steps = c.line.count()
	return c.stats, err
}

// wentIn asks the kernel for its counts, which begin anew with every asking, and returns how many packets went into the ring.
func (c *Capture) wentIn() (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var s *unix.TpacketStatsV3
	var err error
	if e := c.raw.Control(func(fd uintptr) {
		s, err = unix.GetsockoptTpacketStatsV3(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS)
	}); e != nil {
		err = e
	}
	if err != nil {
		return c.went, fmt.Errorf("packets: PACKET_STATISTICS: %w", err)
	}
	c.stats.Dropped += int64(s.Drops)
	c.went += int64(s.Packets) - int64(s.Drops)
	return c.went, nil
}

// Close ends the capture. It must not be called during Read.
func (c *Capture) Close() error {
	var err error
	c.names.end()
	if c.watcher != nil {
		c.watcher.close()
		c.watcher = nil
	}
	if c.socket != nil {
		err = c.socket.Close()
		c.socket = nil
	}
	if c.ring != nil {
		c.ring.close()
		c.ring = nil
	}
	return err
}
