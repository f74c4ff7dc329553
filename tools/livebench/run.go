//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"

	"meridian/tools/chromium"
)

// cost is what a process took.
type cost struct {
	share float64 // of a core
	own   int64   // bytes of memory of its own
}

// settling is how long the program has emitted before it is measured.
const settling = 3 * time.Second

// run records, follows and looks.
func (b *bench) run(ctx context.Context) (r *result, err error) {
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "livebench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	dir := filepath.Join(scratch, "trace")
	browser, err := chromium.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer browser.Stop()
	viewer, address, err := b.view(ctx, dir, filepath.Join(scratch, "index"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, interrupt(viewer)) }()
	recorder, err := b.record(ctx, scratch, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = recorder.Process.Kill(); _ = recorder.Wait() }() // what it says of its end is not measured
	tab, closed := browser.Tab()
	defer closed()
	p := page{tab}
	if err := p.open(address); err != nil {
		return nil, err
	}
	if err := p.watch(settling); err != nil {
		return nil, err
	}
	if err := b.measure(ctx, recorder, viewer); err != nil {
		return nil, err
	}
	if r, err = p.result(); err != nil {
		return nil, err
	}
	r.Emitted = int(b.length / markInterval)
	if b.shot != "" {
		png, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
		if err != nil {
			return nil, err
		}
		return r, os.WriteFile(b.shot, png, 0o644)
	}
	return r, nil
}

// record starts the recorder of a program that emits.
func (b *bench) record(ctx context.Context, scratch, dir string) (*exec.Cmd, error) {
	rings := filepath.Join(scratch, "rings")
	if err := os.Mkdir(rings, 0o700); err != nil {
		return nil, err
	}
	args := []string{"record", "-q", "--rings", rings, "-o", dir, "--flush", b.flush.String()}
	if b.kernel != "" {
		args = append(args, "--kernel", b.kernel)
	}
	emission := b.length + settling + 10*time.Second // it goes on while the page is asked
	args = append(args, "--", b.self, "emit", "-rate", fmt.Sprint(b.rate), "-length", emission.String())
	recorder := exec.CommandContext(ctx, b.meridian, args...)
	recorder.Stderr = os.Stderr
	return recorder, recorder.Start()
}

// measure notes what the recorder and a reader of its trace take of a core for so long.
func (b *bench) measure(ctx context.Context, recorder, reader *exec.Cmd) error {
	before := [2]time.Duration{cpu(recorder), cpu(reader)}
	begun := time.Now()
	if err := pause(ctx, b.length); err != nil {
		return err
	}
	took := time.Since(begun).Seconds()
	b.recorder = cost{share: (cpu(recorder) - before[0]).Seconds() / took}
	b.viewer = cost{share: (cpu(reader) - before[1]).Seconds() / took, own: memory(reader)}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// view starts the viewer and returns the address of its page.
func (b *bench) view(ctx context.Context, dir, index string) (*exec.Cmd, string, error) {
	cmd := exec.CommandContext(ctx, b.meridian, "view", "--follow", "--no-browser", "-q", "--latency", b.latency.String(), "--index", index, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		return nil, "", fmt.Errorf("the viewer has no address in its output: %s", strings.TrimSpace(said.String()))
	}
	return cmd, strings.TrimSpace(address), nil
}

func interrupt(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	return ended(cmd)
}

// ended waits for the end of a command that was interrupted.
func ended(cmd *exec.Cmd) error {
	err := cmd.Wait()
	if gone := (*exec.ExitError)(nil); errors.As(err, &gone) && gone.ExitCode() == 3 {
		return nil // events were lost: it says how many
	}
	return err
}

// cpu is the time of processors that a process has taken. A clock tick is 10 ms.
func cpu(cmd *exec.Cmd) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest) // from the third of proc(5) on: utime is the 14th
	var user, system int64
	if len(fields) < 13 {
		return 0
	}
	_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system) // numbers, by proc(5)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory is what a process holds of its own.
func memory(cmd *exec.Cmd) (own int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "RssAnon: %d kB", &kb); n == 1 {
			own = kb << 10
		}
	}
	return own
}
