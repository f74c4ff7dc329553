package record

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// raisePriority locks the goroutine to a thread and raises the thread's priority where the system permits it (root). Rings fill
// fastest on a busy machine, and draining them takes little time but must not wait. Restore undoes both.
func raisePriority() (restore func()) {
	runtime.LockOSThread()
	const thread = 0 // the caller's: on Linux each thread has its own priority, inherited by the children that it starts
	before, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, thread, -20)
	}
	return func() {
		if err == nil {
			unix.Setpriority(unix.PRIO_PROCESS, thread, 20-before) // the kernel returns 20 less the nice value
		}
		runtime.UnlockOSThread()
	}
}

// pause stops the thread for d, at most pauses.busy, by a system call: a Go timer would wake it through another thread, which
// does not have its priority. A longer call costs more: after 10 ms the runtime retakes the thread's processor (sysmon), and then
// polls about fifty times at short intervals. So long pauses, while the rings are empty, are timers (Recorder.pause).
func pause(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal that ends it early costs a pass over the rings
}
