package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/internal/netlab"
	"meridian/internal/probe/planned"
	"meridian/internal/show"
	"meridian/internal/testneed"
)

// Two hosts that talk to each other by probes alone are recorded; one of them gets its plan while it records.
func TestRecordersExchangeProbesAsTheirPlansSay(t *testing.T) {
	testneed.Root(t, "network namespaces")
	t.Parallel()
	lab := netlab.TwoHosts(t)
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	key := strings.Repeat("5a", 32)
	plans := map[string]string{"web": filepath.Join(dir, "web.plan"), "db": filepath.Join(dir, "db.plan")}
	answer := net.JoinHostPort(lab.Address("web", "db").String(), "4123")
	if err := (&planned.Plan{Listen: answer, Key: key}).Write(plans["db"]); err != nil {
		t.Fatal(err)
	}
	recorders := make(map[string]*exec.Cmd)
	for _, host := range []string{"db", "web"} {
		c := lab.Command(host, meridian, "record", "-q", "-o", host, "--host", host, "--rings", dir, "--probes", plans[host])
		c.Dir, c.Stderr = dir, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		recorders[host] = c
	}
	if s := stateOnce(t, plans["db"], func(s planned.State) bool { return s.Listening != "" }); s.Listening != answer {
		t.Fatalf("it answers at %s", s.Listening)
	}
	silent := planned.Peer{Name: "nobody", Address: net.JoinHostPort(lab.Address("web", "db").String(), "4124")}
	asks := []planned.Peer{{Name: "db", Address: answer, Rate: 32}, silent}
	if err := (&planned.Plan{Key: key, Ask: asks}).Write(plans["web"]); err != nil {
		t.Fatal(err)
	}
	s := stateOnce(t, plans["web"], func(s planned.State) bool {
		return len(s.Pairs) == 2 && s.Pairs[0].Exchanges >= 20 && s.Pairs[0].Width > 0 && !s.Pairs[0].Silent && s.Pairs[1].Silent
	})
	if p := s.Pairs[0]; p.Name != "db" || p.LeastRTT <= 0 || p.Width < p.LeastRTT/2 {
		t.Errorf("db: %+v", p)
	}
	if p := s.Pairs[1]; p.Exchanges > 0 || p.Width > 0 {
		t.Errorf("a host that is not there: %+v", p)
	}
	asks[0].Rate = 64
	if err := (&planned.Plan{Key: key, Ask: asks}).Write(plans["web"]); err != nil {
		t.Fatal(err)
	}
	known := s.Pairs[0].Exchanges
	stateOnce(t, plans["web"], func(s planned.State) bool {
		if len(s.Pairs) != 2 || s.Pairs[0].Exchanges < known || s.Pairs[0].Width == 0 {
			t.Fatalf("another rate lost what was known of the clock, such as %d exchanges: %+v", known, s)
		}
		return s.Pairs[0].Exchanges >= known+20
	})
	if err := os.WriteFile(plans["web"], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s = stateOnce(t, plans["web"], func(s planned.State) bool { return s.Error != "" }); len(s.Pairs) != 2 {
		t.Errorf("a plan that is damaged changed what is asked: %+v", s)
	}
	if err := (&planned.Plan{Key: key}).Write(plans["web"]); err != nil {
		t.Fatal(err)
	}
	stateOnce(t, plans["web"], func(s planned.State) bool { return s.Error == "" && len(s.Pairs) == 0 })
	for _, c := range recorders {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("record: %v", err)
		}
	}
	if o := ran(t, dir, meridian, "align", "web", "db", "-o", "report.json"); o.code != 0 {
		t.Fatalf("exit code %d: %s", o.code, o.stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := show.ReadReport(strings.NewReader(string(text)))
	if err != nil || len(report.Pairs) != 1 {
		t.Fatalf("%d pairs, %v", len(report.Pairs), err)
	}
	if p := report.Pairs[0]; p.OffsetNs == nil || p.BoundNs == nil || max(*p.OffsetNs, -*p.OffsetNs) > *p.BoundNs {
		t.Errorf("the offset of a clock to itself is %v ± %v", p.OffsetNs, p.BoundNs)
	}
}

// stateOnce waits for a state of a plan.
func stateOnce(t *testing.T, plan string, is func(planned.State) bool) planned.State {
	t.Helper()
	var last planned.State
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if s, err := planned.ReadState(plan); err == nil {
			if last = s; is(s) {
				return s
			}
		}
	}
	t.Fatalf("the state of %s is %+v", plan, last)
	return last
}

func TestPlansOfProbesAreRefusedWithTheReason(t *testing.T) {
	key := strings.Repeat("00", 32)
	for text, want := range map[string]string{
		`{"listen": "127.0.0.1:4123"}`:                                                 "64 hexadecimal digits",
		`{"listen": "127.0.0.1", "key": "` + key + `"}`:                                "missing port",
		`{"key": "` + key + `", "ask": [{"name": "a", "address": "b"}]}`:               "not HOST:PORT",
		`{"key": "` + key + `", "ask": [{"name": "", "address": "b:1"}]}`:              "are named",
		`{"key": "` + key + `", "ask": [{"name": "a", "address": "b:1", "rate": -1}]}`: "rate -1",
		`{"keys": "` + key + `"}`:                                                      "unknown field",
		`{`:                                                                            "unexpected EOF",
	} {
		path := filepath.Join(t.TempDir(), "plan")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := planned.Read(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
	}
	path := filepath.Join(t.TempDir(), "plan")
	if err := errors.Join(os.WriteFile(path, []byte(`{}`), 0o600), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := planned.Read(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	peers := slices.Repeat([]planned.Peer{{Name: "a", Address: "b:1"}}, 257)
	if err := (&planned.Plan{Key: key, Ask: peers}).Check(); err == nil || !strings.Contains(err.Error(), "at most 256") {
		t.Errorf("too many hosts: %v", err)
	}
}
