//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"meridian/internal/netlab"
)

// watched says how `meridian clock watch` is run.
type watched struct {
	rate  float64
	pair  bool
	burst int
	warp  string // what the other end's clocks do; "" for nothing
	port  int
	// The asking host, the answering one, and its address; "" for those of the comparison.
	from, to, address string
}

func (w watched) name() string {
	switch {
	case w.warp != "" && w.pair:
		return fmt.Sprintf("ours %g/s in pairs, %s", w.rate, w.warp)
	case w.warp != "":
		return fmt.Sprintf("ours %g/s, %s", w.rate, w.warp)
	case w.pair:
		return fmt.Sprintf("ours %g/s in pairs", w.rate)
	case w.burst > 0:
		return fmt.Sprintf("ours %g/s, bursts of %d", w.rate, w.burst)
	}
	return fmt.Sprintf("ours %g/s", w.rate)
}

// own is `meridian clock serve` and `meridian clock watch`.
type own struct {
	server, client *exec.Cmd
	reading        sync.WaitGroup

	mu   sync.Mutex
	said []point
	bad  error
}

func (b *bench) ours(l *netlab.Lab, w watched) *subject {
	if w.from == "" {
		w.from, w.to, w.address = hostName(0), hostName(1), hostAddress(1)
	}
	o := &own{}
	return &subject{
		name: w.name(), rate: w.rate, pair: w.pair, warp: w.warp, ports: []int{w.port},
		start: func() error { return b.startOwn(o, l, w) },
		ask:   o.take,
		pids:  func() []int { return []int{o.client.Process.Pid, o.server.Process.Pid} },
		stop:  o.stop,
	}
}

func (b *bench) startOwn(o *own, l *netlab.Lab, w watched) error {
	key := filepath.Join(b.dir, "key")
	if _, err := os.Stat(key); errors.Is(err, os.ErrNotExist) {
		if out, err := exec.Command(b.meridian, "clock", "key", "-o", key).CombinedOutput(); err != nil {
			return fmt.Errorf("meridian clock key: %w: %s", err, out)
		}
	}
	address := net.JoinHostPort(w.address, strconv.Itoa(w.port))
	o.server = l.Command(w.to, b.meridian, "clock", "serve", "--listen", address, "--key", key, "--quiet")
	if w.warp != "" {
		o.server = l.Command(w.to, b.self, "serve", "-address", address, "-key", key, "-warp", w.warp)
	}
	o.server.Stderr = os.Stderr
	if err := o.server.Start(); err != nil {
		return err
	}
	args := []string{"clock", "watch", address, "--key", key, "--json", "--interval", askInterval.String(),
		"--rate", strconv.FormatFloat(w.rate, 'g', -1, 64), fmt.Sprintf("--pairs=%v", w.pair)}
	if w.burst > 0 {
		args = append(args, "--burst", strconv.Itoa(w.burst))
	}
	o.client = l.Command(w.from, b.meridian, args...)
	if w.warp != "" {
		o.client = l.Command(w.from, b.self, "watch", "-address", address, "-key", key, "-warp", w.warp,
			"-rate", strconv.FormatFloat(w.rate, 'g', -1, 64), fmt.Sprintf("-pairs=%v", w.pair))
	}
	o.client.Stderr = os.Stderr
	out, err := o.client.StdoutPipe()
	if err == nil {
		err = o.client.Start()
	}
	if err != nil {
		_ = o.server.Process.Kill()
		_ = o.server.Wait()
		return err
	}
	o.reading.Go(func() { o.read(out) })
	return nil
}

// read takes the lines of `meridian clock watch --json`.
func (o *own) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var l said
		err := json.Unmarshal(lines.Bytes(), &l)
		o.mu.Lock()
		switch {
		case err != nil:
			o.bad = fmt.Errorf("meridian clock watch says %q: %w", lines.Text(), err)
		case l.Offset != nil:
			p := point{offset: *l.Offset, bounded: l.Low != nil && l.High != nil, leastRTT: l.MinRTT, noticed: l.Noticed}
			if p.bounded {
				p.low, p.high = *l.Low, *l.High
			}
			if f := l.Free; f != nil && f.Low != nil && f.High != nil {
				p.free = *f.High - *f.Low
			}
			o.said = append(o.said, p)
		}
		o.mu.Unlock()
	}
	if err := lines.Err(); err != nil {
		o.mu.Lock()
		o.bad = fmt.Errorf("reading what meridian clock watch prints: %w", err)
		o.mu.Unlock()
	}
}

func (o *own) take() ([]point, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	said := o.said
	o.said = nil
	return said, o.bad
}

func (o *own) stop() {
	_ = o.client.Process.Kill()
	o.reading.Wait()
	_ = o.client.Wait()
	_ = o.server.Process.Kill()
	_ = o.server.Wait()
}
