package tracefs

// tasks is what is known of threads at the time that the reader has reached: few events say of which process their thread
// is, and which name it has.
type tasks struct {
	byTID map[int32]task
	// look asks /proc of a thread that no event has told of.
	look    func(tid int32) (task, bool)
	guessed int64 // threads that were gone by then
}

type task struct {
	process  int32
	followed bool
	running  bool // it was followed while it may have been running, and was not switched to or from since
	comm     [16]byte
}

// cloneThread of clone's flags: the new thread is of its parent's process.
const cloneThread = 0x10000

func newTasks(look func(int32) (task, bool)) *tasks {
	return &tasks{byTID: map[int32]task{0: {}}, look: look}
}

// get returns what is known of a thread. One of which nothing can be known is taken for a process, as most are.
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

// born takes up a thread from task_newtask.
func (t *tasks) born(parent, tid int32, comm []byte, flags uint64) {
	child := task{process: tid}
	if flags&cloneThread != 0 {
		child.process = t.get(parent).process
	}
	copy(child.comm[:15], comm)
	t.byTID[tid] = child
}

// forked returns a child, which sched_process_fork tells of after task_newtask has.
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

// follow follows a thread. One that is being born does not run.
func (t *tasks) follow(tid int32, born bool) {
	known := t.get(tid)
	known.followed, known.running = true, !born
	t.byTID[tid] = known
}

// mayRun says whether a thread that is followed may be running though no switch told so, which is so only once.
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
