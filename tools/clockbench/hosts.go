//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"meridian/internal/netlab"
)

// runHosts has one host ask so many others for a time, with `meridian clock compare`, and prints its tables and what it took of a core.
func (b *bench) runHosts(ctx context.Context, hosts int, w io.Writer) (err error) {
	if hosts < 1 || hosts > 200 {
		return fmt.Errorf("-hosts %d is out of range: 1 to 200", hosts)
	}
	if b.dir, err = os.MkdirTemp("", "clockbench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	key := filepath.Join(b.dir, "key")
	if out, err := exec.Command(b.meridian, "clock", "key", "-o", key).CombinedOutput(); err != nil {
		return fmt.Errorf("meridian clock key: %w: %s", err, out)
	}
	return netlab.Outside(ctx, b.dir, switched(hosts+1), func(l *netlab.Lab) error {
		args := []string{"clock", "compare", "--key", key, "--same-clock", "--settle", b.settle.String(), "--for", (b.settle + b.length).String(), "--also", ""}
		var servers []*exec.Cmd
		defer func() {
			for _, s := range servers {
				_ = s.Process.Kill()
				_ = s.Wait()
			}
		}()
		for k := 1; k <= hosts; k++ {
			address := hostAddress(k) + ":" + strconv.Itoa(ownPort)
			s := l.Command(hostName(k), b.meridian, "clock", "serve", "--listen", address, "--key", key, "--quiet")
			s.Stderr = os.Stderr
			if err := s.Start(); err != nil {
				return err
			}
			servers = append(servers, s)
			args = append(args, hostName(k)+"="+address)
		}
		c := l.Command("web", b.meridian, args...)
		c.Stdout, c.Stderr = w, os.Stderr
		if err := c.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case err := <-ended:
			return errors.Join(errors.New("meridian clock compare ended early"), err)
		case <-time.After(b.settle):
		}
		used, err := processorTime(c.Process.Pid)
		begin := time.Now()
		time.Sleep(b.length / 2)
		now, err2 := processorTime(c.Process.Pid)
		took := time.Since(begin).Seconds()
		if err := errors.Join(err, err2, <-ended); err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "\n%d hosts: %.2f%% of a core\n", hosts, 100*(now-used)/took)
		return err
	})
}
