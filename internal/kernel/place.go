package kernel

import (
	"bytes"
	"strconv"

	"meridian/trace"
)

// place finds the rows of src's event and puts it there.
func (r *rows) place() {
	e := &r.event
	if len(r.src.Classes()) > len(r.meanings) {
		r.learn()
	}
	if e.Class < 0 || e.Class >= len(r.meanings) {
		return // src breaks its promise; there is nothing to call the event
	}
	m := &r.meanings[e.Class]
	if e.Phase != trace.Instant || e.Slice != 0 || e.Flow != 0 {
		r.instant(r.ownRow(e.Stream), m) // its writer knew already
		return
	}
	if m.what >= userHappens {
		r.placeUser(m)
		return
	}
	p := r.cpu(m)
	if p == nil && m.hereTID < 0 {
		r.instant(r.ownRow(e.Stream), m)
		return
	}
	switch m.what {
	case begins:
		r.begin(r.here(m, p), m.kind, r.named(m, r.title(m)), false)
	case ends:
		if row := r.here(m, p); !r.end(row, m) {
			r.instant(row, m)
		}
	case calls, returns:
		r.placeCall(m, p)
	case interrupts, resumes:
		r.placeInterrupt(m, p)
	case switches:
		if p == nil {
			r.instant(r.here(m, p), m)
			return
		}
		r.switchTo(m, p)
	case wakes, forks, execs, exits, frees, states, dumps:
		r.placeLife(m, p)
	case onDevice:
		r.instant(r.device(text(r.fields(), m.device)), m)
	default:
		r.instant(r.here(m, p), m)
	}
}

// placeUser puts a program's event on the row of its thread, or on src's own where the context does not name it.
func (r *rows) placeUser(m *meaning) {
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
	case m.what == userBegins:
		r.begin(row, m.kind, r.named(m, r.title(m)), false)
	case m.what == userEnds && r.end(row, m):
	default:
		r.instant(row, m)
	}
}

// placeCall begins or ends a system call of the thread that runs. Where that is not known the events stay as they are.
func (r *rows) placeCall(m *meaning, p *processor) {
	t := r.runningThread(m, p)
	if t == nil {
		r.instant(r.here(m, p), m)
		return
	}
	row := r.threadRow(t)
	if m.what == calls {
		r.begin(row, m.kind, r.named(m, m.name), true)
		return
	}
	r.end(row, m) // without a beginning it is of a call from before the trace
}

// placeInterrupt begins or ends something on a processor's row of interrupts.
func (r *rows) placeInterrupt(m *meaning, p *processor) {
	switch {
	case p == nil:
		r.instant(r.here(m, p), m)
	case m.what == interrupts:
		r.begin(r.interruptRow(p), m.kind, r.named(m, r.title(m)), true)
	default:
		r.end(r.interruptRow(p), m)
	}
}

// kernelMother is the thread that starts all threads of a Linux kernel, kthreadd.
const kernelMother = 2

// placeLife takes what tells of the life of threads.
func (r *rows) placeLife(m *meaning, p *processor) {
	values := r.fields()
	tid, _ := number(values, m.tid)
	switch m.what {
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
		r.leave(r.threads[tid])
		if m.what == frees {
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

// state notes a thread that was there when the trace began.
func (r *rows) state(m *meaning, values []trace.Value) {
	tid, _ := number(values, m.tid)
	t := r.thread(tid, text(values, m.comm))
	if t == nil {
		return
	}
	if kind, ok := number(values, m.kernelThread); ok && kind == 1 {
		t.inKernel = true
	}
	pid, _ := number(values, m.pid)
	r.belongs(t, pid)
}

// leave ends what a thread had open that will not end any more: exit does not return. The last switch ends its running.
func (r *rows) leave(t *thread) {
	if t == nil || t.row < 0 {
		return
	}
	for i := len(r.open[t.row]) - 1; i >= 0; i-- {
		if r.open[t.row][i].kind != r.runs {
			r.close(t.row, i)
		}
	}
}

// forget takes a thread off the books, since its number may become another's. If it seems to run, a switch was lost, or it has
// just become the first one of its process, whose number it gave to that one to die with; the next switch tells.
func (r *rows) forget(tid int64) { delete(r.threads, tid) }

var noDevice = []byte("(no device)")

// device returns the row of a network interface.
func (r *rows) device(name []byte) int {
	if len(name) == 0 {
		name = noDevice // a processor's queue of packets is polled as one that has no device
	}
	row, ok := r.devices[string(name)]
	if !ok {
		if len(r.devices) == mostNames {
			return r.ownRow(r.event.Stream)
		}
		row = r.row(trace.Stream{Name: string(name), Kind: trace.Device, Parent: none})
		r.devices[string(name)] = row
	}
	return row
}

// softirqs are the names of Linux's softirqs by number.
var softirqs = [...]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// title returns the name of the slice that src's event begins. It lasts until the next.
func (r *rows) title(m *meaning) string {
	if m.label == fixed {
		return m.name
	}
	values := r.fields()
	n, ok := number(values, m.number)
	if !ok {
		return m.name
	}
	key := labelKey{m.raw, n}
	if name, ok := r.labels[key]; ok {
		return name
	}
	var name string
	switch m.label {
	case irqLabel:
		name = "irq " + strconv.FormatInt(n, 10)
		if of := text(values, m.device); len(of) > 0 {
			name += " " + string(of)
		}
	case softLabel:
		name = "softirq " + strconv.FormatInt(n, 10)
		if n >= 0 && n < int64(len(softirqs)) {
			name = "softirq " + softirqs[n]
		}
	case addressed:
		name = "0x" + strconv.FormatUint(uint64(n), 16)
	}
	if len(r.labels) < 16*mostNames {
		r.labels[key] = name
	}
	return name
}

// labelKey names a name that was made of a number.
type labelKey struct {
	raw    int
	number int64
}
