package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"meridian/internal/testneed"
)

// allowing starts agents that permit experiments what a list says, and returns the list's file.
func (f *fleet) allowing(list string, hosts ...string) (file string) {
	f.t.Helper()
	file = filepath.Join(f.dir, "allowed")
	if err := os.WriteFile(file, []byte(list), 0o666); err != nil {
		f.t.Fatal(err)
	}
	for _, h := range hosts {
		f.standby(h, "--allow-run", file)
	}
	f.waiting(hosts...)
	return file
}

// experiment runs a file at the agents and returns its exit code, what it printed, and its directory.
func (f *fleet) experiment(text string) (code int, out, dir string) {
	f.t.Helper()
	c, dir := f.experimentCommand(text)
	b, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(b), dir
}

func (f *fleet) experimentCommand(text string) (c *exec.Cmd, dir string) {
	f.t.Helper()
	dir, err := os.MkdirTemp(f.dir, "run")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(text), 0o666)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "brought.sh"), []byte("#!/bin/sh\nid\n"), 0o777)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return exec.Command("meridian", "run", filepath.Join(dir, "e.yaml"), "--on", "agents", "--server", f.url, "-o", filepath.Join(dir, "out"), "-q"), filepath.Join(dir, "out")
}

// TestAnAgentRefusesWhatItsListDoesNotName is the table of refusals: nothing of these runs, and the report names host, daemon and what the
// list lacks. The list is read anew for each experiment.
func TestAnAgentRefusesWhatItsListDoesNotName(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	list := f.allowing("", "web")
	touched := filepath.Join(f.dir, "touched")
	touch := testneed.Program(t, "touch")
	for _, c := range []struct{ list, daemon, want string }{
		{"", `use: pause`, "does not permit the standard daemon pause"},
		{"use pause", `use: fault`, "does not permit the standard daemon fault"},
		{"use *", `run: [touch, ` + touched + `]`, "does not permit the program " + touch},
		{"use *\nrun /bin/true", `shell: touch ` + touched, "does not permit texts for the shell"},
		{"use *\nrun /bin/true", `run: [sh, -c, "touch ` + touched + `"]`, "does not permit texts for the shell"},
		{"run " + touch + " elsewhere", `run: [touch, ` + touched + `]`, "does not permit the program " + touch},
		{"run " + touch, `{run: [touch, ` + touched + `], env: {LD_PRELOAD: ./x.so}}`, "does not permit the variable LD_PRELOAD"},
		{"run " + touch, `run: [./brought.sh]`, "does not permit the program /"},
		{"run " + touch, `run: [./touch]`, "no such file"},
		{"runs", `run: [touch, ` + touched + `]`, "allowed:1:"}, // a list that is wrong by now permits nothing
	} {
		if err := os.WriteFile(list, []byte(c.list+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		daemon := "{host: web, " + strings.TrimPrefix(c.daemon, "{")
		if !strings.HasSuffix(daemon, "}") || strings.HasSuffix(daemon, `"]`) {
			daemon += "}"
		}
		phase := map[bool]string{true: "{phase: d.wait, with: {for: 1ms}}", false: "d"}[strings.Contains(daemon, "pause")]
		if strings.Contains(daemon, "fault") {
			phase = "{phase: d.stop, with: {daemon: d}}"
		}
		code, out, _ := f.experiment("files: [brought.sh]\nhosts: [web]\ndaemons: {d: " + daemon + "}\nschedule: [" + phase + "]\n")
		if code != 1 || !strings.Contains(out, c.want) || !strings.Contains(out, "host web") {
			t.Errorf("%q, %s: exit code %d: %s\nwant %s", c.list, c.daemon, code, out, c.want)
		}
		if _, err := os.Stat(touched); err == nil {
			t.Errorf("%q: %s ran", c.list, c.daemon)
		}
	}
	if err := os.WriteFile(list, []byte("run "+touch+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := f.experiment("hosts: [web]\ndaemons: {d: {host: web, run: [touch, " + touched + "]}}\nschedule: [d]\n"); code != 0 {
		t.Errorf("what is permitted: exit code %d: %s", code, out)
	}
	if _, err := os.Stat(touched); err != nil {
		t.Error(err)
	}
}

func TestAnAgentWithoutAListRunsNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.standby("web")
	f.waiting("web")
	file := "hosts: {web: , other: }\ndaemons: {d: {hosts: all, use: pause}}\nschedule: [{phase: d.wait, with: {for: 1ms}}]\n"
	code, out, _ := f.experiment(strings.Replace(file, ", other: ", "", 1))
	if code != 1 || !strings.Contains(out, "host web: ") || !strings.Contains(out, "it runs no experiments: start it with --allow-run FILE") {
		t.Errorf("exit code %d: %s", code, out)
	}
	code, out, _ = f.experiment(strings.ReplaceAll(file, "web: , ", ""))
	if code != 1 || !strings.Contains(out, `no agent of "other" takes experiments`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestGatheredPathsStayInside links files of the agent's host into the directory of a daemon: they do not come.
func TestGatheredPathsStayInside(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.allowing("shell", "web")
	secret := filepath.Join(f.dir, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, dir := f.experiment(`hosts: [web]
daemons: {d: {host: web, shell: "echo good >good; ln -s ` + secret + ` file; ln -s ` + f.dir + ` dir; ln -s ../../../../.. up", gather: ["*", "*/*", "*/*/*"]}}
schedule: [d]
`)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	good := false
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		good = good || strings.HasSuffix(path, "files/d/good") && string(b) == "good\n"
		if strings.Contains(string(b), "secret") && !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, "report.json") {
			t.Errorf("%s has what lies outside", path)
		}
		return err
	})
	if err != nil || !good {
		t.Errorf("the good file: %v, %v", good, err)
	}
}

// TestNothingIsLeftAtAgents kills the controller, an agent, and the server, while programs run, of which one is in a session of its own:
// all end, and the report names who has gone.
func TestNothingIsLeftAtAgents(t *testing.T) {
	t.Parallel()
	for _, kills := range []string{"controller", "agent", "server"} {
		t.Run(kills, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.allowing("shell", "web", "db")
			mark := filepath.Join(f.dir, "mark")
			c, dir := f.experimentCommand(`hosts: [web, db]
daemons: {d: {hosts: all, shell: "setsid tail -f ` + mark + `.1 & tail -f ` + mark + `.2 & : >` + mark + `.${host}; tail -f ` + mark + `.3"}}
schedule: [d]
`)
			for _, n := range []string{".1", ".2", ".3"} {
				if err := os.WriteFile(mark+n, nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			var said strings.Builder
			c.Stdout, c.Stderr = &said, &said
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			running := func() (n int) { return len(processesOf(t, "tail", mark)) }
			eventually(t, "not all programs run", func() bool { return running() == 6 })
			victim := map[string]*os.Process{"controller": c.Process, "agent": f.agents["web"].Process, "server": f.server.Process}[kills]
			if err := victim.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait()
			eventually(t, "something is left", func() bool {
				left, err := filepath.Glob(filepath.Join(f.dir, "*", ".run", "*"))
				return err == nil && len(left) == 0 && running() == 0
			})
			if kills == "controller" {
				return
			}
			b, err := os.ReadFile(filepath.Join(dir, "report.json"))
			var r struct {
				Run struct {
					Cause struct{ Host, What string }
				}
			}
			if err != nil || json.Unmarshal(b, &r) != nil {
				t.Fatalf("%v: %s\n%s", err, b, said.String())
			}
			if want := map[string]string{"agent": "the agent has gone", "server": "broker"}[kills]; r.Run.Cause.Host == "" || !strings.Contains(r.Run.Cause.What, want) || kills == "agent" && r.Run.Cause.Host != "web" {
				t.Errorf("cause %+v, want %s", r.Run.Cause, want)
			}
		})
	}
}

// processesOf returns the processes of a program that have a text in their arguments.
func processesOf(t *testing.T, program, text string) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		b, err := os.ReadFile(path)
		if args := strings.Split(string(b), "\x00"); err == nil && args[0] == program && strings.Contains(string(b), text) {
			pids = append(pids, path)
		}
	}
	return pids
}

// eventually waits for what other processes do.
func eventually(t *testing.T, otherwise string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(otherwise)
		}
	}
}
