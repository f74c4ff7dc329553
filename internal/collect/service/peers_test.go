//go:build peers

package service_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/collect/service"
	"meridian/internal/collect/wire"
)

// TestTheClientOfNATSShowsServersAndAgents builds NATS's own client from its module and has it list us.
func TestTheClientOfNATSShowsServersAndAgents(t *testing.T) {
	bin := t.TempDir()
	build := exec.Command("go", "install", "github.com/nats-io/natscli/nats@v0.5.1")
	build.Env, build.Dir = append(os.Environ(), "GOBIN="+bin, "GOFLAGS="), bin
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	connect := restricted(t)
	c := connect(wire.ServerRole)
	stop, err := service.Start(c, service.Options{Name: service.Server, Description: "stores", Metadata: map[string]string{"server": "one"}, Log: t.Logf,
		Endpoints: []service.Endpoint{{Name: "sessions", Subject: wire.ControlSessions, Handle: func([]byte) (any, string) { return []byte("{}"), "" }, Stats: func() any { return map[string]int{"agents": 7} }}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	for _, x := range []struct {
		args []string
		want []string
	}{
		{[]string{"micro", "ls"}, []string{"meridian-server", "1.0.0", "stores"}},
		{[]string{"micro", "info", "meridian-server"}, []string{"server: one", wire.ControlSessions, `"agents": 7`}},
		{[]string{"micro", "stats", "meridian-server"}, []string{"sessions", "Requests"}},
		{[]string{"micro", "ping"}, []string{"meridian-server"}},
	} {
		cmd := exec.Command(filepath.Join(bin, "nats"), append([]string{"--server", c.ConnectedUrl(), "--user", string(wire.OperatorRole), "--password", "x"}, x.args...)...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		for _, want := range x.want {
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("nats %s: %v, want %q in\n%s", strings.Join(x.args, " "), err, want, out)
				break
			}
		}
	}
}
