package demo

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"meridian/clock"
)

// demoPatience is how long one step of the demo may take on a machine that is busy with other things.
const demoPatience = 20 * time.Second

// orders is what a host's process is told, as one line of JSON on its stdin. The stdin stays open as long as the
// demo wants the host to live.
type orders struct {
	Clock    wrongClock         `json:"clock"`
	Origin   clock.TimelineTime `json:"origin"`   // of the machine's time
	Dir      string             `json:"dir"`      // where its list goes
	Dial     string             `json:"dial"`     // address of the host that it asks, if any
	Token    []byte             `json:"token"`    // what a caller must know
	Callers  int                `json:"callers"`  // how many connections lead from host to host
	Seed     uint64             `json:"seed"`     // of its pauses
	Duration time.Duration      `json:"duration"` // how long it asks
}

// child is one running host as the demo sees it.
type child struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr firstBytes
}

// talk starts the hosts, tells started of them and returns when all have ended. One host's failure ends the others.
func talk(ctx context.Context, dir string, origin clock.TimelineTime, clocks []wrongClock, seed uint64, duration time.Duration, started func(hosts string)) error {
	whole, cancel := context.WithTimeout(ctx, duration+demoPatience)
	defer cancel()
	order := orders{Origin: origin, Dir: dir, Token: make([]byte, demoTokenSize), Callers: 4, Seed: seed, Duration: duration}
	rand.Read(order.Token) // never fails

	// From the last host to the first, because each needs the address of the next.
	var running []*child
	var failure error
	for i := len(clocks) - 1; i >= 0 && failure == nil; i-- {
		order.Clock = clocks[i]
		var p *child
		if p, failure = startChild(whole, order); failure != nil {
			break
		}
		running = append(running, p)
		if i > 0 {
			order.Dial, failure = p.says("listening ")
		}
	}
	if failure == nil {
		started(describeProcesses(running))
	} else {
		cancel()
	}

	failures := make([]error, len(running))
	var all sync.WaitGroup
	for i, p := range running {
		all.Go(func() {
			if failures[i] = p.finish(); failures[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	// What a host says of its own end tells more than what the demo saw of it.
	var said []string
	for _, err := range failures {
		if err != nil && !errors.Is(err, errDemoAbandoned) {
			said = append(said, err.Error())
		}
	}
	switch {
	case len(said) > 0:
		return fmt.Errorf("demo: %s", strings.Join(said, "; "))
	case failure != nil:
		return fmt.Errorf("demo: %w", failure)
	case whole.Err() != nil:
		return fmt.Errorf("demo: the hosts have not ended %v after their time", demoPatience)
	}
	return nil
}

func describeProcesses(running []*child) string {
	var names []string
	for _, p := range running {
		names = append([]string{fmt.Sprintf("%s (process %d)", p.name, p.cmd.Process.Pid)}, names...)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// startChild runs this program again as a host. When ctx ends, the host is asked to end by closing its stdin, and
// killed if it does not.
func startChild(ctx context.Context, order orders) (*child, error) {
	p := &child{name: order.Clock.Name}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, program, Command...)
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = 2 * time.Second
	p.cmd.Cancel = func() error {
		_ = p.stdin.Close() // closed already if it is ending anyway
		return nil
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	// A host that is gone already cannot be told; finish says why.
	_, _ = p.stdin.Write(append(text, '\n'))
	return p, nil
}

// says waits for a line that begins with a word and returns the rest of it.
func (p *child) says(word string) (string, error) {
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s ended too early", p.name)
	}
	rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), word)
	if !ok {
		return "", fmt.Errorf("%s says %q instead of %q", p.name, line, word)
	}
	return rest, nil
}

// finish waits until the host has done its work and its process has ended. The error is the host's own if it gave one.
func (p *child) finish() error {
	_, unfinished := p.says("done")
	_ = p.stdin.Close()
	_, _ = io.Copy(io.Discard, p.stdout) // Wait may be called only when all is read
	err := p.cmd.Wait()
	said := strings.TrimPrefix(strings.TrimSpace(p.stderr.String()), "meridian: ")
	switch {
	case strings.Contains(said, errDemoAbandoned.Error()):
		return errDemoAbandoned
	case err != nil && said != "":
		return fmt.Errorf("%s: %s", p.name, said)
	case err != nil:
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return unfinished
}

// firstBytes keeps the beginning of what is written to it, where the reason stands.
type firstBytes struct{ bytes.Buffer }

func (b *firstBytes) Write(text []byte) (int, error) {
	const enough = 4 << 10
	b.Buffer.Write(text[:min(len(text), max(0, enough-b.Len()))])
	return len(text), nil
}
