//go:build unix

package host

import (
	"fmt"
	"os"

	"meridian/internal/experiment/allow"
	"meridian/internal/experiment/protocol"
)

// agents is the place of hosts behind an agent.
const agents = "agents"

// permits refuses what the owner of the host does not permit. A host without a list is the controller's own: it permits everything.
func (h *host) permits(o *protocol.Order) error {
	if h.o.Allow == nil {
		return nil
	}
	switch {
	case o.Setup != nil:
		s := o.Setup
		switch {
		case s.Place != agents:
			return refused("the place %q: this host is behind an agent", s.Place)
		case s.Dir != "":
			return refused("the directory %q: the agent chooses it", s.Dir)
		case len(s.Network) > 0 || len(s.Traffic) > 0 || s.Filter != "" || s.Forward:
			return refused("changes of the network: it is not the experiment's")
		}
	case o.Gather != nil && o.Gather.To != "":
		return refused("the directory %q for gathered files: they are sent", o.Gather.To)
	}
	return nil
}

// permitsDaemon refuses a program that the list does not name. path is the program as it was found.
func (h *host) permitsDaemon(d *protocol.Daemon, path string) error {
	if h.o.Allow == nil {
		return nil
	}
	p := allow.Program{Path: path, Args: d.Args, Env: d.Env}
	if d.Self {
		if len(d.Args) != 2 || d.Args[0] != h.o.Standard {
			return refused("%q of this program: it is no standard daemon", d.Args)
		}
		p.Standard = d.Args[1]
	}
	if err := h.o.Allow.Check(&p); err != nil {
		return refused("daemon %s: %w", d.Name, err)
	}
	return nil
}

// refused is an error that the agent's log has too.
func refused(format string, args ...any) error {
	err := fmt.Errorf("refused: "+format, args...)
	fmt.Fprintln(os.Stderr, err)
	return err
}
