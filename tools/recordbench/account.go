//go:build linux

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"meridian/internal/netlab"
)

// account compares the events that a recorder wrote or reports lost with the number of times that the kernel ran its
// programs. The kernel runs them once for each event that they can see, and counts the runs. All packets of this machine
// are in both.
type account struct {
	runs    uint64 // of the recorder's programs
	counted tally
	seconds float64
}

// accounts has the kernel count, which costs some ns a run and is no part of what is measured elsewhere.
func (b *bench) accounts(l *netlab.Lab) error {
	progress("account")
	counting, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return fmt.Errorf("enabling BPF run statistics: %w", err)
	}
	defer counting.Close()
	before := map[ebpf.ProgramID]bool{}
	eachProgram(func(id ebpf.ProgramID) { before[id] = true })
	recorders, _ := b.recorders(l)
	var ours *recorder
	for _, r := range recorders {
		if r.name == allName {
			ours = r
		}
	}
	run, err := ours.start(filepath.Join(b.dir, "account"))
	if err != nil {
		return err
	}
	var programs []*ebpf.Program
	defer func() {
		for _, p := range programs {
			p.Close()
		}
	}()
	eachProgram(func(id ebpf.ProgramID) {
		if before[id] {
			return
		}
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			return // gone again, so it belonged to another program
		}
		// The kernel keeps 15 characters of a name.
		if info, err := p.Info(); err == nil && (strings.HasPrefix(info.Name, "net_dev_queue") || strings.HasPrefix(info.Name, "netif_receive_s")) {
			programs = append(programs, p) // whose counts outlast the recorder
		} else {
			p.Close()
		}
	})
	tcp := &load{}
	_, talking := talk(l, tcp, b.length)
	time.Sleep(settleTime)
	for _, err := range []error{run.stop(), talking} {
		if err != nil {
			return err
		}
	}
	a := &account{seconds: b.length.Seconds()}
	for _, p := range programs {
		stats, err := p.Stats()
		if err != nil {
			return err
		}
		a.runs += stats.RunCount
	}
	if a.counted, err = ours.result(run); err == nil {
		b.gap = a
	}
	return err
}

func eachProgram(do func(ebpf.ProgramID)) {
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			return // there are no more
		}
		do(next)
		id = next
	}
}

// gap returns how many events that a program ran for are neither recorded nor counted as lost.
func (a *account) gap() int64 {
	return int64(a.runs) - int64(a.counted.events) - int64(a.counted.lost-a.counted.missed)
}

func (a *account) print(w io.Writer) {
	fmt.Fprintf(w, "\naccount: the kernel ran the recorder's programs for %d packets in %.0f s: %d recorded, %d found no room, %d neither; %d more are counted as missed\n",
		a.runs, a.seconds, a.counted.events, a.counted.lost-a.counted.missed, a.gap(), a.counted.missed)
}
