package record

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// hurry gives the goroutine a thread of its own that comes before others where the system lets it (root): rings are
// smallest where a machine is busiest, and who takes what is in them needs little time, but at once. What it returns
// gives the thread back.
func hurry() (done func()) {
	runtime.LockOSThread()
	const thread = 0 // who asks; on Linux each thread has a priority of its own, and only children that this one starts get it
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

// rest stops the thread for so long, or less. A timer of Go's would wake another thread, without this one's priority, to
// wake this one: that is good enough where nothing comes. A long system call is not: after 10 ms the runtime takes the thread's
// processor away, and looks some fifty times in short succession what else is so long.
func rest(d time.Duration) {
	if d > busyRest {
		time.Sleep(d)
		return
	}
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal that ends it early costs a pass over the rings
}
