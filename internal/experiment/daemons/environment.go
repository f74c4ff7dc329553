package daemons

import (
	"fmt"

	"meridian/sensor/daemon"
)

// environment is what a daemon knows of the experiment (internal/experiment/host).
type environment struct {
	host, place, trace, rings string
	addresses                 map[string]string
}

func readEnvironment() (*environment, error) {
	here, err := daemon.Here()
	if err != nil {
		return nil, err
	}
	return &environment{host: here.Host, place: here.Place, trace: here.Trace, rings: here.Rings, addresses: here.Addresses}, nil
}

// address returns the address of a host.
func (e *environment) address(host string) (string, error) {
	a, ok := e.addresses[host]
	if !ok {
		return "", fmt.Errorf("unknown host %q", host)
	}
	return a, nil
}
