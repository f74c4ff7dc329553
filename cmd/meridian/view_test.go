package main_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// viewed runs meridian view with arguments, fetches what a page asks for, and interrupts it: viewed DIR ARGUMENT... It must
// end with 0. In DIR lie the page and the answers: page.html, about.json, events.json, tiles, found.json,
// violations.json, plots.json, and what was said on stderr.
func viewed(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 99)
	if runtime.GOOS == "windows" {
		benchOf(ts).t.Skip("processes cannot be interrupted here")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	c := exec.Command("meridian", append([]string{"view"}, args[1:]...)...)
	var stderr strings.Builder
	c.Dir, c.Stderr, c.Env = ts.MkAbs("."), &stderr, os.Environ()
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"} { // a test opens no browser
		c.Env = append(c.Env, name+"=")
	}
	stdout, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ended := false
	defer func() {
		if !ended {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		ended = true
		ts.Fatalf("it printed no address: %v: %s", c.Wait(), stderr.String())
	}
	ts.Check(fetch(strings.TrimSpace(line), dir))
	ts.Check(c.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(stdout)
	ts.Check(err)
	ended = true
	if err := c.Wait(); err != nil || len(rest) > 0 {
		ts.Fatalf("interrupted, it ended with %v, and printed %q: %s", err, rest, stderr.String())
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "stderr"), []byte(stderr.String()), 0o666))
}

// fetch asks for all that a page asks for, and for what nobody should get.
func fetch(address, dir string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() != "127.0.0.1" || len(u.Path) < 20 {
		return fmt.Errorf("%q is no address of a page of one person: %w", address, errors.Join(err))
	}
	client := http.Client{Timeout: time.Minute}
	get := func(address, host string) (status int, body []byte, err error) {
		r, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			return 0, nil, err
		}
		r.Host = host
		answer, err := client.Do(r)
		if err != nil {
			return 0, nil, err
		}
		defer answer.Body.Close()
		body, err = io.ReadAll(answer.Body)
		return answer.StatusCode, body, err
	}
	for file, request := range map[string]string{
		"page.html": "", "about.json": "api/about", "events.json": "api/events?from=0&count=1000", "tiles": "api/tiles?keys=0.0.0,1.0.0",
		"found.json": "api/search?q=send", "violations.json": "api/violations", "plots.json": "api/plots",
	} {
		status, body, err := get(address+request, u.Host)
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("%s: %d %s %w", request, status, body, err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), body, 0o666); err != nil {
			return err
		}
	}
	for _, refused := range [][2]string{{"http://" + u.Host + "/api/about", u.Host}, {"http://" + u.Host + "/", u.Host}, {address + "api/about", "evil.example"}} {
		if status, body, err := get(refused[0], refused[1]); err != nil || status < 400 || len(body) > 200 {
			return fmt.Errorf("%s as %s is answered: %d %s %w", refused[0], refused[1], status, body, err)
		}
	}
	return nil
}
