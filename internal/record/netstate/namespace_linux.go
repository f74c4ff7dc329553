package netstate

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Within calls f on a thread inside a network namespace, named as in [Options]. Sockets that f opens stay in that
// namespace wherever they are used later. f must not start goroutines that count on it.
func Within(name string, f func() error) error {
	if name == "" {
		return f()
	}
	file, err := openNamespace(name)
	if err != nil {
		return err
	}
	defer file.Close()
	done := make(chan error, 1)
	go func() {
		// The thread is not unlocked: the runtime ends it with its goroutine, so that no other goroutine runs in the other namespace.
		runtime.LockOSThread()
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("network namespace %s: %w", name, err)
			if errors.Is(err, unix.EPERM) {
				err = fmt.Errorf("%w; entering it needs root (CAP_SYS_ADMIN)", err)
			}
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

func openNamespace(name string) (*os.File, error) {
	path := name
	if !strings.Contains(name, "/") {
		path = "/run/netns/" + name
	}
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("network namespace %s not found (no %s): \"ip netns list\" shows those with a name, /proc/PID/ns/net is that of a process", name, path)
	} else if err != nil {
		return nil, fmt.Errorf("network namespace %s: %w", name, err)
	}
	return file, nil
}

// Inode returns the number by which the kernel knows a network namespace, named as in [Options].
func Inode(name string) (uint32, error) {
	file, err := openNamespace(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var s unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &s); err != nil {
		return 0, fmt.Errorf("network namespace %s: %w", name, err)
	}
	return uint32(s.Ino), nil
}
