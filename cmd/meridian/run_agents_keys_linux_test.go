package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOperatorsWithTheirKeyRunExperiments runs one at an agent by invitation, by the permissions of both keys, and not with the key of another host.
func TestOperatorsWithTheirKeyRunExperiments(t *testing.T) {
	t.Parallel()
	k := newKeyed(t)
	write := func(name, text string) string {
		path := filepath.Join(k.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	invitation := filepath.Join(k.dir, "web.invitation")
	k.command("server", "invite", "-q", "--dir", k.keys, "--server", k.url, "-o", invitation, "web")
	k.serverSaid.await("host web: its key is accepted now")
	said := newWaited(t)
	agent := exec.Command("meridian", "agent", "--standby", "--invite", invitation, "-o", filepath.Join(k.dir, "web"), "--allow-run", write("list", "shell\n"), "--", "--rings", k.dir)
	agent.Stderr = said
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
	said.await("host web waits for commands")
	file := write("e.yaml", `hosts: [web]
daemons: {d: {host: web, shell: "head -c 9000000 /dev/zero >z", gather: [z]}}
schedule: [d]
`)
	run := func(key, out string) ([]byte, error) {
		return exec.Command("meridian", "run", file, "--on", "agents", "--server", k.url, "--key", key, "-o", filepath.Join(k.dir, out), "-q").CombinedOutput()
	}
	if out, err := run(filepath.Join(k.keys, ".trust", "operator.key"), "out"); err != nil {
		t.Errorf("%v: %s\n%s\n%s", err, out, said, k.serverSaid)
	}
	if info, err := os.Stat(filepath.Join(k.dir, "out/hosts/web/files/d/z")); err != nil || info.Size() != 9_000_000 {
		t.Errorf("the gathered file: %v", err)
	}
	if out, err := run(invitation, "refused"); err == nil || !strings.Contains(string(out), "one of the role operator is wanted") {
		t.Errorf("%v: %s", err, out)
	}
}
