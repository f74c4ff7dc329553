package main_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"meridian/internal/testneed"
)

// fault is something that is done to a lab and mended.
type fault struct {
	name  string
	do    func()
	keeps bool // all processes live on, and no disk is full
}

// Faults that other code asks for.
const (
	hostDiskFull = "the host's disk full"
	unread       = "a subscriber that reads nothing"
)

func (c *chaos) pause(most time.Duration) { time.Sleep(time.Duration(c.r.Int64N(int64(most)))) }

// faults returns all that is done to a lab. The subscriber that reads nothing is there all the time.
func (c *chaos) faults() []fault {
	const ms = time.Millisecond
	return []fault{
		{"agent killed", func() { _ = c.agent.Process.Kill(); <-c.ended }, false}, // supervise starts it again
		{"recorder killed", func() {
			for _, p := range c.recorders() {
				_ = p.Kill()
			}
		}, false},
		{"server killed", func() { kill(c.server); c.pause(200 * ms); c.startServer() }, false},
		{"broker killed", func() { kill(c.broker); c.pause(200 * ms); c.startBroker() }, false},
		{"packets dropped", func() {
			c.nft("table inet chaos { chain in { type filter hook input priority 0; iifname eth0 drop; }; chain out { type filter hook output priority 0; oifname eth0 drop; }; }")
			c.pause(*chaosApart)
			c.nft("delete table inet chaos")
		}, true},
		{"link down", func() { c.link("down"); c.pause(*chaosApart); c.link("up") }, true},
		{hostDiskFull, func() { c.fill(c.disks[0]); c.pause(300 * ms); c.room(c.disks[0]) }, false},
		{"the server's disk full", func() { c.fill(c.disks[1]); c.pause(300 * ms); c.room(c.disks[1]) }, false},
		{"agent suspended", func() { c.suspend(c.agent.Process, *chaosApart) }, true},
		{"recorder suspended", func() {
			for _, p := range c.recorders() {
				c.suspend(p, *chaosApart)
			}
		}, true},
		{"server suspended", func() { c.suspend(c.server.Process, *chaosApart) }, true},
		{"broker suspended", func() { c.suspend(c.broker.Process, *chaosApart) }, true},
		{"program suspended", func() { c.suspend(c.number.Process, *chaosApart) }, true},
		{"server at a tenth of its speed", func() { c.slow(c.server.Process, 10) }, true},
		{"recorder at a tenth of its speed", func() {
			for _, p := range c.recorders() {
				c.slow(p, 10)
			}
		}, true},
		{"server short of memory", func() { c.starve(); c.reviveServer() }, false},
	}
}

func (c *chaos) nft(rules string) {
	cmd := c.lab.Command("web", "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("nft: %v: %s", err, out)
	}
}

func (c *chaos) link(state string) {
	if out, err := c.lab.Command("web", "ip", "link", "set", "eth0", state).CombinedOutput(); err != nil {
		c.t.Fatalf("ip: %v: %s", err, out)
	}
}

// suspend stops a process for a while.
func (c *chaos) suspend(p *os.Process, most time.Duration) {
	if p.Signal(syscall.SIGSTOP) != nil {
		return // it has ended
	}
	c.pause(most)
	_ = p.Signal(syscall.SIGCONT) // it may have been killed meanwhile
}

// slow lets a process run one part of so many of some time. A slow disk stops a process in the same way, in its writes and syncs; this kernel has none to offer.
func (c *chaos) slow(p *os.Process, part int) {
	const turn = 5 * time.Millisecond
	for range 1 + c.r.IntN(15) {
		if p.Signal(syscall.SIGSTOP) != nil {
			return
		}
		time.Sleep(turn * time.Duration(part-1))
		_ = p.Signal(syscall.SIGCONT)
		time.Sleep(turn)
	}
}

// starve gives the server a memory limit that is less than it may want: it goes on, or the kernel kills it.
func (c *chaos) starve() {
	group, limit := "/sys/fs/cgroup", "memory.max"
	if _, err := os.Stat("/sys/fs/cgroup/memory/memory.limit_in_bytes"); err == nil {
		group, limit = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	}
	own := filepath.Join(group, fmt.Sprint("meridian-chaos-", os.Getpid(), "-", rand.Uint32()))
	if err := os.Mkdir(own, 0o755); err != nil {
		testneed.Missing(c.t, "no control group with a limit of memory can be made (run as root): %v", err)
	}
	write := func(dir, name, text string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	pid := strconv.Itoa(c.server.Process.Pid)
	if err := errors.Join(write(own, limit, strconv.Itoa((4+c.r.IntN(28))<<20)), write(own, "cgroup.procs", pid)); err != nil {
		testneed.Missing(c.t, "a limit of memory cannot be set: %v", err)
	}
	c.pause(time.Second)
	_ = write(group, "cgroup.procs", pid)                   // it may be dead
	eventually(c.t, own+" cannot be removed", func() bool { // a process that was killed leaves it as it ends
		err := os.Remove(own)
		return err == nil || errors.Is(err, os.ErrNotExist)
	})
}

// reviveServer starts the server again if it is dead, as systemd does.
func (c *chaos) reviveServer() {
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(c.server.Process.Pid, &status, syscall.WNOHANG, nil); err == nil && pid == 0 {
		return
	}
	_ = c.server.Wait() // it was waited for
	c.startServer()
}
