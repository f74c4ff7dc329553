package daemons

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"meridian/internal/experiment/protocol"
	"meridian/internal/probe/planned"
)

// probe has the recorders of hosts exchange clock probes, by which the clocks of hosts without other traffic are bounded. Each host asks
// those whose names follow its own, so that each pair of hosts has one exchange.
var probe = &standard{
	spec: protocol.Spec{Name: "probe", Doc: "clock probes between the hosts, which the recorders exchange", Phases: []protocol.PhaseSpec{
		{Name: "start", Doc: "begins; ends when all hosts that this one asks have answered, and their clocks are bounded", With: []protocol.Param{
			{Name: "rate", Doc: "most exchanges per second with each host (default 32)"},
			{Name: "port", Doc: "of UDP (default 4123)"},
			{Name: "key", Doc: "of all hosts: 64 hexadecimal digits (default: one of the hosts' addresses, which is no secret)"},
		}},
		{Name: "stop", Doc: "ends; its result has hosts, those asked, exchanges, and bound_ns, half the widest bound of their offsets"},
	}},
	make: func(context.Context) (map[string]protocol.Phase, func(), error) {
		e, err := readEnvironment()
		p := &prober{environment: e}
		return map[string]protocol.Phase{"start": p.start, "stop": p.stop}, nil, err
	},
}

const (
	probePort     = 4123
	probeRate     = 32
	probedWithin  = 60 * time.Second      // of the start or the end: until the recorder's state says so
	probeInterval = 50 * time.Millisecond // of looks at the state
)

// prober plans the probes of a host.
type prober struct {
	*environment
	plan *planned.Plan // nil: none
}

// planFile is the plan that the recorder of the host follows.
func (e *environment) planFile() string { return filepath.Join(filepath.Dir(e.trace), "probes.plan") }

func (p *prober) start(ctx context.Context, c *protocol.Call) (any, error) {
	with := struct {
		Rate float64 `json:"rate"`
		Port int     `json:"port"`
		Key  string  `json:"key"`
	}{Rate: probeRate, Port: probePort}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	if p.plan != nil {
		return nil, errors.New("it probes already")
	}
	own, err := p.address(p.host)
	if err != nil {
		return nil, err
	}
	if with.Key == "" {
		with.Key = p.commonKey()
	}
	port := strconv.Itoa(with.Port)
	plan := &planned.Plan{Listen: net.JoinHostPort(own, port), Key: with.Key}
	for _, host := range slices.Sorted(maps.Keys(p.addresses)) {
		if host > p.host {
			plan.Ask = append(plan.Ask, planned.Peer{Name: host, Address: net.JoinHostPort(p.addresses[host], port), Rate: with.Rate})
		}
	}
	if err := plan.Write(p.planFile()); err != nil {
		return nil, err
	}
	p.plan = plan
	_, err = p.state(ctx, func(s planned.State) (missing string) {
		if s.Listening == "" {
			return "it does not listen at " + plan.Listen
		}
		if len(s.Pairs) < len(plan.Ask) {
			return "it does not ask yet"
		}
		for _, pair := range s.Pairs {
			if pair.Exchanges == 0 || pair.Width == 0 {
				return "no answer of " + pair.Name + " at " + pair.Address + " " + pair.Error
			}
		}
		return ""
	})
	return nil, err
}

// commonKey is the same on all hosts. It keeps experiments apart, not strangers out.
func (e *environment) commonKey() string {
	text := ""
	for _, host := range slices.Sorted(maps.Keys(e.addresses)) {
		text += host + "=" + e.addresses[host] + "\n"
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// probed is the result of stop.
type probed struct {
	Hosts     int    `json:"hosts"`
	Exchanges uint64 `json:"exchanges"` // as the recorder said last, at most a second ago
	BoundNs   int64  `json:"bound_ns"`
}

func (p *prober) stop(ctx context.Context, _ *protocol.Call) (any, error) {
	if p.plan == nil {
		return nil, errors.New("it does not probe: phase start comes first")
	}
	s, err := planned.ReadState(p.planFile())
	if err != nil {
		return nil, err
	}
	out := &probed{Hosts: len(s.Pairs)}
	for _, pair := range s.Pairs {
		out.Exchanges += pair.Exchanges
		out.BoundNs = max(out.BoundNs, (pair.Width+1)/2)
	}
	if err := new(planned.Plan).Write(p.planFile()); err != nil {
		return nil, err
	}
	p.plan = nil
	_, err = p.state(ctx, func(s planned.State) string {
		if s.Listening != "" || len(s.Pairs) > 0 {
			return "it goes on"
		}
		return ""
	})
	return out, err
}

// state waits until nothing is missing in the recorder's state.
func (p *prober) state(ctx context.Context, missing func(planned.State) string) (planned.State, error) {
	for end := time.Now().Add(probedWithin); ; {
		s, err := planned.ReadState(p.planFile())
		lacks := "no recorder follows the plan: the phase start of record needs with: {probes: true}"
		if err == nil {
			lacks = s.Error
		}
		if err == nil && lacks == "" {
			lacks = missing(s)
		}
		if lacks == "" {
			return s, nil
		}
		if time.Now().After(end) {
			return s, fmt.Errorf("probes: after %v: %s", probedWithin, lacks)
		}
		if err := wait(ctx, probeInterval); err != nil {
			return s, fmt.Errorf("probes: %s: %w", lacks, err)
		}
	}
}
