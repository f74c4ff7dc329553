package daemons

import (
	"encoding/json"
	"fmt"
	"os"
)

// environment is what a daemon knows of the experiment (internal/experiment/host).
type environment struct {
	host, place, trace, rings string
	addresses                 map[string]string
}

func readEnvironment() (*environment, error) {
	e := &environment{host: os.Getenv("MERIDIAN_RUN_HOST"), place: os.Getenv("MERIDIAN_RUN_PLACE"), trace: os.Getenv("MERIDIAN_RUN_TRACE"), rings: os.Getenv("MERIDIAN")}
	if err := json.Unmarshal([]byte(os.Getenv("MERIDIAN_RUN_HOSTS")), &e.addresses); err != nil {
		return nil, fmt.Errorf("MERIDIAN_RUN_HOSTS: %w; standard daemons are started by 'meridian run'", err)
	}
	return e, nil
}

// address returns the address of a host.
func (e *environment) address(host string) (string, error) {
	a, ok := e.addresses[host]
	if !ok {
		return "", fmt.Errorf("unknown host %q", host)
	}
	return a, nil
}
