package kernel

import (
	"strconv"

	"meridian/trace"
)

// processor is what one CPU does.
type processor struct {
	id         int64
	row        int
	interrupts int // its row of interrupts, none before the first
	known      bool
	current    int64 // the thread that runs, if known; 0 is the idle one
	running    *thread
}

// thread is what is known of a thread. It gets a row when something happens on it.
type thread struct {
	tid, pid int64 // pid 0: not known
	row      int
	comm     string
	inKernel bool       // a thread of the kernel's, which is no process
	on       *processor // where its running slice is open
}

// Bounds against numbers that no host has.
const (
	mostProcessors = 1 << 12
	mostThreads    = 1 << 20
)

// cpu returns the processor of src's event, nil if nothing tells it.
func (r *rows) cpu(m *meaning) *processor {
	id := int64(none)
	if m.cpu >= 0 {
		if n, ok := number(r.fields(), m.cpu); ok {
			id = n
		}
	} else if all := r.src.Streams(); r.event.Stream >= 0 && r.event.Stream < len(all) && all[r.event.Stream].Kind == trace.CPU {
		id = all[r.event.Stream].ID
	}
	if id < 0 {
		return nil
	}
	p, ok := r.processors[id]
	if !ok {
		if len(r.processors) == mostProcessors {
			return nil
		}
		name := "CPU " + strconv.FormatInt(id, 10)
		p = &processor{id: id, interrupts: none, row: r.row(trace.Stream{Name: name, Kind: trace.CPU, ID: id, Parent: none})}
		r.processors[id] = p
	}
	return p
}

// interruptRow returns the processor's row of interrupts.
func (r *rows) interruptRow(p *processor) int {
	if p.interrupts < 0 {
		p.interrupts = r.row(trace.Stream{Name: r.streams[p.row].Name + " interrupts", Kind: trace.Interrupt, ID: p.id, Parent: p.row})
	}
	return p.interrupts
}

// thread returns a thread by number, nil for the idle ones and for more than any host has. A name that is new renames it.
func (r *rows) thread(tid int64, comm []byte) *thread {
	if tid <= 0 {
		return nil
	}
	t, ok := r.threads[tid]
	if !ok {
		if len(r.threads) == mostThreads {
			return nil
		}
		t = &thread{tid: tid, row: none}
		r.threads[tid] = t
	}
	if len(comm) > 0 && t.comm != string(comm) {
		r.rename(t, string(comm))
	}
	return t
}

// rename gives a thread another name, and its process if the thread is the first of it.
func (r *rows) rename(t *thread, comm string) {
	t.comm = comm
	if t.row >= 0 {
		r.streams[t.row].Name = t.title()
	}
	if row, ok := r.processes[t.tid]; ok && t.pid == t.tid {
		r.streams[row].Name = t.title()
	}
}

func (t *thread) title() string {
	if t.comm == "" {
		return "thread " + strconv.FormatInt(t.tid, 10)
	}
	return t.comm + " " + strconv.FormatInt(t.tid, 10)
}

// belongs notes a thread's process.
func (r *rows) belongs(t *thread, pid int64) {
	if pid <= 0 || t.pid == pid {
		return
	}
	t.pid = pid
	if t.row >= 0 && !t.inKernel {
		r.streams[t.row].Parent = r.process(t)
	}
}

// process returns the row of a thread's process, or none.
func (r *rows) process(t *thread) int {
	if t.pid == 0 || t.inKernel {
		return none
	}
	row, ok := r.processes[t.pid]
	if !ok {
		first := thread{tid: t.pid, comm: t.comm}
		if leader := r.threads[t.pid]; leader != nil && leader.comm != "" {
			first.comm = leader.comm
		}
		row = r.row(trace.Stream{Name: first.title(), Kind: trace.Process, ID: t.pid, Parent: none})
		r.processes[t.pid] = row
	}
	return row
}

// threadRow returns the row of a thread.
func (r *rows) threadRow(t *thread) int {
	if t.row < 0 {
		parent := r.process(t)
		t.row = r.row(trace.Stream{Name: t.title(), Kind: trace.Thread, ID: t.tid, Parent: parent})
	}
	return t.row
}

// runningThread returns the thread in which src's event happened: the one that its context names, or the one that the
// processor runs.
func (r *rows) runningThread(m *meaning, p *processor) *thread {
	if m.hereTID >= 0 {
		values := r.fields()
		tid, ok := number(values, m.hereTID)
		if !ok {
			return nil
		}
		if p != nil && !p.known {
			p.current, p.known = tid, true
		}
		t := r.thread(tid, text(values, m.hereName))
		if pid, ok := number(values, m.herePID); ok && t != nil {
			r.belongs(t, pid)
		}
		return t
	}
	if p == nil || !p.known {
		return nil
	}
	return r.thread(p.current, nil)
}

// here returns the row on which src's event happened: an interrupt, the thread that runs, the processor, or src's own.
func (r *rows) here(m *meaning, p *processor) int {
	if p != nil && p.interrupts >= 0 && len(r.open[p.interrupts]) > 0 {
		return p.interrupts
	}
	if t := r.runningThread(m, p); t != nil {
		return r.threadRow(t)
	}
	if p != nil {
		return p.row
	}
	return r.ownRow(r.event.Stream)
}

// switchTo takes a sched_switch.
func (r *rows) switchTo(m *meaning, p *processor) {
	if p.interrupts >= 0 { // none is left before its handler has returned
		for at := len(r.open[p.interrupts]) - 1; at >= 0; at-- {
			r.cut(p.interrupts, at)
		}
	}
	values := r.fields()
	prev, _ := number(values, m.prevTID)
	next, _ := number(values, m.tid)
	r.thread(prev, text(values, m.prevComm))
	r.stop(m, p, !p.known || p.current == prev)
	p.current, p.known = next, true
	t := r.thread(next, text(values, m.comm))
	if t == nil {
		return
	}
	if t.on != nil { // it runs elsewhere, where a switch was lost
		r.stop(m, t.on, false)
	}
	t.on, p.running = p, t
	r.begin(r.threadRow(t), m.kind, r.named(m, m.name), true)
	comm := t.comm
	if comm == "" {
		comm = m.name
	}
	r.begin(p.row, m.kind, r.named(m, comm), true)
}

// stop ends the slices of what a processor runs; expected says that the event tells of their end.
func (r *rows) stop(m *meaning, p *processor, expected bool) {
	t := p.running
	if t == nil {
		return
	}
	p.running, t.on = nil, nil
	for _, row := range []int{t.row, p.row} {
		at := r.find(row, m.kind)
		switch {
		case at < 0:
		case expected:
			r.end(row, m)
		default:
			r.cut(row, at)
		}
	}
}
