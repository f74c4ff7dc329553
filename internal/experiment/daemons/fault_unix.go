//go:build unix

package daemons

import "syscall"

const (
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
)

func signalGroup(leader int, s syscall.Signal) error { return syscall.Kill(-leader, s) }
