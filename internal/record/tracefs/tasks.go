package tracefs

// tasks is what is known of the threads at the stamp that the reader has reached: few events name the process of their
// thread, or its comm.
type tasks struct {
	byTID map[int32]task
	// look asks /proc for a thread that no event has described.
	look    func(tid int32) (task, bool)
	guessed int64 // threads that had ended by then
}

type task struct {
	process  int32
	followed bool
	running  bool // it may have been running when it was followed, and has not been switched to or from since
	comm     [16]byte
}

// cloneThread is CLONE_THREAD: the new thread is of its parent's process.
const cloneThread = 0x10000

func newTasks(look func(int32) (task, bool)) *tasks {
	return &tasks{byTID: map[int32]task{0: {}}, look: look}
}

// update learns from a record that makes no event.
func (t *tasks) update(r *rawRecord) {
	switch r.kind {
	case newTask:
		t.born(r.tid, r.pid(0), r.text(1), r.number(2))
	case rename:
		tid := r.tid
		if r.fields[1].size > 0 {
			tid = r.pid(1)
		}
		t.rename(tid, r.text(0))
	}
}

// get returns what is known of a thread. An unknown thread is assumed to be its process's main thread, as most are.
func (t *tasks) get(tid int32) task {
	if known, ok := t.byTID[tid]; ok {
		return known
	}
	found, ok := t.look(tid)
	if !ok {
		t.guessed++
		found = task{process: tid}
	}
	t.byTID[tid] = found
	return found
}

// born adds a thread that task_newtask reports.
func (t *tasks) born(parent, tid int32, comm []byte, flags uint64) {
	child := task{process: tid}
	if flags&cloneThread != 0 {
		child.process = t.get(parent).process
	}
	copy(child.comm[:15], comm)
	t.byTID[tid] = child
}

// forked returns a child that sched_process_fork reports, which task_newtask has reported before.
func (t *tasks) forked(tid int32, comm []byte) task {
	if known, ok := t.byTID[tid]; ok {
		return known
	}
	child, ok := t.look(tid)
	if !ok {
		t.guessed++
		child.process = tid
	}
	child.comm = [16]byte{}
	copy(child.comm[:15], comm)
	t.byTID[tid] = child
	return child
}

func (t *tasks) rename(tid int32, comm []byte) {
	known := t.get(tid)
	known.comm = [16]byte{}
	copy(known.comm[:15], comm)
	t.byTID[tid] = known
}

// follow marks a thread as followed. A thread that is being born does not run yet.
func (t *tasks) follow(tid int32, born bool) {
	known := t.get(tid)
	known.followed, known.running = true, !born
	t.byTID[tid] = known
}

// mayRun reports whether a followed thread may be running though no switch said so. That is possible once.
func (t *tasks) mayRun(tid int32) bool {
	known := t.byTID[tid]
	if known.running {
		known.running = false
		t.byTID[tid] = known
		return true
	}
	return false
}

func (t *tasks) isFollowed(tid int32) bool { return t.byTID[tid].followed }

func (t *tasks) forget(tid int32) {
	if tid != 0 {
		delete(t.byTID, tid)
	}
}
