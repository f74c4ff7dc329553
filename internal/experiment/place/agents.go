//go:build unix

package place

import (
	"context"
	"errors"
	"fmt"

	"meridian/internal/collect/tunnel"
	"meridian/internal/collect/wire"
	"meridian/internal/experiment/file"
)

// openAgents has hosts at the agents of a server. Each agent decides what runs there.
func openAgents(ctx context.Context, o Options) (*Place, error) {
	if o.Agents == nil {
		return nil, errors.New("agents: no connection to a server")
	}
	return openMachines("agents", o.Run, func(h *file.Host) (*Seat, error) { return startAgent(ctx, o, h) })
}

// startAgent has the agent of a host start its process.
func startAgent(ctx context.Context, o Options, h *file.Host) (*Seat, error) {
	name := h.Agent
	if name == "" {
		name = h.Name
	}
	if err := wire.CheckHost(name); err != nil {
		return nil, err
	}
	stream, welcome, err := tunnel.Open(ctx, o.Agents, wire.RunStreams, name)
	if err != nil {
		return nil, err
	}
	s := &Seat{Host: h.Name, In: streamEnd{stream}, Out: stream, Where: "agent " + name, exited: make(chan struct{})}
	s.terminate, s.kill, s.release, s.say = stream.Kill, stream.Close, stream.Close, stream.Reason
	go func() { // the stream ends at the latest by Close
		<-stream.Over()
		close(s.exited)
	}()
	if s.Address = h.Address; s.Address == "" {
		s.Address = welcome.Address
	}
	if s.Address == "" {
		stream.Close()
		return nil, fmt.Errorf("the agent of %q does not know its address: give the host an address: in the file", name)
	}
	return s, nil
}

// streamEnd is the direction of a stream to a host.
type streamEnd struct{ *tunnel.Stream }

// Close ends it.
func (s streamEnd) Close() error {
	s.End("")
	return nil
}
