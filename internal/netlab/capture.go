//go:build unix

package netlab

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Capture is a tcpdump that runs on a host.
type Capture struct {
	File string // complete after Stop

	lab     *Lab
	host    string
	command *exec.Cmd
	lines   chan string // of its standard error; closed when it ended
	over    bool
}

// Capture starts tcpdump on a host, with more of its arguments if any are given (-i any, -s 96, a filter), and returns
// when it listens. Without -i it listens on eth0. The file is called HOST.pcap, and HOST-2.pcap for a second one.
func (l *Lab) Capture(host string, args ...string) *Capture {
	l.t.Helper()
	name, n := host+".pcap", 1
	for _, c := range l.captures {
		if c.host == host {
			n++
			name = fmt.Sprintf("%s-%d.pcap", host, n)
		}
	}
	c := &Capture{File: filepath.Join(l.dir, name), lab: l, host: host, lines: make(chan string, 64)}
	// -U writes every packet at once; -Z root keeps tcpdump from giving up the right to write the file. Immediate
	// mode is left out: it gives each packet a slot of the largest size, so that a burst overruns any buffer.
	all := []string{"-n", "-U", "-Z", "root", "-B", "65536", "-w", c.File}
	if !slices.Contains(args, "-i") {
		all = append(all, "-i", "eth0")
	}
	c.command = l.host(host).command(context.Background(), "tcpdump", append(all, args...)...)
	stderr, err := c.command.StderrPipe()
	if err != nil {
		l.t.Fatalf("netlab: %v", err)
	}
	if err := c.command.Start(); err != nil {
		l.t.Fatalf("netlab: tcpdump: %v", err)
	}
	// ip becomes the program it starts, so its process is tcpdump's.
	l.janitor.tell("+process", strconv.Itoa(c.command.Process.Pid))
	l.captures = append(l.captures, c)
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	if c.until(regexp.MustCompile(`listening on`), time.Minute) == nil {
		l.t.Fatal("netlab: tcpdump does not listen")
	}
	return c
}

var (
	statistics = regexp.MustCompile(`(\d+) packets? captured, (\d+) packets? received by filter`)
	dropped    = regexp.MustCompile(`(\d+) packets? dropped by kernel`)
)

// Stop ends the capture when every packet that the kernel has seen so far is in the file, which it returns. The test
// fails if the kernel dropped any.
func (c *Capture) Stop() string {
	c.lab.t.Helper()
	if err := c.stop(); err != nil {
		c.kill()
		c.lab.t.Fatalf("netlab: capture on %s: %v", c.host, err)
	}
	return c.File
}

// StopCaptures stops all captures at once, which takes no longer than to stop one.
func (l *Lab) StopCaptures() {
	l.t.Helper()
	failures := make([]error, len(l.captures))
	var all sync.WaitGroup
	for i, c := range l.captures {
		all.Go(func() { failures[i] = c.stop() })
	}
	all.Wait()
	for i, err := range failures {
		if err != nil {
			l.t.Fatalf("netlab: capture on %s: %v", l.captures[i].host, err)
		}
	}
}

func (c *Capture) stop() error {
	if c.over {
		return nil
	}
	// The kernel hands packets over in blocks, once a second if they do not fill. On SIGUSR1 tcpdump reports how many it
	// has written and how many the kernel has captured. It does not report when the two become equal, so it is asked
	// repeatedly. They never do if it listens to any interface and there was traffic on loopback, of which it leaves out
	// one direction. Then it is done when nothing has changed for longer than a block waits, and for some reports: after each it
	// reads on, however long the machine was busy with other things.
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	var before string
	var moved time.Time
	for alike := 0; ; alike++ {
		if err := c.command.Process.Signal(syscall.SIGUSR1); err != nil {
			return err
		}
		said := c.until(statistics, time.Minute)
		if said == nil {
			return fmt.Errorf("tcpdump reports no statistics")
		}
		if said[0] != before {
			before, moved, alike = said[0], time.Now(), 0
		}
		if said[1] == said[2] || time.Since(moved) > 3*time.Second && alike >= 10 {
			break
		}
		<-retry.C
	}
	if err := c.command.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	said := c.until(dropped, time.Minute)
	if said == nil {
		return fmt.Errorf("tcpdump does not say how many packets were dropped")
	}
	c.kill()
	if said[1] != "0" {
		return fmt.Errorf("%s packets dropped by the kernel", said[1])
	}
	return nil
}

// until reads tcpdump's lines until one that matches, and returns nil if it ends or is silent.
func (c *Capture) until(what *regexp.Regexp, patience time.Duration) []string {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	var others []string
	for {
		select {
		case line, more := <-c.lines:
			if found := what.FindStringSubmatch(line); found != nil {
				return found
			}
			if !more {
				c.lab.t.Logf("tcpdump on %s ended: %s", c.host, strings.Join(others, "; "))
				return nil
			}
			others = append(others, line)
		case <-limit.C:
			c.lab.t.Logf("tcpdump on %s said only: %s", c.host, strings.Join(others, "; "))
			return nil
		}
	}
}

// kill makes sure that tcpdump has ended; one that wrote its last statistics ends by itself and loses nothing.
func (c *Capture) kill() {
	if c.over {
		return
	}
	c.over = true
	killer := time.AfterFunc(time.Minute, func() { c.command.Process.Kill() })
	if c.command.Process.Signal(syscall.SIGTERM) != nil {
		c.command.Process.Kill()
	}
	for range c.lines { // until it closes its standard error
	}
	c.command.Wait()
	killer.Stop()
	c.lab.janitor.tell("-process", strconv.Itoa(c.command.Process.Pid))
}
