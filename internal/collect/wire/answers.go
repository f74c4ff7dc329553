package wire

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// Version of what agents and servers say. Either refuses another's.
const Version = 1

// Open is an agent's request to a server to store its host.
type Open struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	Trace   string `json:"trace"` // its UUID: another trace of the same host is another session
}

// Opened is the answer: what the server has of the host.
type Opened struct {
	Version int     `json:"version"`
	Files   []State `json:"files,omitempty"`
	Error   string  `json:"error,omitempty"` // why the host is not stored
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
	Ended        bool  `json:"ended,omitempty"` // nothing is recorded any more
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
