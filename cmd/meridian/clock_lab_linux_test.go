package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"meridian/internal/netlab"
	"meridian/internal/show"
	"meridian/internal/testneed"
)

// serveIn answers in a namespace with what is left of the arguments, and returns the command once it answers.
func serveIn(t *testing.T, lab *netlab.Lab, host, meridian, dir string, args ...string) *exec.Cmd {
	t.Helper()
	c := lab.Command(host, meridian, append([]string{"clock", "serve"}, args...)...)
	_ = serving(t, c, dir)
	return c
}

// serving starts 'clock serve' in a directory, and returns the address at which it answers.
func serving(t *testing.T, c *exec.Cmd, dir string) string {
	t.Helper()
	c.Dir = dir
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	_, address, ok := strings.Cut(strings.TrimSpace(line), "answering at ")
	if err != nil || !ok {
		t.Fatalf("clock serve says %q, %v", line, err)
	}
	return address
}

func TestSignalsBeginAndEndQuietWindows(t *testing.T) {
	dir := t.TempDir()
	meridian := installed(t, dir, "meridian")
	if o := ran(t, dir, meridian, "clock", "key", "-o", "key"); o.code != 0 {
		t.Fatal(o.stderr)
	}
	server := exec.Command(meridian, "clock", "serve", "--listen", "127.0.0.1:0", "--key", "key")
	address := serving(t, server, dir)
	for _, quiet := range []bool{true, false} {
		sent, code := syscall.SIGUSR2, 0
		if quiet {
			sent, code = syscall.SIGUSR1, 3
		}
		if err := server.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		// The server takes a signal when it gets a processor.
		for late := time.Now().Add(time.Minute); ; {
			o := ran(t, dir, meridian, "clock", "watch", address, "--key", "key", "--for", "1s")
			if o.code == code {
				break
			}
			if time.Now().After(late) {
				t.Fatalf("after %v: exit code %d, not %d: %s", sent, o.code, code, o.stderr)
			}
		}
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("clock serve, interrupted: %v", err)
	}
}

// TestClocksOfNamespacesAreBoundedLiveAndAfterwards has two namespaces, whose clock is one. What watch says while it runs, what tail
// shows meanwhile and what align says afterwards of the probes must all hold the offset of 0, with both protocols.
func TestClocksOfNamespacesAreBoundedLiveAndAfterwards(t *testing.T) {
	testneed.Root(t, "network namespaces")
	lab := netlab.TwoHosts(t)
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	if o := ran(t, dir, meridian, "clock", "key", "-o", "key"); o.code != 0 {
		t.Fatal(o.stderr)
	}
	live := exec.Command(meridian, "tail", "-q", "web=web", "db=db", "--format", "json")
	shown, err := os.Create(filepath.Join(dir, "tail"))
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	live.Dir, live.Stdout, live.Stderr = dir, shown, os.Stderr
	if err := live.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = live.Process.Kill() })
	server := serveIn(t, lab, "db", meridian, dir, "--listen", ":4123", "--key", "key", "-o", "db")

	watch := lab.Command("web", meridian, "clock", "watch", "four="+lab.Address("web", "db").String(),
		"six="+net.JoinHostPort(lab.Address6("web", "db").String(), "4123"), "--key", "key", "--interval", "100ms", "--json", "-o", "web")
	watch.Dir, watch.Stderr = dir, os.Stderr
	said, err := watch.StdoutPipe()
	if err == nil {
		err = watch.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(time.Minute, func() { _ = watch.Process.Kill() })
	defer limit.Stop()
	bounded, byKernel, ending := make(map[string]int), 0, false
	var last show.ClockState
	for line := range lines(said) {
		if !ending && bounded["four"] >= 20 && bounded["six"] >= 20 && placedByTail(t, shown.Name()) >= 100 {
			ending = true
			if err := watch.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		last = show.ClockState{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatal(err)
		}
		if last.Low == nil {
			continue
		}
		bounded[last.Host]++
		// The free clocks of two programs have origins of their own, so only the offset of the system clocks is known to be 0.
		if *last.Low > 0 || *last.High < 0 {
			t.Errorf("a bound does not hold the offset of a clock to itself: %s", line)
		}
		if last.Here == "kernel" && last.There == "kernel" {
			byKernel++
		}
		if last.Steps+last.Set > 0 {
			t.Errorf("a clock was set: %s", line)
		}
	}
	if all := bounded["four"] + bounded["six"]; byKernel < all*9/10 {
		t.Errorf("of %d readings %d have stamps of the kernel: stamps do not find their questions", all, byKernel)
	}
	if err := watch.Wait(); err != nil || !ending {
		t.Fatalf("watch: %v; bounds by host: %v; tail has placed %d probes", err, bounded, placedByTail(t, shown.Name()))
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // its stderr was read above

	if err := live.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := live.Wait(); err != nil {
		t.Errorf("tail: %v", err)
	}
	all, err := os.ReadFile(shown.Name())
	if err != nil {
		t.Fatal(err)
	}
	checkProbesOfTail(t, string(all))
	o := ran(t, dir, meridian, "align", "web=web", "db=db", "-o", "report.json")
	if o.code != 0 {
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
	p := report.Pairs[0]
	if p.OffsetNs == nil || p.BoundNs == nil || max(*p.OffsetNs, -*p.OffsetNs) > *p.BoundNs {
		t.Errorf("afterwards the offset of a clock to itself is %v ± %v", p.OffsetNs, p.BoundNs)
	} else if low, high := *p.OffsetNs-*p.BoundNs, *p.OffsetNs+*p.BoundNs; low > *last.High || high < *last.Low {
		t.Errorf("afterwards [%d, %d], live [%d, %d]: one must be wrong", low, high, *last.Low, *last.High)
	}
}

// checkProbesOfTail checks what tail printed of probes: no message arrives before it was sent, and both hosts' clocks are bounded.
func checkProbesOfTail(t *testing.T, shown string) {
	t.Helper()
	type end struct {
		Host, Event string
		Flow        uint64
		Time        int64  `json:"time_ns"`
		Low         *int64 `json:"low_ns"`
		High        *int64 `json:"high_ns"`
	}
	sent := make(map[uint64]end)
	messages, placed := 0, 0
	for pass := range 2 {
		for line := range strings.Lines(shown) {
			var e end
			if json.Unmarshal([]byte(line), &e) != nil || e.Flow == 0 {
				continue
			}
			switch {
			case pass == 0 && e.Event == "probe:send":
				sent[e.Flow] = e
			case pass == 1 && e.Event == "probe:receive":
				from, ok := sent[e.Flow]
				if !ok {
					continue
				}
				if messages++; e.Low != nil && from.Low != nil {
					placed++
					if *from.Low > *e.High {
						t.Errorf("flow %d arrives before it was sent for sure: %+v, %+v", e.Flow, from, e)
					}
				}
			}
		}
	}
	if placed < 50 {
		t.Errorf("%d probes with both ends, %d of them bounded", messages, placed)
	}
}

// placedByTail returns how many probes tail has printed so far whose receipt has bounds.
func placedByTail(t *testing.T, path string) int {
	t.Helper()
	shown, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return len(boundedReceipt.FindAll(shown, -1))
}

var boundedReceipt = regexp.MustCompile(`"low_ns":-?[0-9].*"event":"probe:receive"`)
