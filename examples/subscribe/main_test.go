//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"meridian/internal/testneed"
	"meridian/sensor"
)

var step = sensor.NewEvent1[int64]("example", "step", "n")

// output is what a program prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestProgramsInGoAndCReadALiveTimelineWhole(t *testing.T) {
	testneed.Long(t, "builds the command and a program in C")
	cc, err := exec.LookPath("cc")
	if err != nil {
		testneed.Missing(t, "%v", err)
	}
	dir := t.TempDir()
	inDir := func(name string) string { return filepath.Join(dir, name) }
	for _, build := range []*exec.Cmd{
		exec.Command("go", "run", "-exec", "cp", "meridian/cmd/meridian", inDir("meridian")), // go run keeps what it links
		exec.Command(cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "c/subscribe.c", "-o", inDir("subscribe")),
	} {
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", build, err, out)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tail := exec.CommandContext(ctx, inDir("meridian"), "tail", inDir("trace"), "--event", "step", "--ring", inDir("timeline"))
	var said strings.Builder
	tail.Stderr = &said
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if f, err := os.ReadFile(inDir("timeline")); err == nil && len(f) > 148 && f[144] == 1 && f[88] == 1 { // in use, with its class
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("no ring: %s", said.String())
		}
		time.Sleep(time.Millisecond)
	}
	var inGo, inC output
	done := make(chan error, 2)
	c := exec.CommandContext(ctx, inDir("subscribe"), inDir("timeline"))
	c.Stdout = &inC
	go func() { done <- run(inDir("timeline"), "example:step", 0, &inGo) }()
	go func() { done <- c.Run() }()

	stop, err := sensor.Record(inDir("trace"), sensor.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const n = 2000
	step.Emit(0)
	for !strings.Contains(inGo.String(), "\n") || !strings.Contains(inC.String(), "\n") { // both have opened the ring, which goes with tail
		if ctx.Err() != nil {
			t.Fatalf("the first event is not read: %q, %q", inGo.String(), inC.String())
		}
		time.Sleep(time.Millisecond)
	}
	for i := range int64(n - 1) {
		step.Emit(i + 1)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := tail.Process.Signal(os.Interrupt); err != nil { // it hands on all that there is
		t.Fatal(err)
	}
	if err := tail.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for name, out := range map[string]*output{"Go": &inGo, "C": &inC} {
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != n+1 || lines[n] != "0 events lost" {
			t.Errorf("%s: %d lines, the last %q", name, len(lines), lines[len(lines)-1])
			continue
		}
		for i, line := range lines[:n] {
			if want := fmt.Sprintf(` example:step {"n":%d}`, i); !strings.HasSuffix(line, want) {
				t.Fatalf("%s: line %d is %q, not ...%q", name, i, line, want)
			}
		}
	}
	if _, err := os.Stat(inDir("timeline")); !os.IsNotExist(err) {
		t.Errorf("the ring is left behind: %v", err)
	}
}

func TestARingThatIsNotThereSaysHowToMakeIt(t *testing.T) {
	err := run(filepath.Join(t.TempDir(), "none"), "", 0, new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "meridian tail") {
		t.Errorf("error %v", err)
	}
}
