//go:build linux

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// programs measures what the kernel spends on each of the recorder's programs, by its own statistics (kernel.bpf_stats_enabled). The recorded
// command talks over TCP, writes to a disk, and has more threads that compute than the machine has processors. Each program is counted from
// the second of the command's start on.
func (b *bench) programs() error {
	if b.only != programsName {
		return nil
	}
	counting, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return fmt.Errorf("enabling BPF run statistics: %w", err)
	}
	defer counting.Close()
	own, err := os.Executable()
	if err != nil {
		return err
	}
	b.runTimes = make(map[string][]runTime)
	for round := range b.rounds {
		progress("programs, round %d", round+1)
		before := map[ebpf.ProgramID]bool{}
		eachProgram(func(id ebpf.ProgramID) { before[id] = true })
		c := exec.Command(b.meridian, "record", "--quiet", "--rings", b.dir, "--output", filepath.Join(b.dir, fmt.Sprint("programs-", round)),
			"--kernel", b.groups, "--", own, "work", b.length.String(), b.dir)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			return err
		}
		time.Sleep(b.length / 2) // all programs are attached, and run
		held := map[string]*ebpf.Program{}
		eachProgram(func(id ebpf.ProgramID) {
			if before[id] {
				return
			}
			if p, err := ebpf.NewProgramFromID(id); err == nil { // else it is gone again
				if info, err := p.Info(); err == nil {
					held[info.Name] = p
				} else {
					p.Close()
				}
			}
		})
		var exit *exec.ExitError
		if err := c.Wait(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 3) { // events were lost, which costs as much
			return err
		}
		for name, p := range held {
			stats, err := p.Stats()
			p.Close()
			if err != nil {
				return err
			}
			b.runTimes[name] = append(b.runTimes[name], runTime{stats.RunCount, stats.Runtime})
		}
	}
	return nil
}

const programsName = "programs"

// runTime is how often a program ran in a round, and for how long in all.
type runTime struct {
	runs uint64
	time time.Duration
}

func (r runTime) each() float64 { return float64(r.time.Nanoseconds()) / float64(max(1, r.runs)) }

func printPrograms(w io.Writer, all map[string][]runTime) {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list := all[name]
		slices.SortFunc(list, func(a, b runTime) int { return cmp.Compare(a.each(), b.each()) })
		fmt.Fprintf(w, "%-20s %9d runs a round, %5.0f to %5.0f ns each, median %5.0f\n", name, list[len(list)/2].runs, list[0].each(), list[len(list)-1].each(), list[len(list)/2].each())
	}
}

// work is the recorded command: for so long it sends lines back and forth, writes files in a directory, and computes.
func work(args []string) error {
	if len(args) != 2 {
		return errors.New("work DURATION DIR")
	}
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	until := time.Now().Add(d)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var failed [2]error
	all.Go(func() { failed[0] = errors.Join(echo(listener)) })
	all.Go(func() { failed[1] = errors.Join(ask(listener.Addr().String(), until), write(args[1], until)) })
	for range 6 {
		all.Go(func() {
			for time.Now().Before(until) {
			}
		})
	}
	all.Wait()
	return errors.Join(failed[:]...)
}

func echo(listener net.Listener) error {
	c, err := listener.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) // by read and write, not by splice
	return err
}

func ask(address string, until time.Time) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	b := []byte(strings.Repeat("x", 100))
	for time.Until(until) > 200*time.Millisecond {
		if _, err := c.Write(b); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, b); err != nil {
			return err
		}
	}
	return nil
}

func write(dir string, until time.Time) error {
	f, err := os.CreateTemp(dir, "work")
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, 64<<10)
	for time.Now().Before(until) {
		_, err := f.WriteAt(b, 0)
		if err = errors.Join(err, f.Sync()); err != nil {
			return err
		}
	}
	return nil
}
