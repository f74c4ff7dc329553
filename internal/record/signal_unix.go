//go:build unix

package record

import (
	"cmp"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName returns the name that kill(1) and signal(7) have for a signal: SIGUSR1.
func signalName(s os.Signal) string {
	if n, ok := s.(syscall.Signal); ok {
		return cmp.Or(unix.SignalName(n), s.String())
	}
	return s.String()
}
