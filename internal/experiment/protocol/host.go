package protocol

import "encoding/json"

// Version is that of the lines between controller and host. Both ends must have the same.
const Version = 2

// Order is what the controller says to a host. Exactly one field is set.
type Order struct {
	Setup  *Setup      `json:"setup,omitempty"`  // first
	File   *File       `json:"file,omitempty"`   // a file of the experiment, or its next part
	Daemon *Daemon     `json:"daemon,omitempty"` // start the process of a daemon, which then waits
	Start  []PhaseCall `json:"start,omitempty"`  // start phases, all at the one instant that they have
	Ask    int         `json:"ask,omitempty"`    // is anyone there, and what is the time? answered by Report.Alive
	Stop   *Stop       `json:"stop,omitempty"`   // end all daemons, then answer Stopped
	Gather *Gather     `json:"gather,omitempty"` // bring files, then answer Gathered
}

// Setup is what a host is in an experiment.
type Setup struct {
	Version   int               `json:"version"`
	Host      string            `json:"host"`
	Place     string            `json:"place"`
	Dir       string            `json:"dir"`               // work directory; "" for a temporary one, which the keeper removes
	Addresses map[string]string `json:"addresses"`         // of all hosts, by name
	Network   []string          `json:"network,omitempty"` // lines for "ip -batch"
	Traffic   []string          `json:"traffic,omitempty"` // lines for "tc -batch"
	Filter    string            `json:"filter,omitempty"`  // text for "nft -f"
	Forward   bool              `json:"forward,omitempty"` // packets for other hosts go on
	Switch    bool              `json:"switch,omitempty"`  // it is set up before the hosts at its interfaces
}

// File is a file, or a part of one, that goes to a host or comes from it.
type File struct {
	Path string `json:"path"` // relative, with slashes, without ".."
	Mode uint32 `json:"mode"` // permissions
	Data []byte `json:"data,omitempty"`
	Last bool   `json:"last,omitempty"` // the file ends with Data
}

// Daemon is a process to be started.
type Daemon struct {
	Name   string            `json:"name"`
	Args   []string          `json:"args"`             // the program and its arguments
	Self   bool              `json:"self,omitempty"`   // the program is this binary; Args are its arguments
	Speaks bool              `json:"speaks,omitempty"` // the protocol; otherwise a command of one phase
	Ready  string            `json:"ready,omitempty"`  // a command that has done its phase when a line of its output has this text
	Env    map[string]string `json:"env,omitempty"`
}

// PhaseCall starts a phase of a daemon of this host.
type PhaseCall struct {
	Daemon string `json:"daemon"`
	Block  int    `json:"block"` // in the schedule, from 1
	Command
}

// Stop ends the daemons of a host.
type Stop struct {
	GraceMs int `json:"grace_ms"` // between the polite and the hard end of daemons
}

// Gather says which files come back.
type Gather struct {
	Patterns map[string][]string `json:"patterns"` // by daemon, relative to its directory
	To       string              `json:"to"`       // a directory of this machine to move them to; "" to send them
}

// Report is what a host says to the controller. Exactly one field is set.
type Report struct {
	Hello    *Hello   `json:"hello,omitempty"`
	Waiting  *Waiting `json:"waiting,omitempty"`
	Began    []Began  `json:"began,omitempty"`
	Ended    *Ended   `json:"ended,omitempty"`
	Exited   *Exited  `json:"exited,omitempty"`
	Alive    *Alive   `json:"alive,omitempty"`
	Stopped  *Stopped `json:"stopped,omitempty"`
	File     *File    `json:"file,omitempty"`
	Gathered *Missing `json:"gathered,omitempty"`
	Failed   string   `json:"failed,omitempty"` // the host itself
	Warning  string   `json:"warning,omitempty"`
}

// Hello is the answer to Setup.
type Hello struct {
	Version  int    `json:"version"`
	Kernel   string `json:"kernel"`
	Meridian string `json:"meridian"`
	System   string `json:"system"` // GOOS/GOARCH
	CPUs     int    `json:"cpus"`
}

// Waiting says that a daemon waits.
type Waiting struct {
	Daemon string   `json:"daemon"`
	Phases []string `json:"phases,omitempty"` // nil of a command, which has any one
	Args   []string `json:"args,omitempty"`   // the program as it was found
}

// Alive is the answer to Ask.
type Alive struct {
	Ask  int   `json:"ask"`   // its number
	AtNs int64 `json:"at_ns"` // CLOCK_MONOTONIC of the host
}

// Began says when the host let a phase of a daemon begin.
type Began struct {
	Call int   `json:"call"`
	AtNs int64 `json:"at_ns"` // CLOCK_REALTIME of the host
}

// Ended is the end of a call.
type Ended struct {
	Call    int             `json:"call"`
	BeganNs int64           `json:"began_ns"` // CLOCK_REALTIME of the host, as AtNs
	AtNs    int64           `json:"at_ns"`
	Error   string          `json:"error,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Code    *int            `json:"code,omitempty"` // exit code of a command, with which its phase ended; -1 for a signal
	Tail    []string        `json:"tail,omitempty"` // last lines of its log, with Error
}

// Exited says that a process ended, unless it was told to.
type Exited struct {
	Daemon string   `json:"daemon"`
	Code   int      `json:"code"`             // of the process; -1 if a signal ended it
	Signal string   `json:"signal,omitempty"` // name of the signal
	Why    string   `json:"why,omitempty"`    // a broken rule of the protocol
	Tail   []string `json:"tail,omitempty"`   // last lines of its log
}

// Stopped is the answer to Stop.
type Stopped struct {
	Killed []string       `json:"killed,omitempty"` // daemons that did not end politely
	Codes  map[string]int `json:"codes,omitempty"`  // of daemons; -1 if a signal ended it
}

// Missing is the answer to Gather.
type Missing struct {
	Patterns []string `json:"patterns,omitempty"` // DAEMON:PATTERN that fit no file
	Error    string   `json:"error,omitempty"`
}
