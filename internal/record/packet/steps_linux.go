package packet

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// watcher looks at the clocks every second and whenever REALTIME is set, which a timer on that clock tells at once.
type watcher struct {
	timer *os.File
	done  chan struct{}
}

// watch begins to look, until close.
func watch(look func()) (*watcher, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd", err)
	}
	// It goes off in the year 2200; what counts is that it is cancelled when the clock is set.
	never := unix.ItimerSpec{Value: unix.Timespec{Sec: 7258118400}}
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("timerfd", err)
	}
	w := &watcher{timer: os.NewFile(uintptr(fd), "steps of the clock"), done: make(chan struct{})}
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
			look()
		}
	}()
	return w, nil
}

func (w *watcher) close() {
	w.timer.Close()
	<-w.done
}

// look reads the clocks and what had gone into the ring by then.
func (c *Capture) look() error {
	o := readOffset()
	went, err := c.wentIn()
	if err != nil {
		return fmt.Errorf("packets: %w", err)
	}
	c.line.observe(o, went)
	return nil
}
