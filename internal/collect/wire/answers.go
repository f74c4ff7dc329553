package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"unicode"
)

// Version of what agents and servers say. Either refuses another's.
const Version = 1

// Open is an agent's request to a server to store its host.
type Open struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	Trace   string `json:"trace"` // its UUID: another trace of the same host is another session
	// After asks for files behind this name alone: those before it have come with an earlier answer.
	After string `json:"after,omitempty"`
	Copy  *Copy  `json:"copy,omitempty"`
	// Look asks how much of each file the server has, on its disk or in its archive, and has nothing stored. The answer has no checksums.
	Look bool `json:"look,omitempty"`
}

// Copy has a server send a range of a file that it stores to another server, at its subject "fill": the agent has it no more. It is answered with how
// much was sent.
type Copy struct {
	To    string `json:"to"`
	File  string `json:"file"`
	From  int64  `json:"from"`
	Bytes int64  `json:"bytes"` // at most MaxCopy
}

// MaxCopy bounds what one request has a server send.
const MaxCopy = 8 << 20

// Check refuses what no agent asks for.
func (c *Copy) Check() error {
	if err := errors.Join(CheckHost(c.To), CheckFile(c.File)); err != nil {
		return err
	}
	if c.File == Metadata || c.From < 0 || c.Bytes <= 0 || c.Bytes > MaxCopy {
		return fmt.Errorf("a copy of %d bytes of %s from %d on, of which %d are permitted", c.Bytes, c.File, c.From, MaxCopy)
	}
	return nil
}

// Opened is the answer: what the server has of the host.
type Opened struct {
	Version int     `json:"version"`
	Files   []State `json:"files,omitempty"`  // in the order of their names
	More    bool    `json:"more,omitempty"`   // files behind the last of these
	Copied  int64   `json:"copied,omitempty"` // bytes that were sent to another server
	Error   string  `json:"error,omitempty"`  // why the host is not stored, or nothing was copied
}

// State is what a server has of a file, on its disk.
type State struct {
	Name string `json:"name"`
	Have int64  `json:"have"` // bytes from the beginning
	// Gap says that bytes further on have come, and those before them not.
	Gap bool `json:"gap,omitempty"`
	// Sum is the CRC-32C of all of a document.
	Sum uint32 `json:"sum,omitempty"`
	// Tail has the CRC-32C of each block of [BlockSize] from Checked on, the last one shorter. After a power cut the end of a file may
	// not be what was written, unless it was acknowledged.
	Checked int64    `json:"checked,omitempty"`
	Tail    []uint32 `json:"tail,omitempty"`
	// Doubt says that the server's host may have lost power since it wrote the file: of its bytes those are right that were acknowledged.
	Doubt bool `json:"doubt,omitempty"`
}

// The end of a file that an answer to [Open] has the checksums of.
const (
	BlockSize = 64 << 10
	TailSize  = 32 << 20
)

// Ack says how far files of a host are on a server's disk: all bytes before Have, however often they were sent.
type Ack struct {
	Server  string  `json:"server"`
	Session string  `json:"session"`
	Files   []State `json:"files,omitempty"`
	// Error says why the server does not go on, such as a full disk. The agent asks it again after a while.
	Error string `json:"error,omitempty"`
}

// ServerStatus is what a server says of itself twice a second.
type ServerStatus struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	Hosts   int    `json:"hosts"`          // that it stores
	Full    bool   `json:"full,omitempty"` // it takes no more hosts
	Plans   bool   `json:"plans"`          // it plans which hosts exchange clock probes
}

// AgentStatus is what an agent says of itself each second.
type AgentStatus struct {
	Version int      `json:"version"`
	Host    string   `json:"host"`
	Session string   `json:"session"`
	Servers []string `json:"servers"` // that store it
	// Bytes of the trace, of those that all wanted servers have on their disks, and of those that no server will get.
	Recorded     int64 `json:"recorded"`
	Acknowledged int64 `json:"acknowledged"`
	Lost         int64 `json:"lost,omitempty"`
	LostPackets  int64 `json:"lost_packets,omitempty"` // in these
	Ended        bool  `json:"ended,omitempty"`        // nothing is recorded any more
	// Of an agent that takes commands: State is what it does, "" of others. Session is "" while it waits.
	State StateName `json:"state,omitempty"`
	Error string    `json:"error,omitempty"` // why it failed, or why servers do not store it
	// OnDemand says that the agent sends what is asked for alone.
	OnDemand bool `json:"on_demand,omitempty"`
	// Probing is of the clock probes; nil: none are exchanged.
	Probing *Probing `json:"probing,omitempty"`
}

// maxStatus bounds what an agent says of itself, bytes.
const maxStatus = 32 << 10

// ReadAgentStatus reads what an agent says of itself. Host is what the subject says, as the broker has let the agent publish it. What is returned may be shown to
// people: its names are such.
func ReadAgentStatus(subject string, b []byte) (s AgentStatus, err error) {
	host, err := HostOf(subject)
	if err != nil {
		return s, err
	}
	if len(b) > maxStatus {
		return s, fmt.Errorf("host %s: a state of %d bytes, of which %d are permitted", host, len(b), maxStatus)
	}
	if s, err = Decode[AgentStatus](b); err != nil {
		return AgentStatus{}, fmt.Errorf("host %s: %w", host, err)
	}
	if s.Host = host; s.Version != Version {
		return AgentStatus{}, fmt.Errorf("host %s: version %d of the protocol, and this is %d: update the older one", host, s.Version, Version)
	}
	if s.Session != "" {
		err = CheckSession(s.Session)
	}
	for _, server := range s.Servers {
		err = errors.Join(err, CheckHost(server))
	}
	if min(s.Recorded, s.Acknowledged, s.Lost) < 0 {
		err = errors.Join(err, fmt.Errorf("%d, %d and %d bytes: none can be negative", s.Recorded, s.Acknowledged, s.Lost))
	}
	if s.Probing != nil {
		err = errors.Join(err, s.Probing.Check())
	}
	if err != nil {
		return AgentStatus{}, fmt.Errorf("host %s: %w", host, err)
	}
	s.Probing.print()
	s.Error, s.State = printable(s.Error), StateName(printable(string(s.State)))
	return s, nil
}

// printable returns a text of others without what a terminal would obey.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// Decode reads an answer.
func Decode[T any](b []byte) (v T, err error) {
	if err = json.Unmarshal(b, &v); err != nil {
		err = fmt.Errorf("an answer that is not understood: %w", err)
	}
	return v, err
}

// Encode writes an answer.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of the types above, none can fail
	}
	return b
}

// Sum is the checksum of the protocol: CRC-32C.
func Sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
