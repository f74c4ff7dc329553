package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// startStopped starts a command and calls stopped while the child stands before its first instruction: a child that asks to be
// traced stops when it has become the program (ptrace(2), PTRACE_TRACEME, after execve). Then it is detached and is a child
// like any other: signals, its terminal and its exit status are as without. The program is what the child becomes at its execve of this
// number, counted from 1.
func startStopped(c *exec.Cmd, execs int, stopped func()) error {
	// Only the thread that started a traced process may detach it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := c.Start(); err != nil {
		return err
	}
	pid := c.Process.Pid
	for {
		// WNOWAIT leaves the status of a child that ended for its Wait.
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL, nil); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil, info.Code != codeTrapped && info.Code != codeStopped:
			return nil // it was killed
		}
		var status unix.WaitStatus
		if _, err := unix.Wait4(pid, &status, unix.WALL, nil); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || !status.Stopped() {
			return nil
		}
		pass := int(status.StopSignal()) // another signal goes to the child
		if status.StopSignal() == unix.SIGTRAP {
			if execs--; execs == 0 {
				stopped()
				_ = unix.PtraceDetach(pid) // fails only if it was killed
				return nil
			}
			pass = 0
		}
		if unix.PtraceCont(pid, pass) != nil {
			return nil
		}
	}
}

// Values of si_code for SIGCHLD (siginfo.h): CLD_TRAPPED and CLD_STOPPED.
const (
	codeTrapped = 4
	codeStopped = 5
)

// canStopChild reports whether a program runs the same when it is traced at its start: to a traced set-user-ID program or one
// with capabilities (sudo, ping) the kernel gives no privileges, unless the tracer has CAP_SYS_PTRACE.
func canStopChild(path string) bool {
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

// effective reports whether this thread has a capability.
func effective(capability int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	return unix.Capget(&header, &sets[0]) == nil && sets[capability/32].Effective>>(capability%32)&1 != 0
}
