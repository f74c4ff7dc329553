package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// startLine is what a unit starts.
var startLine = regexp.MustCompile(`(?m)^ExecStart=(.*)$`)

// checkUnitsOf unpacks a package into a directory that then is the whole machine, and starts what its units start, as written: the server as its user, the agent as root.
// They must record a session together. Nothing of the machine beside is in reach: what the package lacks is missing.
func checkUnitsOf(t *testing.T, path string) {
	testneed.Root(t, "another root directory")
	for _, name := range []string{"dpkg-deb", "systemd-sysusers", "unshare", "ip"} {
		testneed.Program(t, name)
	}
	root := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--extract", path, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	line := func(unit, user string) string {
		text := string(read(t, filepath.Join(root, "usr/lib/systemd/system", unit)))
		found := startLine.FindAllStringSubmatch(text, -1)
		if len(found) != 1 || strings.ContainsAny(found[0][1], `"'$%\`) || strings.Contains(text, "\nUser=") != (user != "") || !strings.Contains(text, user) {
			t.Fatalf("%s starts %q, for another user than %q, or in a way that only systemd reads", unit, found, user)
		}
		return found[0][1]
	}
	serves, records := line("meridian-server.service", "\nUser=meridian\n"), line("meridian-agent.service", "")
	script := read(t, "testdata/units.sh")
	// Words of the lines are separated by the shell, as systemd does where there is nothing quoted.
	text := strings.NewReplacer("$2", serves, "$3", records).Replace(string(script))
	out, err := exec.Command("unshare", "--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "sh", "-c", text, "sh", root).CombinedOutput()
	said := string(out)
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	user := regexp.MustCompile(`server's user: (\S+), of the package: (\S+)\n`).FindStringSubmatch(said)
	if user == nil || user[1] != user[2] || strings.HasPrefix(user[1], "0:") {
		t.Errorf("the server runs as another user than the package's: %q", user)
	}
	for _, want := range []string{"events are read\n", "both ended\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing:\n%s", want, said)
		}
	}
}
