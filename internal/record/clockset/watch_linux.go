package clockset

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Watcher watches the clock until it is closed.
type Watcher struct {
	timer *os.File
	done  chan struct{}
}

// Watch calls a function whenever REALTIME is set, and at each interval, from a goroutine of its own.
func Watch(interval time.Duration, observe func(set bool)) (*Watcher, error) {
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
	w := &Watcher{timer: os.NewFile(uintptr(fd), "steps of the clock"), done: make(chan struct{})}
	go w.run(interval, observe)
	return w, nil
}

func (w *Watcher) run(interval time.Duration, observe func(set bool)) {
	defer close(w.done)
	var b [8]byte
	for {
		if err := w.timer.SetReadDeadline(time.Now().Add(interval)); err != nil {
			return
		}
		_, err := w.timer.Read(b[:])
		set := errors.Is(err, unix.ECANCELED)
		if err != nil && !set && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		observe(set)
	}
}

// Close ends the watching. The function is not called any more when it returns.
func (w *Watcher) Close() {
	w.timer.Close()
	<-w.done
}
