package daemon

import (
	"encoding/json"
	"fmt"
	"os"
)

// Experiment is what a daemon knows of the experiment that it is part of.
type Experiment struct {
	Host      string            // on which it runs
	Daemon    string            // its name
	Place     string            // namespaces, processes, ssh or agents
	Addresses map[string]string // of all hosts, by name: IP addresses
	Rings     string            // directory of the rings of the host's programs with sensors
	Trace     string            // directory that the host's recorder writes
}

// Here returns the experiment of this process. It is an error if 'meridian run' did not start it.
func Here() (*Experiment, error) {
	e := &Experiment{
		Host: os.Getenv("MERIDIAN_RUN_HOST"), Daemon: os.Getenv("MERIDIAN_RUN_DAEMON"), Place: os.Getenv("MERIDIAN_RUN_PLACE"),
		Rings: os.Getenv("MERIDIAN"), Trace: os.Getenv("MERIDIAN_RUN_TRACE"),
	}
	if err := json.Unmarshal([]byte(os.Getenv("MERIDIAN_RUN_HOSTS")), &e.Addresses); err != nil {
		return nil, fmt.Errorf("MERIDIAN_RUN_HOSTS: %w; daemons are started by 'meridian run'", err)
	}
	return e, nil
}

// Address returns the address of a host.
func (e *Experiment) Address(host string) (string, error) {
	a, ok := e.Addresses[host]
	if !ok {
		return "", fmt.Errorf("unknown host %q", host)
	}
	return a, nil
}
