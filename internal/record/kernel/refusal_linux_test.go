package kernel

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestARefusalNamesWhoRefusesAndWhatToDo(t *testing.T) {
	t.Parallel()
	const all, none, of, whole = "CapEff:\t000001ffffffffff\n", "CapEff:\t0000000000000000\n", "Name:\tmeridian\n", "         0          0 4294967295\n"
	for _, c := range []struct{ name, status, uidMap, lockdown, want, not string }{
		{"no capabilities", of + none, whole, "", "run as root, or with CAP_BPF and CAP_PERFMON", "root either"},
		{"nothing is known", "", "", "", "run as root", "root either"},
		{"CAP_BPF alone", "CapEff:\t0000008000000000\n", whole, "", "run as root", "root either"},
		{"a user namespace", of + all, "0 1000 1\n", "", "user namespace", "run as root,"},
		{"a container's filter", all + "Seccomp:\t2\n", whole, "[none] integrity confidentiality\n", "seccomp", "run as root"},
		{"lockdown", all + "Seccomp:\t0\n", whole, "none integrity [confidentiality]\n", "locked down ([confidentiality]", "run as root"},
		{"integrity", all, whole, "none [integrity] confidentiality\n", "locked down ([integrity]", "run as root"},
		{"no lockdown", all, whole, "[none] integrity confidentiality\n", "security module", "lockdown"},
		{"CAP_BPF and CAP_PERFMON", "CapEff:\t000000c000000000\n", whole, "", "though this process has the capabilities", "run as root"},
	} {
		got := refused(fmt.Errorf("program x: %w", unix.EPERM), c.status, c.uidMap, c.lockdown)
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if err := ofRefusal(unix.EINVAL); !errors.Is(err, unix.EINVAL) {
		t.Errorf("another error became %v", err)
	}
}

// TestRootThatIsRefusedIsNotToldToBeRoot has this machine explain an EPERM.
func TestRootThatIsRefusedIsNotToldToBeRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root is refused though it is root")
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	err = unavailable(fmt.Errorf("program end_tcp_sendmsg: %w", unix.EPERM))
	if strings.Contains(string(status), "CapEff:\t000001f") && (strings.Contains(err.Error(), "run as root,") || !strings.Contains(err.Error(), "end_tcp_sendmsg")) {
		t.Errorf("root is told: %v", err)
	}
}
