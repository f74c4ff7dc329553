package kernel

import (
	"bytes"

	"meridian/trace"
)

// handle puts src's event on its row, with its effects on other rows.
func (r *rows) handle() {
	e := &r.event
	if len(r.src.Classes()) > len(r.meanings) {
		r.learn()
	}
	if e.Class < 0 || e.Class >= len(r.meanings) {
		return // invalid: src has no such class
	}
	m := &r.meanings[e.Class]
	if e.Phase != trace.Instant || e.Slice != 0 || e.Flow != 0 {
		r.instant(r.ownRow(e.Stream), m) // has a phase already
		return
	}
	if m.effect >= userHappens {
		r.handleUser(m)
		return
	}
	p := r.cpu(m)
	if p == nil && m.hereTID < 0 {
		r.instant(r.ownRow(e.Stream), m)
		return
	}
	switch m.effect {
	case beginsSlice:
		r.begin(r.here(m, p), m.kind, r.named(m, r.title(m)), false)
	case endsSlice:
		if row := r.here(m, p); !r.end(row, m) {
			r.instant(row, m)
		}
	case entersCall, leavesCall:
		r.handleCall(m, p)
	case entersInterrupt, leavesInterrupt:
		r.handleInterrupt(m, p)
	case switches:
		if p == nil {
			r.instant(r.here(m, p), m)
			return
		}
		r.switchTo(m, p)
	case wakes, forks, execs, exits, frees, states, dumps:
		r.handleLife(m, p)
	case onDevice:
		r.instant(r.device(text(r.fields(), m.device)), m)
	default:
		r.instant(r.here(m, p), m)
	}
}

// handleUser puts a program's event on the row of its thread, or on src's own where the context does not name it.
func (r *rows) handleUser(m *meaning) {
	row := none
	if m.hereTID >= 0 {
		if t := r.runningThread(m, nil); t != nil {
			row = r.threadRow(t)
		}
	}
	if row < 0 {
		row = r.ownRow(r.event.Stream)
	}
	switch {
	case m.effect == userBegins:
		r.begin(row, m.kind, r.named(m, r.title(m)), false)
	case m.effect == userEnds && r.end(row, m):
	default:
		r.instant(row, m)
	}
}

// handleCall begins or ends a system call of the thread that runs. Where that is not known the events stay as they are.
func (r *rows) handleCall(m *meaning, p *processor) {
	t := r.runningThread(m, p)
	if t == nil {
		r.instant(r.here(m, p), m)
		return
	}
	row := r.threadRow(t)
	if m.effect == entersCall {
		r.begin(row, m.kind, r.named(m, m.name), true)
		return
	}
	r.end(row, m) // without a begin the call is from before the trace
}

// handleInterrupt begins or ends something on a processor's row of interrupts.
func (r *rows) handleInterrupt(m *meaning, p *processor) {
	switch {
	case p == nil:
		r.instant(r.here(m, p), m)
	case m.effect == entersInterrupt:
		r.begin(r.interruptRow(p), m.kind, r.named(m, r.title(m)), true)
	default:
		r.end(r.interruptRow(p), m)
	}
}

// kernelMother is the thread that starts all threads of a Linux kernel, kthreadd.
const kernelMother = 2

// handleLife handles the events of the life of threads.
func (r *rows) handleLife(m *meaning, p *processor) {
	values := r.fields()
	tid, _ := number(values, m.tid)
	switch m.effect {
	case wakes:
		if t := r.thread(tid, text(values, m.comm)); t != nil {
			r.instant(r.threadRow(t), m)
			return
		}
	case forks:
		if tid > 0 {
			r.forget(tid) // its number was another's
		}
		if t := r.thread(tid, text(values, m.comm)); t != nil {
			parent, _ := number(values, m.parentTID)
			t.inKernel = parent == kernelMother
			pid, _ := number(values, m.pid)
			if pid == tid {
				delete(r.processes, pid)
			}
			r.belongs(t, pid)
		}
	case execs:
		name := text(values, m.comm)
		name = name[bytes.LastIndexByte(name, '/')+1:]
		t := r.thread(tid, name[:min(len(name), 15)])
		if old, ok := number(values, m.oldTID); ok && old != tid && t != nil {
			r.becomes(m, p, old, t)
		}
	case exits, frees:
		row := r.here(m, p)
		if t := r.threads[tid]; t != nil {
			r.leave(t)
			t.exited = true
		}
		if m.effect == frees {
			r.forget(tid)
		}
		r.instant(row, m)
		return
	case states:
		r.state(m, values)
		fallthrough
	case dumps:
		if r.dump < 0 {
			r.dump = r.row(trace.Stream{Name: "state at the beginning", Parent: none})
		}
		r.instant(r.dump, m)
		return
	}
	r.instant(r.here(m, p), m)
}
