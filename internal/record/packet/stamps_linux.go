package packet

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"meridian/clock"
)

// stamps converts the stamps of packets from REALTIME to MONOTONIC plus an origin.
type stamps struct {
	origin  int64 // Options.Origin; 0 leaves the stamps as they are
	line    timeline
	watcher *clockWatcher // where there is an origin
	counter *counter
}

// setOrigin sets the origin, and begins to watch the clocks if it is not 0.
func (s *stamps) setOrigin(ns int64) (err error) {
	if s.origin = ns; ns == 0 || s.watcher != nil {
		return nil
	}
	if err := s.observe(); err != nil {
		return err
	}
	s.watcher, err = watchClocks(func() { _ = s.observe() })
	return err
}

// observe reads the clocks and how many packets had gone into the ring by then.
func (s *stamps) observe() error {
	o := readOffset()
	arrived, err := s.counter.update()
	if err != nil {
		return fmt.Errorf("packets: %w", err)
	}
	s.line.observe(o, arrived)
	return nil
}

// convert returns the stamp of the n-th packet of the ring, from 1.
func (s *stamps) convert(n int64, stamp clock.HostTime) clock.HostTime {
	if s.origin == 0 {
		return stamp
	}
	return s.line.monotonic(n, stamp) + clock.HostTime(s.origin)
}

func (s *stamps) close() {
	if s.watcher != nil {
		s.watcher.close()
		s.watcher = nil
	}
}

// clockWatcher calls a function every second and whenever REALTIME is set, which a timer of that clock reports at once.
type clockWatcher struct {
	timer *os.File
	done  chan struct{}
}

// watchClocks calls observe until close.
func watchClocks(observe func()) (*clockWatcher, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd", err)
	}
	// The timer expires in the year 2200. What counts is that it is cancelled when the clock is set.
	never := unix.ItimerSpec{Value: unix.Timespec{Sec: 7258118400}}
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("timerfd", err)
	}
	w := &clockWatcher{timer: os.NewFile(uintptr(fd), "steps of the clock"), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		var b [8]byte
		for {
			if err := w.timer.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
				return
			}
			if _, err := w.timer.Read(b[:]); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, unix.ECANCELED) {
				return
			}
			observe()
		}
	}()
	return w, nil
}

func (w *clockWatcher) close() {
	w.timer.Close()
	<-w.done
}
