package daemons

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"meridian/internal/experiment/protocol"
)

// quiet keeps a host that is a namespace from sending anything but clock probes for a time. What programs send meanwhile is dropped and
// counted; ARP passes, which the probes need.
var quiet = &standard{
	spec: protocol.Spec{Name: "quiet", Doc: "a window in which the host sends nothing but clock probes", Phases: []protocol.PhaseSpec{{
		Name: "hold", Doc: "the window; its result has dropped, the packets that were kept back, and probes, those that passed",
		With: []protocol.Param{
			{Name: "for", Doc: "how long, such as 500ms", Required: true},
			{Name: "port", Doc: "of the clock probes, UDP (default 4123)"},
		},
	}}},
	make: func(context.Context) (map[string]protocol.Phase, func(), error) {
		e, err := readEnvironment()
		return map[string]protocol.Phase{"hold": e.quietHold}, nil, err
	},
}

// held is the result of a window. Without Dropped nothing was kept back.
type held struct {
	Dropped *uint64 `json:"dropped,omitempty"` // packets
	Probes  *uint64 `json:"probes,omitempty"`  // packets
	LeftOut string  `json:"left_out,omitempty"`
}

func (e *environment) quietHold(ctx context.Context, c *protocol.Call) (_ any, err error) {
	with := struct {
		For  string `json:"for"`
		Port uint16 `json:"port"`
	}{Port: probePort}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(with.For)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("for: %q: want a time such as 500ms", with.For)
	}
	if e.place != "namespaces" {
		out := &held{LeftOut: "the hosts are " + e.place + ", whose network is not the experiment's alone: nothing is kept back"}
		c.Logf("left out: %s", out.LeftOut)
		return out, wait(ctx, d)
	}
	rules, err := quietRules(with.Port)
	if err != nil {
		return nil, err
	}
	if _, err := command(ctx, rules, "nft", "-f", "-"); err != nil {
		return nil, err
	}
	defer func() { // also when the experiment is to end
		_, gone := command(context.WithoutCancel(ctx), "", "nft", "delete", "table", "netdev", "quiet")
		err = errors.Join(err, gone)
	}()
	if err := wait(ctx, d); err != nil {
		return nil, err
	}
	listed, err := command(ctx, "", "nft", "-j", "list", "counters", "table", "netdev", "quiet")
	if err != nil {
		return nil, err
	}
	return readCounters([]byte(listed))
}

// quietRules drop what leaves by any interface but the loopback, and count it. A table that is there is of a window that was not ended.
func quietRules(port uint16) (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	var chains strings.Builder
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			fmt.Fprintf(&chains, "chain %s {\ntype filter hook egress device \"%s\" priority -1;\nudp dport %d counter name probes accept\nudp sport %d counter name probes accept\nmeta protocol { ip, ip6 } counter name dropped drop\n}\n", i.Name, i.Name, port, port)
		}
	}
	return "table netdev quiet {\ncounter probes { }\ncounter dropped { }\n" + chains.String() + "}\n", nil
}

// readCounters reads what 'nft -j list counters' wrote (libnftables-json(5)).
func readCounters(text []byte) (*held, error) {
	var list struct {
		Nftables []struct {
			Counter *struct {
				Name    string `json:"name"`
				Packets uint64 `json:"packets"`
			} `json:"counter"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("nft -j list counters: %w", err)
	}
	out := new(held)
	for _, x := range list.Nftables {
		switch {
		case x.Counter == nil:
		case x.Counter.Name == "dropped":
			out.Dropped = &x.Counter.Packets
		case x.Counter.Name == "probes":
			out.Probes = &x.Counter.Packets
		}
	}
	if out.Dropped == nil || out.Probes == nil {
		return nil, fmt.Errorf("nft -j list counters: no counters in %.200q", text)
	}
	return out, nil
}
