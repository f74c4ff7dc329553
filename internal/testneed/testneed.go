// Package testneed decides what a test does where the machine lacks something that it needs: the test is skipped with a
// reason that names what is missing and what to install, and fails where everything must run (MERIDIAN_CI=1).
//
// With -short ("make quick"), tests that need another program, a browser or root are skipped wherever they run, and random
// tests try fewer cases. Under the race detector, which makes code five to ten times slower, they try fewer cases too.
package testneed

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// packages are the Debian packages of programs whose package has another name (tools/testall installs them in CI).
var packages = map[string]string{
	"sh": "dash", "touch": "coreutils",
	"ip": "iproute2", "nft": "nftables", "setpriv": "util-linux", "unshare": "util-linux", "nsenter": "util-linux", "lttng": "lttng-tools",
	"lttng-sessiond": "lttng-tools", "lttng-gen-tp": "liblttng-ust-dev", "gcc": "gcc libc6-dev", "cc": "gcc libc6-dev",
	"clang++": "clang", "capinfos": "wireshark-common", "mergecap": "wireshark-common", "editcap": "wireshark-common", "node": "nodejs", "gnuplot": "gnuplot-nox", "systemd-analyze": "systemd", "systemd-sysusers": "systemd", "dpkg-deb": "dpkg",
	"sshd": "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client", "tc": "iproute2", "redis-cli": "redis-tools", "taskset": "util-linux", "sha256sum": "coreutils",
}

// Package returns the Debian package of a program.
func Package(program string) string {
	if p := packages[program]; p != "" {
		return p
	}
	return program
}

// Missing ends the test for the reason given, which says what is missing and how to mend it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	if os.Getenv("MERIDIAN_CI") == "1" {
		t.Fatalf("%s (with MERIDIAN_CI=1 no test is skipped)", reason)
	}
	t.Skip(reason)
}

// LeftOut begins the reasons of tests that are skipped with -short.
const LeftOut = "left out with -short: "

// Long ends the test with -short: it needs what the daily tests do without.
func Long(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skip(LeftOut + what)
	}
}

// Cases returns how many of n cases a random test tries: all of them, or a fifth with -short or under the race detector.
func Cases(n int) int {
	if testing.Short() || race {
		return max(n/5, 1)
	}
	return n
}

// Program returns the path of a program, or ends the test.
func Program(t testing.TB, name string) string {
	t.Helper()
	Long(t, "needs "+name)
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "%s is not installed (apt-get install %s)", name, Package(name))
	}
	return path
}

// Root ends the test unless it runs as root. What says what needs root.
func Root(t testing.TB, what string) {
	t.Helper()
	Long(t, what+" needs root")
	if os.Geteuid() != 0 {
		Missing(t, "%s needs root: run the tests with sudo", what)
	}
}
