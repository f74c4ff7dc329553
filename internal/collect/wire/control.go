package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of a session that an operator starts.
const (
	maxArgs      = 256
	maxArgsBytes = 64 << 10
	maxHosts     = 1 << 14
)

// Session is what servers remember of a session that an operator started. It begins once and is stopped once: its name is not used again.
type Session struct {
	Version int       `json:"version"`
	Name    string    `json:"session"`
	Hosts   []string  `json:"hosts,omitempty"` // none: all that take commands
	Args    []string  `json:"args,omitempty"`  // of 'meridian record'
	Since   time.Time `json:"since"`
	Stopped time.Time `json:"stopped,omitzero"`
}

// Running reports whether hosts are to record the session.
func (s *Session) Running() bool { return s.Stopped.IsZero() }

// State returns whether it runs.
func (s *Session) State() SessionState {
	if s.Running() {
		return SessionRunning
	}
	return SessionStopped
}

// Wants reports whether a host is one of the session's.
func (s *Session) Wants(host string) bool {
	return len(s.Hosts) == 0 || slices.Contains(s.Hosts, host)
}

// Check refuses what no operator may ask for.
func (s *Session) Check() error {
	if err := CheckSession(s.Name); err != nil {
		return err
	}
	if len(s.Hosts) > maxHosts {
		return fmt.Errorf("session %s: %d hosts, of which %d are permitted", s.Name, len(s.Hosts), maxHosts)
	}
	for _, h := range s.Hosts {
		if err := CheckHost(h); err != nil {
			return err
		}
	}
	return checkArgs(s.Args)
}

func checkArgs(args []string) error {
	bytes := 0
	for _, a := range args {
		if bytes += len(a); strings.ContainsRune(a, 0) {
			return errors.New("an argument contains a zero byte")
		}
	}
	if len(args) > maxArgs || bytes > maxArgsBytes {
		return fmt.Errorf("%d arguments of %d bytes, of which %d of %d bytes are permitted", len(args), bytes, maxArgs, maxArgsBytes)
	}
	return nil
}

// Control is an operator's request to servers: to start or stop a session, or to have hosts send what they recorded in a span. The answer is an [Outcome].
type Control struct {
	Version int      `json:"version"`
	Session string   `json:"session"`
	Hosts   []string `json:"hosts,omitempty"`
	Args    []string `json:"args,omitempty"`
	FromNs  int64    `json:"from_ns,omitempty"` // of the span, as Command has it
	ToNs    int64    `json:"to_ns,omitempty"`
}

// Outcome says what became of a request.
type Outcome struct {
	Version int         `json:"version"`
	Server  string      `json:"server"`
	Hosts   []HostState `json:"hosts,omitempty"`
	Error   string      `json:"error,omitempty"` // nothing was done
}

// HostState is what a host does for a session.
type HostState struct {
	Host  string    `json:"host"`
	State StateName `json:"state"`
	Error string    `json:"error,omitempty"` // why it is not what was asked for
}

// StateName says what a host does for a session.
type StateName string

// States of a host that takes commands. The first five are what agents say.
const (
	StateWaiting   StateName = "waiting"   // it waits for commands
	StateRecording StateName = "recording" // the recorder runs
	StateSending   StateName = "sending"   // the recorder has ended, and servers lack something
	StateEnded     StateName = "ended"     // the recorder has ended, and servers have everything
	StateFailed    StateName = "failed"    // the recorder ended by a fault
	StateBusy      StateName = "busy"      // with another session
	StateRefused   StateName = "refused"   // the agent does not do what is asked
	StateAway      StateName = "away"      // no agent of this host is heard
	StateStored    StateName = "stored"    // a server has it, and no agent says anything of it
)

// Verb is what a command asks for.
type Verb string

// Verbs of commands.
const (
	Start Verb = "start"
	Stop  Verb = "stop"
	Send  Verb = "send" // what was recorded in a span
)

// Command is a server's request to an agent. The answer is a [HostState].
type Command struct {
	Version int      `json:"version"`
	Do      Verb     `json:"do"`
	Session string   `json:"session"`
	Args    []string `json:"args,omitempty"`
	// The span of Send, by the clock of the host's trace, ns since 1970.
	FromNs int64 `json:"from_ns,omitempty"`
	ToNs   int64 `json:"to_ns,omitempty"`
}

// MaxSpan bounds what one command has an agent send.
const MaxSpan = time.Hour

// CheckSpan refuses a span that no agent sends.
func CheckSpan(from, to int64) error {
	if from < 0 || to < from || to-from > int64(MaxSpan) {
		return fmt.Errorf("a span from %d to %d ns: want one of %v at most", from, to, MaxSpan)
	}
	return nil
}

// Check refuses what no server sends.
func (c *Command) Check() error {
	if c.Version != Version {
		return fmt.Errorf("the server speaks version %d of the protocol, the agent %d: update the older one", c.Version, Version)
	}
	if err := CheckSession(c.Session); err != nil {
		return err
	}
	switch c.Do {
	case Start, Stop:
	case Send:
		return CheckSpan(c.FromNs, c.ToNs)
	default:
		return fmt.Errorf("command %q is not known: the server is newer", c.Do)
	}
	return checkArgs(c.Args)
}

// SessionList is a server's answer to a request for the sessions that it knows or stores.
type SessionList struct {
	Version  int             `json:"version"`
	Server   string          `json:"server"`
	Sessions []SessionStatus `json:"sessions"`
	Error    string          `json:"error,omitempty"`
}

// From returns the server that answers.
func (l SessionList) From() string { return l.Server }

// SessionStatus is how a session stands.
type SessionStatus struct {
	Session
	State SessionState    `json:"state"`
	Stats []SessionOfHost `json:"stats"`
}

// SessionOfHost is how a session of a host stands.
type SessionOfHost struct {
	HostState
	Stored   int64 `json:"stored"`            // bytes on the server's disk
	Recorded int64 `json:"recorded"`          // by the agent, 0 where it says nothing
	Waiting  int64 `json:"waiting"`           // of these, not yet on the disks of as many servers as are wanted
	Lost     int64 `json:"lost,omitempty"`    // that no server will get
	Servers  int   `json:"servers,omitempty"` // that have something of it
}

// SessionState says whether a session is to be recorded.
type SessionState string

// States of a session.
const (
	SessionRunning SessionState = "running"
	SessionStopped SessionState = "stopped"
	SessionOther   SessionState = "other" // no operator started it: an agent did, by itself
)
