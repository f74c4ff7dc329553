package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"meridian/internal/testneed"
)

// nobody is a user without rights.
const nobody = 65534

// attempts is what a stranger tries, and what came of it.
type attempts struct {
	Read, List, Ask []string
	Plant           string            // a link, a pipe and a ring of its own are made in this directory
	Victim          string            // where the link leads
	Got             map[string]string // by path or address
}

func init() {
	helpers = append(helpers, func() {
		text := os.Getenv("MERIDIAN_TEST_STRANGER")
		if text == "" {
			return
		}
		var a attempts
		err := json.Unmarshal([]byte(text), &a)
		if err == nil {
			err = a.make()
		}
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(a.Got)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	})
}

func (a *attempts) make() error {
	a.Got = map[string]string{}
	for _, path := range a.Read {
		_, err := os.ReadFile(path)
		a.Got[path] = permitted(err)
	}
	for _, path := range a.List {
		_, err := os.ReadDir(path)
		a.Got[path] = permitted(err)
	}
	client := http.Client{Timeout: time.Minute}
	for _, address := range a.Ask {
		answer, err := client.Get(address)
		if err != nil {
			return err
		}
		answer.Body.Close()
		a.Got[address] = fmt.Sprint(answer.StatusCode)
	}
	if a.Plant == "" {
		return nil
	}
	return errors.Join(os.Symlink(a.Victim, filepath.Join(a.Plant, "meridian-1-0f0e0d0c-0000-4000-8000-000000000001.ring")), syscall.Mkfifo(filepath.Join(a.Plant, "meridian-2-0f0e0d0c-0000-4000-8000-000000000002.ring"), 0o600),
		os.WriteFile(filepath.Join(a.Plant, "meridian-3-0f0e0d0c-0000-4000-8000-000000000003.ring"), []byte("MERIRING and nothing more"), 0o600))
}

func permitted(err error) string {
	switch {
	case err == nil:
		return "yes"
	case errors.Is(err, fs.ErrPermission):
		return "no"
	}
	return err.Error()
}

// asNobody makes the attempts in a process of another user.
func asNobody(t *testing.T, a attempts) map[string]string {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/proc/self/exe") // whose path that user could not follow
	c.Env = []string{"MERIDIAN_TEST_STRANGER=" + string(text)}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	c.Dir = "/"
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("the stranger: %v: %s", err, exit.Stderr)
	}
	got := map[string]string{}
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		t.Fatalf("the stranger: %v, %s", err, out)
	}
	return got
}

// TestAnotherUserOfTheMachineReadsNothingAndSpoilsNothing makes another user really try, in a directory that everybody may enter.
func TestAnotherUserOfTheMachineReadsNothingAndSpoilsNothing(t *testing.T) {
	testneed.Root(t, "becoming another user")
	t.Parallel()
	dir := everybodys(t)
	rings, public, victim := filepath.Join(dir, "rings"), filepath.Join(dir, "public"), filepath.Join(dir, "victim")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(errors.Join(os.Mkdir(rings, 0o700), os.Chmod(rings, 0o1777), os.WriteFile(public, nil, 0o600), os.Chmod(public, 0o644)))
	must(os.WriteFile(victim, []byte("of root"), 0o600))
	run := func(args ...string) {
		t.Helper()
		c := exec.Command("sh", append([]string{"-c", `umask 022; exec "$@"`, "sh", "meridian"}, args...)...)
		c.Dir, c.Env = dir, append(os.Environ(), "TMPDIR="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("meridian %v: %v\n%s", args, err, out)
		}
	}

	// What it puts among the rings of a recorder that is root changes nothing.
	asNobody(t, attempts{Plant: rings, Victim: victim})
	run("record", "-q", "-o", "trace", "--rings", rings, "--host", "web", "--", "emit", "100")
	if left, err := os.ReadFile(victim); err != nil || string(left) != "of root" {
		t.Errorf("what a link among the rings leads to is now %q, %v", left, err)
	}
	run("convert", "-q", "trace", "--method", "none", "-o", "events.csv")
	events, err := os.ReadFile(filepath.Join(dir, "events.csv"))
	if n := strings.Count(string(events), "test:number"); err != nil || n != 100 {
		t.Errorf("%d of 100 events are recorded beside what another user planted, %v", n, err)
	}

	// It reads nothing that was written, nor what runs.
	view := exec.Command("meridian", "view", "--no-browser", "trace", "--method", "none", "--index", "t.mvx")
	view.Dir, view.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	page, err := view.StdoutPipe()
	must(errors.Join(err, view.Start()))
	t.Cleanup(func() { _ = view.Process.Kill() })
	address, _, err := bufio.NewReader(page).ReadLine()
	must(err)
	asked := asNobody(t, attempts{Read: []string{public, victim, filepath.Join(dir, "trace", "metadata"), filepath.Join(dir, "events.csv"), filepath.Join(dir, "t.mvx")},
		List: []string{dir, filepath.Join(dir, "trace")}, Ask: []string{string(address)}})
	want := map[string]string{public: "yes", dir: "yes", string(address): "403"}
	for what, got := range asked {
		if wanted := want[what]; got != wanted && (wanted != "" || got != "no") {
			t.Errorf("another user gets %s: %s, want %q (or no)", what, got, wanted)
		}
	}
	if len(asked) != 8 {
		t.Errorf("%d of 8 attempts were made: %v", len(asked), asked)
	}
	answer, err := (&http.Client{Timeout: time.Minute}).Get(string(address))
	must(err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK { // its own user
		t.Errorf("root gets %s", answer.Status)
	}
	must(errors.Join(view.Process.Signal(os.Interrupt), view.Wait()))
}
