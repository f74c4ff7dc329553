package kernel

import (
	"strconv"

	"meridian/trace"
)

// threadTable has the threads and processes, and their rows.
type threadTable struct {
	timeline
	threads   map[int64]*thread
	processes map[int64]int // rows
	adopted   map[int]bool  // src's streams that are rows of processes
}

// thread is what is known of a thread. It gets a row when something happens on it.
type thread struct {
	tid, pid int64 // pid 0: not known
	row      int
	comm     string
	inKernel bool       // a thread of the kernel's, which is no process
	exited   bool       // it may run a little longer, under the number of a thread that executes a program
	on       *processor // where its running slice is open
}

// maxThreads bounds the threads: no host has more.
const maxThreads = 1 << 20

// thread returns a thread by number, nil for idle threads and beyond maxThreads. A new name renames it.
func (ts *threadTable) thread(tid int64, comm []byte) *thread {
	if tid <= 0 {
		return nil
	}
	t, ok := ts.threads[tid]
	if !ok {
		if len(ts.threads) == maxThreads {
			return nil
		}
		t = &thread{tid: tid, row: none}
		ts.threads[tid] = t
	}
	if len(comm) > 0 && t.comm != string(comm) {
		ts.rename(t, string(comm))
	}
	return t
}

// rename gives a thread another name, and its process if the thread is the first of it.
func (ts *threadTable) rename(t *thread, comm string) {
	t.comm = comm
	if t.row >= 0 {
		ts.streams[t.row].Name = t.title()
	}
	if row, ok := ts.processes[t.tid]; ok && t.pid == t.tid {
		ts.streams[row].Name = t.title()
	}
}

func (t *thread) title() string {
	if t.comm == "" {
		return "thread " + strconv.FormatInt(t.tid, 10)
	}
	return t.comm + " " + strconv.FormatInt(t.tid, 10)
}

// belongs notes a thread's process.
func (ts *threadTable) belongs(t *thread, pid int64) {
	if pid <= 0 || t.pid == pid {
		return
	}
	t.pid = pid
	if t.row >= 0 && !t.inKernel {
		ts.streams[t.row].Parent = ts.process(t)
	}
}

// process returns the row of a thread's process, or none.
func (ts *threadTable) process(t *thread) int {
	if t.inKernel || t.tid <= 0 {
		return none
	}
	if t.pid == 0 { // unknown yet: a process with a row of its own has its first thread's number
		row := ts.program(t.tid)
		if row != none {
			t.pid, ts.processes[t.tid] = t.tid, row
		}
		return row
	}
	if row, ok := ts.processes[t.pid]; ok {
		return row
	}
	row := ts.program(t.pid)
	if row == none {
		first := thread{tid: t.pid, comm: t.comm}
		if leader := ts.threads[t.pid]; leader != nil && leader.comm != "" {
			first.comm = leader.comm
		}
		row = ts.row(trace.Stream{Name: first.title(), Kind: trace.Process, ID: t.pid, Parent: none})
	}
	ts.processes[t.pid] = row
	return row
}

// program returns the row of the events that a process recorded itself, or none. If its number is used again, the next process
// takes the next such row.
func (ts *threadTable) program(pid int64) int {
	for i, s := range ts.src.Streams() {
		if s.Kind == trace.Process && s.ID == pid && !ts.adopted[i] {
			ts.adopted[i] = true
			return ts.ownRow(i)
		}
	}
	return none
}

// threadRow returns the row of a thread.
func (ts *threadTable) threadRow(t *thread) int {
	if t.row < 0 {
		parent := ts.process(t)
		t.row = ts.row(trace.Stream{Name: t.title(), Kind: trace.Thread, ID: t.tid, Parent: parent})
	}
	return t.row
}

// state notes a thread that was there when the trace began.
func (ts *threadTable) state(m *meaning, values []trace.Value) {
	tid, _ := number(values, m.tid)
	t := ts.thread(tid, text(values, m.comm))
	if t == nil {
		return
	}
	if kind, ok := number(values, m.kernelThread); ok && kind == 1 {
		t.inKernel = true
	}
	pid, _ := number(values, m.pid)
	ts.belongs(t, pid)
}

// leave ends the open slices of a thread that exits, since the system call exit does not return. The last switch ends its running.
func (ts *threadTable) leave(t *thread) {
	if t == nil || t.row < 0 {
		return
	}
	for i := len(ts.open[t.row]) - 1; i >= 0; i-- {
		if ts.open[t.row][i].kind != ts.runs {
			ts.close(t.row, i)
		}
	}
}

// forget removes a thread, since its number may be used again. If it seems to run, a switch was lost, or it has exchanged
// numbers with the first thread of its process by executing a program. The next switch shows which.
func (ts *threadTable) forget(tid int64) { delete(ts.threads, tid) }
