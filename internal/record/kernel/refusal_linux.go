package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// refusal explains why the kernel answered "operation not permitted" (EPERM, EACCES) to what a program with eBPF asked for, and what to do.
// Root may be refused too.
func refusal(err error) string {
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			return "" // it does not tell
		}
		return string(b)
	}
	return refused(err, read("/proc/thread-self/status"), read("/proc/thread-self/uid_map"), read("/sys/kernel/security/lockdown"))
}

// Capabilities by their numbers (linux/capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
	capBPF      = 39
)

var inLockdown = regexp.MustCompile(`\[(integrity|confidentiality)\]`)

// refused explains a refusal from what /proc and securityfs say of the process and of the kernel.
func refused(err error, status, uidMap, lockdown string) string {
	field := func(name string) string {
		for line := range strings.Lines(status) {
			if value, is := strings.CutPrefix(line, name+":"); is {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}
	effective, unknown := strconv.ParseUint(field("CapEff"), 16, 64)
	has := func(n int) bool { return effective>>n&1 == 1 }
	switch mode := inLockdown.FindStringSubmatch(lockdown); {
	case unknown != nil, !has(capSysAdmin) && !(has(capBPF) && has(capPerfmon)):
		return NotPermitted.String()
	case uidMap != "" && !strings.Contains(strings.Join(strings.Fields(uidMap), " "), "0 0 4294967295"):
		return "not permitted: capabilities within a user namespace do not reach to eBPF; run outside of it, as root of the machine (of containers: without userns-remap, not rootless)"
	case field("Seccomp") == "2":
		return fmt.Sprintf("not permitted to root either: a seccomp filter, as containers have, may refuse bpf(2) or perf_event_open(2) (%v); run with --security-opt seccomp=unconfined, or on the host", err)
	case mode != nil:
		return fmt.Sprintf("not permitted to root either: the kernel is locked down ([%s], see /sys/kernel/security/lockdown), as with Secure Boot (%v); boot with lockdown=none, or without Secure Boot", mode[1], err)
	}
	return fmt.Sprintf("not permitted to root either, though this process has the capabilities (%v): a security module or a setting of the kernel forbids it; the kernel's log (dmesg) and the audit log may say which", err)
}

// ofRefusal returns an error with its explanation instead of its text, if it is one of permissions.
func ofRefusal(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	var u *Unavailable
	if errors.As(err, &u) && u.Cause != "" {
		return &explainedError{u.Cause, err}
	}
	return &explainedError{refusal(err), err}
}

// explainedError is an error under another text.
type explainedError struct {
	text string
	err  error
}

func (e *explainedError) Error() string { return e.text }
func (e *explainedError) Unwrap() error { return e.err }
