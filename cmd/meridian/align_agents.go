package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"meridian/format"
	"meridian/internal/collect/captures"
	"meridian/internal/collect/wire"
	"meridian/internal/pipeline/input"
	"meridian/trace"
)

// atAgents are the flags of a command that takes captures which stay at agents, and the agents that it has reached.
type atAgents struct {
	server, key string
	conn        *nats.Conn
	hosts       map[string]*captures.Host
}

func (f *atAgents) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server, "server", "", "`URL` of the broker at which agents are, for agent:HOST:/PATH (default: those of --key, else "+defaultBroker+")")
	cmd.Flags().StringVar(&f.key, "key", "", "`FILE` with the key of operators, for agent:HOST:/PATH where the broker asks for one")
}

// close lets the agents go.
func (f *atAgents) close() {
	for _, h := range f.hosts {
		h.Close()
	}
	if f.conn != nil {
		f.conn.Close()
	}
}

// agentPrefix begins the path of a capture at an agent.
const agentPrefix = "agent:"

// parseAtAgent parses [NAME=]agent:HOST:/PATH. ok is false for an argument of another form, and for a file that has such a name.
func parseAtAgent(arg string) (name, host, path string, ok bool, err error) {
	rest := arg
	if before, behind, named := strings.Cut(arg, "="); named && strings.HasPrefix(behind, agentPrefix) {
		name, rest = before, behind
	}
	rest, ok = strings.CutPrefix(rest, agentPrefix)
	if !ok {
		return "", "", "", false, nil
	}
	if _, err := format.Stat(arg); err == nil {
		return "", "", "", false, nil
	}
	host, path, found := strings.Cut(rest, ":")
	switch {
	case strings.HasPrefix(arg, "="):
		return "", "", "", true, wrong("%q: no host before the =", arg)
	case !found || !strings.HasPrefix(path, "/"):
		return "", "", "", true, wrong("%q: want agent:HOST:/PATH, the path of a capture at the agent of HOST", arg)
	}
	if err := wire.CheckHost(host); err != nil {
		return "", "", "", true, wrong("%q: %v", arg, err)
	}
	if name == "" {
		name = host
	}
	return name, host, path, true, nil
}

// traces returns the captures at an agent that an argument names; none for another argument. Where the agent cannot be reached it is one that cannot be had.
func (f *atAgents) traces(ctx context.Context, cmd *cobra.Command, arg string) ([]input.Trace, error) {
	name, host, path, ok, err := parseAtAgent(arg)
	if !ok || err != nil {
		return nil, err
	}
	if f.conn == nil {
		say := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), "meridian: "+format+"\n", args...) }
		if f.conn, err = connectAsOperator(f.server, f.key, say); err != nil {
			return nil, err
		}
		f.hosts = make(map[string]*captures.Host)
	}
	h := f.hosts[host]
	if h == nil {
		if h, err = captures.Open(ctx, f.conn, host); err != nil {
			return absentTrace(ctx, name, host, path, err)
		}
		f.hosts[host] = h
	}
	files, err := h.List(ctx, path)
	var refused *captures.RefusedError
	if errors.As(err, &refused) {
		return nil, refused
	}
	if err != nil {
		return absentTrace(ctx, name, host, path, err)
	}
	var traces []input.Trace
	for _, file := range files {
		label := agentPrefix + host + ":" + file.Path
		traces = append(traces, input.NewAway(name, label, input.Away{Size: file.Size, Fetch: func(ctx context.Context, as string, m trace.Memory, w *trace.Warnings) (*trace.Capture, error) {
			c, warnings, err := h.Read(ctx, file.Path, label, as, m)
			if err == nil {
				w.AddAll(warnings)
				return c, nil
			}
			var refused *captures.RefusedError
			if errors.As(err, &refused) || ctx.Err() != nil {
				return nil, err
			}
			return nil, &input.AbsentError{Err: err}
		}}))
	}
	return traces, nil
}

// absentTrace stands for captures whose agent cannot be reached.
func absentTrace(ctx context.Context, name, host, path string, err error) ([]input.Trace, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return []input.Trace{input.NewAway(name, agentPrefix+host+":"+path, input.Away{Fetch: func(context.Context, string, trace.Memory, *trace.Warnings) (*trace.Capture, error) {
		return nil, &input.AbsentError{Err: err}
	}})}, nil
}
