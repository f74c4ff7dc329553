package netstate

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const defaultBuffer = 1 << 20

// Watcher hears of the interfaces of one network namespace.
type Watcher struct {
	news    *os.File // hears of changes; waits in the runtime's poller
	raw     syscall.RawConn
	ask     int // asks for the state
	buf     []byte
	started Stamp
	told    bool // Read told what was present
	listing func() ([]Interface, error)
	stale   bool // messages were lost, and the state could not be asked for since

	mu    sync.Mutex // of state
	state state
	first []Interface
	lost  atomic.Int64
}

// Open begins to watch and asks for the state, which Snapshot returns from then on.
func Open(o Options) (*Watcher, error) {
	w := &Watcher{ask: -1, buf: make([]byte, 1<<16), state: state{interfaces: make(map[int]*Interface)}}
	w.listing = w.list
	if err := Within(o.NetNS, func() error { return w.open(o.Buffer) }); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *Watcher) open(buffer int) error {
	if buffer <= 0 {
		buffer = defaultBuffer
	}
	groups := uint32(unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR)
	fd, err := routeSocket(unix.SOCK_NONBLOCK, groups)
	if err != nil {
		return err
	}
	w.news = os.NewFile(uintptr(fd), "netlink")
	if w.raw, err = w.news.SyscallConn(); err != nil {
		return fmt.Errorf("interfaces: %w", err)
	}
	// Beyond the system's limit if we may, else up to it.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer)
	}
	if w.ask, err = routeSocket(0, 0); err != nil {
		return err
	}
	if err := unix.SetsockoptTimeval(w.ask, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
		return fmt.Errorf("interfaces: %w", err)
	}
	all, err := w.list()
	if err != nil {
		return err
	}
	w.started = now()
	w.state.become(all)
	w.state.changes = nil
	w.first = w.state.snapshot()
	return nil
}

func routeSocket(flags int, groups uint32) (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|flags, unix.NETLINK_ROUTE)
	if err != nil {
		return -1, fmt.Errorf("interfaces: netlink: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("interfaces: netlink: %w", err)
	}
	return fd, nil
}

// Snapshot returns the interfaces by ascending index, as of the last change that Read has handled.
func (w *Watcher) Snapshot() []Interface {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.snapshot()
}

// Lost returns how often the kernel dropped messages because they were not read in time. The state was requested again each
// time; changes that were undone in between were missed.
func (w *Watcher) Lost() int64 { return w.lost.Load() }

// Read calls f with the interfaces present at Open, then with every change, in order. It ends when ctx is done, which is no error
// and after the changes up to then, when f returns an error, which Read returns, or when netlink fails.
func (w *Watcher) Read(ctx context.Context, f func(*Change) error) error {
	if !w.told {
		w.told = true
		if err := w.present(f); err != nil {
			return err
		}
	}
	if err := w.news.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("interfaces: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = w.news.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		var n int
		var failed error
		err := w.raw.Read(func(fd uintptr) bool {
			n, _, failed = unix.Recvfrom(int(fd), w.buf, unix.MSG_TRUNC)
			return failed != unix.EAGAIN
		})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return w.drain(f)
		} else if err != nil {
			return fmt.Errorf("interfaces: netlink: %w", err)
		}
		if err := w.take(n, failed, f); err != nil {
			return err
		}
	}
}

// drain handles the messages in the socket without waiting.
func (w *Watcher) drain(f func(*Change) error) error {
	for {
		n, done := 0, false
		var failed error
		if err := w.raw.Control(func(fd uintptr) {
			n, _, failed = unix.Recvfrom(int(fd), w.buf, unix.MSG_TRUNC)
			done = failed == unix.EAGAIN
		}); err != nil {
			return fmt.Errorf("interfaces: netlink: %w", err)
		}
		if done {
			return nil
		}
		if err := w.take(n, failed, f); err != nil {
			return err
		}
	}
}

func (w *Watcher) present(f func(*Change) error) error {
	for i := range w.first {
		addresses := w.first[i].Addresses
		if len(addresses) == 0 {
			addresses = []netip.Prefix{{}}
		}
		for _, p := range addresses {
			if err := f(&Change{Stamp: w.started, Kind: Present, Interface: w.first[i], Address: p}); err != nil {
				return err
			}
		}
	}
	return nil
}

// take applies a message, or an error of the socket, to the state and reports the changes.
func (w *Watcher) take(n int, failed error, f func(*Change) error) error {
	at := now()
	var all []Interface
	lost := failed == unix.ENOBUFS || failed == nil && n > len(w.buf)
	if lost {
		w.lost.Add(1)
	}
	switch {
	case lost || w.stale && failed == nil:
		var err error
		all, err = w.listing()
		if w.stale = errors.Is(err, errRestless); w.stale {
			return nil // requested again at the next message
		} else if err != nil {
			return err
		}
		lost, at = true, now()
	case failed == unix.EINTR:
		return nil
	case failed != nil:
		return fmt.Errorf("interfaces: netlink: %w", failed)
	}
	w.mu.Lock()
	if lost {
		w.state.become(all)
	} else if messages, err := syscall.ParseNetlinkMessage(w.buf[:n]); err == nil {
		for i := range messages {
			w.state.apply(&messages[i])
		}
	}
	changes := w.state.changes
	w.state.changes = nil
	w.mu.Unlock()
	for i := range changes {
		changes[i].Stamp = at
		if err := f(&changes[i]); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the watcher. It must not be called during Read.
func (w *Watcher) Close() error {
	var err error
	if w.news != nil {
		err = w.news.Close()
	}
	if w.ask >= 0 {
		unix.Close(w.ask)
		w.ask = -1
	}
	return err
}
