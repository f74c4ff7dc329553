package kernel

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWithoutPrivilegesTheErrorSaysWhichAreNeeded(t *testing.T) {
	b, err := os.ReadFile("/proc/sys/kernel/unprivileged_bpf_disabled")
	if err != nil || strings.TrimSpace(string(b)) == "0" {
		t.Skip("eBPF needs no privileges here (kernel.unprivileged_bpf_disabled=0)")
	}
	// The library asks once in a process what the kernel can do; asked without privileges, the answers would be wrong for later tests.
	if r, err := Open(Options{Groups: Net}, nil); err == nil {
		r.Close()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never let go: the thread ends with its lack of capabilities
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			done <- err
			return
		}
		r, err := Open(Options{Groups: Net}, nil)
		if r != nil {
			r.Close()
		}
		done <- err
	}()
	var u *Unavailable
	if err := <-done; !errors.As(err, &u) || u.Reason != NotPermitted || !strings.Contains(err.Error(), "CAP_BPF") {
		t.Error(err)
	}
}

func TestOptionsThatMeanNothingAreErrors(t *testing.T) {
	for _, o := range []Options{
		{Groups: Sched, Command: "*"},
		{Groups: Sched, Cgroup: "/no/such/cgroup"},
		{Groups: Sched, Cgroup: t.TempDir()},
	} {
		r, err := Open(o, nil)
		var u *Unavailable
		if err == nil || errors.As(err, &u) || r != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
