package wire

import "fmt"

// Streams of experiments. An operator's process and an agent each publish frames (package tunnel) of a stream RUN, which the operator names.
const (
	runOpen = "run.open"
	runIn   = "run.in."
	runOut  = "run.out."
)

// RunOpen returns the subject by which an operator asks the agent of a host for a stream.
func RunOpen(host string) string { return OfHost(host, runOpen) }

// RunToHost returns the subject of what an operator says to an agent.
func RunToHost(host, run string) string { return OfHost(host, runIn+run) }

// RunFromHost returns the subject of what an agent says to an operator.
func RunFromHost(host, run string) string { return OfHost(host, runOut+run) }

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

// RunRequest asks an agent for a stream to a host process of an experiment. The answer is a frame of the stream.
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
