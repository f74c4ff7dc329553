package cause

// State is what a thread, a host or a message did during a piece of a path, where the kernel's events tell.
type State uint8

const (
	Unnamed State = iota // slices name it, or nothing does
	CPU
	RunQueue
	Lock
	Sleep
	Timer // of an event loop: any of its tasks may have set it
	Disk
	Uninterruptible // waiting in the kernel, and for no disk
	Device
	Stopped   // by a signal or a debugger
	Collector // of Go's garbage, for which a goroutine waited
	Poller    // of Go's network: from a packet's arrival until the goroutine was made ready
	SoftIRQ
	Held // a packet, by the socket of its sender
	Retransmission
	DelayedACK
	Acknowledgement
	AtHost         // of a host whose threads are not recorded
	Peer           // peer and network, of which nothing is recorded
	Unrecorded     // of a thread
	WakeUnknown    // it slept, and no wake-up is recorded
	WakerUnknown   // it is not recorded who woke it
	AskerUnknown   // somebody of its host asked for what it waited for
	RequestUnknown // of those that its thread served by turns
	ThreadUnknown  // of its program, whose threads take up each other's work
	Undecided      // which of several pieces it was depends on the clocks
)

var stateWords = [...]string{
	CPU: "CPU", RunQueue: "run queue", Lock: "lock", Sleep: "sleep", Timer: "timer of an event loop", Disk: "disk", Uninterruptible: "uninterruptible wait", Held: "held back by the sender's socket", Device: "timer or device", Stopped: "stopped", Collector: "garbage collector", Poller: "network poller", SoftIRQ: "softirq",
	Retransmission: "retransmission", DelayedACK: "delayed ACK", Acknowledgement: "acknowledgement", AtHost: "at the host",
	Peer: "peer and network (not recorded)", Unrecorded: "not recorded", WakeUnknown: "waiting (wake-up not recorded)",
	WakerUnknown: "waiting (who woke is not recorded)", AskerUnknown: "waiting (who asked is not recorded)",
	RequestUnknown: "waiting (for which of its thread's requests is not recorded)",
	ThreadUnknown:  "waiting (for which thread is not recorded)", Undecided: "undecided (asked before the wait began)",
}

// Wait says why somebody waited for the thread of a piece.
type Wait uint8

const (
	NoWait    Wait = iota
	ForLock        // for a word of memory for which several threads have waited
	ForThread      // for something else that the thread did
	ForTurn        // a request, which had come and was not read yet
)

// Words names a state for people, "" where slices do.
func (s State) Words(w Wait) string {
	if int(s) >= len(stateWords) || s == Unnamed {
		return ""
	}
	switch {
	case w == ForLock && s != Undecided:
		return stateWords[Lock]
	case w == ForThread && s <= Disk:
		return "another thread's " + stateWords[s]
	case w == ForTurn:
		return "queued behind " + stateWords[s]
	}
	return stateWords[s]
}

// Explained reports whether a state says what happened, not only that it is not known.
func (s State) Explained() bool { return s < Peer && s != Device && s != AtHost }

// unknown reports whether a thread did something of which the recording does not tell what.
func (s State) unknown() bool { return s >= Unrecorded && s <= ThreadUnknown }

// Shorter is a way that took longer than the estimate by as much as a piece is shorter.
type Shorter struct {
	From, To       int // rows
	Sent, Received int64
}
