//go:build unix

package host

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"meridian/internal/experiment/keeper"
	"meridian/internal/experiment/protocol"
)

// stop ends all daemons: politely, and after the grace hard, with all that they left behind.
func (h *host) stop(grace time.Duration) *protocol.Stopped {
	h.mu.Lock()
	var all []*daemon
	for _, d := range h.daemons {
		all = append(all, d)
	}
	h.mu.Unlock()
	s := new(protocol.Stopped)
	for _, d := range all {
		d.politely()
	}
	deadline := time.After(grace)
	over := false
	for _, d := range all {
		p := d.current()
		if p == nil {
			continue
		}
		if !over {
			select {
			case <-p.exited:
				continue
			case <-deadline:
				over = true
			}
		}
		select {
		case <-p.exited:
		default:
			s.Killed = append(s.Killed, d.spec.Name)
			p.signal(syscall.SIGKILL)
			<-p.exited
		}
	}
	slices.Sort(s.Killed)
	keeper.KillDescendants()
	for _, d := range all {
		if err := d.log.close(); err != nil {
			_ = h.out.Write(protocol.Report{Warning: fmt.Sprintf("daemon %s: its log is not whole: %v", d.spec.Name, err)}) // a controller that has gone is seen by the reader
		}
		d.removePID()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Codes, h.ended = h.ended, make(map[string]int)
	clear(h.daemons)
	return s
}

func (d *daemon) current() *process {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.process
}

// politely asks the process of a daemon to end: one that speaks and one that waits by the end of their input, a command that runs
// by SIGTERM.
func (d *daemon) politely() {
	d.mu.Lock()
	d.stopping = true
	p := d.process
	d.mu.Unlock()
	if p == nil {
		return
	}
	if p.begun {
		p.signal(syscall.SIGTERM)
	}
	_ = p.stdin.Close()
}
