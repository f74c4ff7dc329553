package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCapturesAtAgentsAlignAsTheyDoHere aligns three captures that stay at agents by invitation: what is printed and the report are those of the files,
// byte for byte. An agent that has gone is named, and the others are aligned.
func TestCapturesAtAgentsAlignAsTheyDoHere(t *testing.T) {
	t.Parallel()
	k := newKeyed(t)
	sim := filepath.Join(k.dir, "sim")
	k.command("simulate", "-q", "-o", sim, "--format", "pcap", "--topology", "full", "--duration", "10s")
	operator := []string{"align", "-q", "--server", k.url, "--key", filepath.Join(k.keys, ".trust", "operator.key")}
	local, remote := []string{"align", "-q"}, operator
	agents := map[string]*exec.Cmd{}
	for _, host := range []string{"host0", "host1", "host2"} {
		file := filepath.Join(k.dir, host+".invitation")
		k.command("server", "invite", "-q", "--dir", k.keys, "--server", k.url, "-o", file, host)
		k.serverSaid.await("host " + host + ": its key is accepted now")
		said := newWaited(t)
		agents[host] = exec.Command("meridian", "agent", "--standby", "--invite", file, "-o", filepath.Join(k.dir, "trace-"+host), "--allow-captures", sim)
		agents[host].Stderr = said
		if err := agents[host].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = agents[host].Process.Kill() })
		said.await("host " + host + " waits for commands")
		capture := filepath.Join(sim, host+".pcapng")
		local, remote = append(local, capture), append(remote, "agent:"+host+":"+capture)
	}
	run := func(args ...string) (code int, out, problem string) {
		var stdout, stderr bytes.Buffer
		c := exec.Command("meridian", args...)
		c.Stdout, c.Stderr = &stdout, &stderr
		if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
	}
	here, there := filepath.Join(k.dir, "here.report.json"), filepath.Join(k.dir, "there.report.json")
	_, want, _ := run(append(local, "-o", here)...)
	code, got, problem := run(append(remote, "-o", there)...)
	if code != 0 || got != want {
		t.Fatalf("exit code %d: %s\n%s\nwant\n%s", code, problem, got, want)
	}
	a, err := os.ReadFile(here)
	if b, err2 := os.ReadFile(there); err != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("%v, %v: other reports", err, err2)
	}
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{append(operator, "agent:host0:/etc/hostname"), 1, "in none of the directories that the agent permits"},
		{append(operator, "agent:host0:"+sim+"/host0.pcapng", "-o", filepath.Join(k.dir, "x.pcapng")), 2, "which stay there"},
		{append(operator, "agent:host0:host0.pcapng"), 2, "want agent:HOST:/PATH"},
		{append(operator, "agent:host0:"+sim+"/host0.pcapng", "agent:host0:"+sim+"/host0.pcapng"), 2, "is given twice"},
		{append(operator, "agent:away:/x"), 1, "--allow-captures"},
	} {
		if code, _, problem := run(x.args...); code != x.code || !strings.Contains(problem, x.want) {
			t.Errorf("%q: exit code %d, want %d with %q: %s", x.args[6:], code, x.code, x.want, problem)
		}
	}
	if err := agents["host2"].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agents["host2"].Wait()
	code, got, problem = run(remote...)
	if code != 3 || !strings.Contains(problem, "host2 (agent:host2:") || !strings.Contains(got, "host1") || strings.Contains(got, "host2") {
		t.Errorf("exit code %d: %s\n%s", code, problem, got)
	}
}
