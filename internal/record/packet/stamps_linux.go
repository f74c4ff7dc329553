package packet

import (
	"fmt"
	"time"

	"meridian/clock"
	"meridian/internal/realtime"
	"meridian/internal/record/clockset"
)

// stamps converts the stamps of packets from REALTIME to MONOTONIC plus an origin.
type stamps struct {
	origin  int64 // Options.Origin; 0 leaves the stamps as they are
	line    realtime.Line
	watcher *clockset.Watcher // where there is an origin
	counter *counter
}

// watchInterval is the longest time between two readings of the clocks. Where REALTIME is set back by more, each packet shows it.
const watchInterval = 100 * time.Millisecond

// setOrigin sets the origin, and begins to watch the clocks if it is not 0.
func (s *stamps) setOrigin(ns int64) (err error) {
	if s.origin = ns; ns == 0 || s.watcher != nil {
		return nil
	}
	if err := s.observe(); err != nil {
		return err
	}
	s.watcher, err = clockset.Watch(watchInterval, func(bool) { _ = s.observe() })
	return err
}

// observe reads the clocks and how many packets had gone into the ring by then.
func (s *stamps) observe() error {
	o := realtime.Read()
	arrived, err := s.counter.update()
	if err != nil {
		return fmt.Errorf("packets: %w", err)
	}
	s.line.Observe(o, arrived)
	return nil
}

// convert returns the stamp of the n-th packet of the ring, from 1.
func (s *stamps) convert(n int64, stamp clock.HostTime) clock.HostTime {
	if s.origin == 0 {
		return stamp
	}
	return s.line.Monotonic(n, stamp) + clock.HostTime(s.origin)
}

func (s *stamps) close() {
	if s.watcher != nil {
		s.watcher.Close()
		s.watcher = nil
	}
}
