package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// startHeld starts a command and calls held while it stands before its first instruction: a process that asks to be traced stops
// when it has become the program (ptrace(2), PTRACE_TRACEME). Then it is let go for good, and is a child like any other:
// signals, its terminal and how it ends are as ever.
func startHeld(c *exec.Cmd, held func()) error {
	// The thread that made a process is the only one that may let it go.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := c.Start(); err != nil {
		return err
	}
	pid := c.Process.Pid
	for {
		// Looked at without taking it: how it ended is for those who wait for it.
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL, nil); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil, info.Code != trapped && info.Code != stopped:
			return nil // it was killed
		}
		var status unix.WaitStatus
		if _, err := unix.Wait4(pid, &status, unix.WALL, nil); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || !status.Stopped() {
			return nil
		}
		if status.StopSignal() == unix.SIGTRAP {
			held()
			_ = unix.PtraceDetach(pid) // fails only if it was killed
			return nil
		}
		// A signal of somebody else's, which is its own affair.
		if unix.PtraceCont(pid, int(status.StopSignal())) != nil {
			return nil
		}
	}
}

// Codes of what Waitid tells (siginfo.h).
const (
	trapped = 4
	stopped = 5
)

// mayBeHeld says whether a program becomes what it would be if nobody held it: the kernel gives no rights to a traced one that
// its tracer could not have (sudo, ping), unless that may trace everybody.
func mayBeHeld(path string) bool {
	if effective(unix.CAP_SYS_PTRACE) {
		return true
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return false
	}
	_, err = unix.Getxattr(path, "security.capability", nil)
	return err != nil
}

// effective says whether this thread has a capability.
func effective(capability int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	return unix.Capget(&header, &sets[0]) == nil && sets[capability/32].Effective>>(capability%32)&1 != 0
}
