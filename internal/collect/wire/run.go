package wire

import "fmt"

// Streams are what streams between an operator's process and an agent are for. Each publishes frames (package tunnel) of a stream RUN, which the
// operator names.
type Streams string

const (
	RunStreams     Streams = "run"      // of experiments
	CaptureStreams Streams = "captures" // of captures that stay at their agents
)

// Tokens behind that of the kind.
const (
	streamOpen = ".open"
	streamIn   = ".in."
	streamOut  = ".out."
)

// Open returns the subject by which an operator asks the agent of a host for a stream.
func (s Streams) Open(host string) string { return OfHost(host, string(s)+streamOpen) }

// ToHost returns the subject of what an operator says to an agent.
func (s Streams) ToHost(host, run string) string { return OfHost(host, string(s)+streamIn+run) }

// FromHost returns the subject of what an agent says to an operator.
func (s Streams) FromHost(host, run string) string { return OfHost(host, string(s)+streamOut+run) }

// runBytes is the length of the name of a stream.
const runBytes = 32

// CheckRun refuses what is no name of a stream: 32 hexadecimal digits in small letters. It becomes a token of a subject.
func CheckRun(run string) error {
	good := len(run) == runBytes
	for i := 0; good && i < len(run); i++ {
		good = '0' <= run[i] && run[i] <= '9' || 'a' <= run[i] && run[i] <= 'f'
	}
	if !good {
		return fmt.Errorf("%.40q is no name of a stream: want %d hexadecimal digits", run, runBytes)
	}
	return nil
}

// RunRequest asks an agent for a stream. The answer is a frame of the stream.
type RunRequest struct {
	Version int    `json:"version"`
	Run     string `json:"run"`
}

// RunWelcome is what an agent says of its host when it opens a stream.
type RunWelcome struct {
	Host    string `json:"host"`
	Address string `json:"address"` // from which it reaches the broker
}

// Check refuses what no operator sends.
func (r *RunRequest) Check() error {
	if r.Version != Version {
		return fmt.Errorf("the operator speaks version %d of the protocol, the agent %d: update the older one", r.Version, Version)
	}
	return CheckRun(r.Run)
}
