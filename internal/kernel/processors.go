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
	if t.inKernel || t.tid <= 0 {
		return none
	}
	if t.pid == 0 { // nobody has said yet: a process that tells of itself has its first thread's number
		row := r.program(t.tid)
		if row != none {
			t.pid, r.processes[t.tid] = t.tid, row
		}
		return row
	}
	if row, ok := r.processes[t.pid]; ok {
		return row
	}
	row := r.program(t.pid)
	if row == none {
		first := thread{tid: t.pid, comm: t.comm}
		if leader := r.threads[t.pid]; leader != nil && leader.comm != "" {
			first.comm = leader.comm
		}
		row = r.row(trace.Stream{Name: first.title(), Kind: trace.Process, ID: t.pid, Parent: none})
	}
	r.processes[t.pid] = row
	return row
}

// program returns the row on which a process's own events are, where it has told of itself, or none. A number that is used again
// is that of another one.
func (r *rows) program(pid int64) int {
	for i, s := range r.src.Streams() {
		if s.Kind == trace.Process && s.ID == pid && !r.adopted[i] {
			r.adopted[i] = true
			return r.ownRow(i)
		}
	}
	return none
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
		if p != nil && !p.known && r.scheduled { // else nobody says when another one runs
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
	if followed(values, m.prevFollowed) {
		r.thread(prev, text(values, m.prevComm))
	}
	why := said
	switch t := p.running; {
	case !p.known || p.current == prev:
	case t != nil && t.pid == prev: // it executes a program, which is told only when that is loaded
		why = implied
	default:
		why = missing
	}
	r.stop(m, p, why)
	if p.known = followed(values, m.nextFollowed); !p.known {
		return // who comes after it is not recorded, nor is when
	}
	p.current = next
	if t := r.thread(next, text(values, m.comm)); t != nil {
		r.run(m, p, t)
	}
}

// followed says whether a thread is one of those whose every switch is recorded, as all are where nothing says so.
func followed(values []trace.Value, at int) bool {
	yes, ok := number(values, at)
	return !ok || yes != 0
}

// run begins the slices of a thread that a processor goes on with.
func (r *rows) run(m *meaning, p *processor, t *thread) {
	if t.on != nil { // it runs elsewhere, where a switch was lost
		r.stop(m, t.on, missing)
	}
	t.on, p.running = p, t
	r.begin(r.threadRow(t), r.runs, r.named(m, "running"), true)
	comm := t.comm
	if comm == "" {
		comm = "running"
	}
	r.begin(p.row, r.runs, r.named(m, comm), true)
}

// becomes takes a thread that executed a program: it has the number of its process's first one from then on, which has ended
// with all the others.
func (r *rows) becomes(m *meaning, p *processor, old int64, t *thread) {
	was := r.threads[old]
	if was == nil && p != nil && p.running != nil && p.running.tid == old {
		was = p.running
	}
	if was == nil {
		return
	}
	r.leave(was)
	delete(r.threads, old)
	if p != nil && p.known && p.current == old {
		p.current = t.tid
	}
	if on := was.on; on != nil {
		r.stop(m, on, implied)
		r.run(m, on, t)
	}
}

// ending says why a slice ends.
type ending uint8

const (
	said    ending = iota // src's event says so
	implied               // it follows from what the event says
	missing               // the event that says so is not there
)

// stop ends the slices of what a processor runs.
func (r *rows) stop(m *meaning, p *processor, why ending) {
	t := p.running
	if t == nil {
		return
	}
	p.running, t.on = nil, nil
	for _, row := range []int{t.row, p.row} {
		at := r.find(row, r.runs)
		switch {
		case at < 0:
		case why == said:
			r.end(row, m)
		case why == implied:
			r.close(row, at)
		default:
			r.cut(row, at)
		}
	}
}
