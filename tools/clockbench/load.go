//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"meridian/internal/netlab"
)

// The token bucket of the loads bursts and saturated: 200 Mbit/s, as a slow link behind a fast interface.
var bucket = []string{"qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", "200mbit", "burst", "64kb", "latency", "6ms"}

// spun gives the load of a busy processor something to do.
var spun atomic.Uint64

const (
	burstLength   = time.Second
	burstInterval = 1700 * time.Millisecond
	loadPort      = "5000"
)

// startLoad starts what a load does on the hosts of the lab. The function that it returns ends the load.
func startLoad(ctx context.Context, l *netlab.Lab, name string) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var running []*exec.Cmd
	end := func() {
		for _, c := range running {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		_ = l.Command("web", "tc", "qdisc", "del", "dev", "eth0", "root").Run()
	}
	start := func(host string, args ...string) error {
		c := l.Command(host, self, append([]string{"load"}, args...)...)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			end()
			return err
		}
		running = append(running, c)
		return nil
	}
	switch name {
	case "busy":
		err = start("web", "spin")
	case "bursts", "saturated":
		if out, err := l.Command("web", "tc", bucket...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("tc: %w: %s", err, out)
		}
		if err = start("db", "receive"); err == nil {
			err = start("web", "send", name, net.JoinHostPort(dbAddress, loadPort))
		}
	}
	return end, err
}

// runLoad is the process of a load, until it is killed.
func runLoad(args []string) error {
	switch args[0] {
	case "spin":
		for n := uint64(0); ; n++ {
			spun.Store(n)
		}
	case "receive":
		listener, err := net.Listen("tcp", ":"+loadPort)
		if err != nil {
			return err
		}
		for {
			c, err := listener.Accept()
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	case "send":
		return send(args[1] == "bursts", args[2])
	}
	return errors.New("unknown load " + args[0])
}

// send sends as much as TCP takes, for ever or in bursts.
func send(bursts bool, address string) error {
	var c net.Conn
	for tries := 0; c == nil; tries++ {
		var err error
		if c, err = net.Dial("tcp", address); err != nil {
			if tries == 100 {
				return err
			}
			time.Sleep(50 * time.Millisecond) // the receiver is another process, which begins to listen about now
		}
	}
	defer c.Close()
	block := make([]byte, 64<<10)
	for begin := time.Now(); ; {
		if _, err := c.Write(block); err != nil {
			return err
		}
		if bursts && time.Since(begin) >= burstLength {
			time.Sleep(time.Until(begin.Add(burstInterval)))
			begin = time.Now()
		}
	}
}
