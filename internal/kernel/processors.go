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

// processorTable has the processors, with what each of them runs.
type processorTable struct {
	threadTable
	processors map[int64]*processor
}

// maxProcessors bounds the processors: no host has more.
const maxProcessors = 1 << 12

// cpu returns the processor of src's event, nil if it is unknown.
func (ps *processorTable) cpu(m *meaning) *processor {
	id := int64(none)
	if m.cpu >= 0 {
		if n, ok := number(ps.fields(), m.cpu); ok {
			id = n
		}
	} else if all := ps.src.Streams(); ps.event.Stream >= 0 && ps.event.Stream < len(all) && all[ps.event.Stream].Kind == trace.CPU {
		id = all[ps.event.Stream].ID
	}
	if id < 0 {
		return nil
	}
	p, ok := ps.processors[id]
	if !ok {
		if len(ps.processors) == maxProcessors {
			return nil
		}
		name := "CPU " + strconv.FormatInt(id, 10)
		p = &processor{id: id, interrupts: none, row: ps.row(trace.Stream{Name: name, Kind: trace.CPU, ID: id, Parent: none})}
		ps.processors[id] = p
	}
	return p
}

// interruptRow returns the processor's row of interrupts.
func (ps *processorTable) interruptRow(p *processor) int {
	if p.interrupts < 0 {
		p.interrupts = ps.row(trace.Stream{Name: ps.streams[p.row].Name + " interrupts", Kind: trace.Interrupt, ID: p.id, Parent: p.row})
	}
	return p.interrupts
}

// runningThread returns the thread in which src's event happened: the one that its context names, or the one that the
// processor runs.
func (ps *processorTable) runningThread(m *meaning, p *processor) *thread {
	if m.hereTID >= 0 {
		values := ps.fields()
		tid, ok := number(values, m.hereTID)
		if !ok {
			return nil
		}
		if p != nil && !p.known && ps.scheduled { // without switches the end of its run would be unknown
			p.current, p.known = tid, true
		}
		t := ps.thread(tid, text(values, m.hereName))
		if pid, ok := number(values, m.herePID); ok && t != nil {
			ps.belongs(t, pid)
		}
		return t
	}
	if p == nil || !p.known {
		return nil
	}
	return ps.thread(p.current, nil)
}

// here returns the row on which src's event happened: an interrupt, the thread that runs, the processor, or src's own.
func (ps *processorTable) here(m *meaning, p *processor) int {
	if p != nil && p.interrupts >= 0 && len(ps.open[p.interrupts]) > 0 {
		return p.interrupts
	}
	if t := ps.runningThread(m, p); t != nil {
		return ps.threadRow(t)
	}
	if p != nil {
		return p.row
	}
	return ps.ownRow(ps.event.Stream)
}

// switchTo handles a sched_switch.
func (ps *processorTable) switchTo(m *meaning, p *processor) {
	if p.interrupts >= 0 { // none is left before its handler has returned
		for at := len(ps.open[p.interrupts]) - 1; at >= 0; at-- {
			ps.cut(p.interrupts, at)
		}
	}
	values := ps.fields()
	prev, _ := number(values, m.prevTID)
	next, _ := number(values, m.tid)
	if followed(values, m.prevFollowed) {
		ps.thread(prev, text(values, m.prevComm))
	}
	why := said
	switch t := p.running; {
	case !p.known || p.current == prev:
	case t != nil && (t.pid == prev || t.exited && ps.together(t, prev)): // one of them executes a program; the event for that comes when it is loaded
		why = implied
	default:
		why = missing
	}
	ps.stop(m, p, why)
	if p.known = followed(values, m.nextFollowed); !p.known {
		return // the threads that run next are not recorded
	}
	p.current = next
	if t := ps.thread(next, text(values, m.comm)); t != nil {
		ps.run(m, p, t)
	}
}

// together reports whether a thread is of the same process as the one of a number.
func (ps *processorTable) together(t *thread, tid int64) bool {
	o := ps.threads[tid]
	return o != nil && t.pid != 0 && o.pid == t.pid
}

// followed reports whether all switches of a thread are recorded, as they are if the field is missing.
func followed(values []trace.Value, at int) bool {
	yes, ok := number(values, at)
	return !ok || yes != 0
}

// run begins the slices of a thread that a processor switched to.
func (ps *processorTable) run(m *meaning, p *processor, t *thread) {
	switch {
	case t.on == nil:
	case t.exited: // what still runs there has exchanged its number with this one
		ps.stop(m, t.on, implied)
	default: // it runs elsewhere, where a switch was lost
		ps.stop(m, t.on, missing)
	}
	t.on, p.running = p, t
	ps.begin(ps.threadRow(t), ps.runs, ps.named(m, "running"), true)
	comm := t.comm
	if comm == "" {
		comm = "running"
	}
	ps.begin(p.row, ps.runs, ps.named(m, comm), true)
}

// becomes handles a thread that executed a program. From then on it has the number of its process's first thread, which has
// ended with all the others.
func (ps *processorTable) becomes(m *meaning, p *processor, old int64, t *thread) {
	was := ps.threads[old]
	if was == nil && p != nil && p.running != nil && p.running.tid == old {
		was = p.running
	}
	if was == nil {
		return
	}
	ps.leave(was)
	delete(ps.threads, old)
	if p != nil && p.known && p.current == old {
		p.current = t.tid
	}
	if on := was.on; on != nil {
		ps.stop(m, on, implied)
		ps.run(m, on, t)
	}
	t.exited = false
}

// ending says why a slice ends.
type ending uint8

const (
	said    ending = iota // src's event says so
	implied               // it follows from what the event says
	missing               // the event that says so is not there
)

// stop ends the slices of what a processor runs.
func (ps *processorTable) stop(m *meaning, p *processor, why ending) {
	t := p.running
	if t == nil {
		return
	}
	p.running, t.on = nil, nil
	for _, row := range []int{t.row, p.row} {
		at := ps.find(row, ps.runs)
		switch {
		case at < 0:
		case why == said:
			ps.end(row, m)
		case why == implied:
			ps.close(row, at)
		default:
			ps.cut(row, at)
		}
	}
}
