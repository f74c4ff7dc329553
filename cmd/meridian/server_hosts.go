package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"meridian/internal/collect/publish"
	"meridian/internal/collect/wire"
)

// listenFor is how long agents are listened to, each of which says how it stands once a second.
const listenFor = 1500 * time.Millisecond

func newServerHosts() *cobra.Command {
	var server, file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "hosts [--server URL]",
		Short: "List the hosts that are recorded now, and how far their traces have come",
		Long: `List the hosts whose agents are there, also those that wait for commands: which servers store each, how many bytes it has recorded, how many of these are not yet on the
disks of as many servers as are wanted, and how many no server will get. CLOCK is half the width of the narrowest bound that clock probes give between the
host and another, and how many pairs of hosts have one; --json has each pair. Where a server has the timeline ('meridian server --timeline on'): how old
the latest event is by the timeline's present, by how much its time may be wrong, and how many events the trace lacks.`,
		Example: `  meridian server hosts
  meridian server hosts --server nats://broker:4222 --json
  meridian server hosts --key meridian-traces/.trust/operator.key`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listHosts(cmd, server, file, asJSON) },
	}
	flags := cmd.Flags()
	flags.StringVar(&server, "server", "", "`URL` of the broker (default: that of --key, else "+defaultBroker+")")
	flags.StringVar(&file, "key", "", "`FILE` with the key of operators, where 'meridian server init' has made one")
	flags.BoolVar(&asJSON, "json", false, "a JSON object a line")
	return cmd
}

// liveKey is a host in a session.
type liveKey struct{ session, host string }

func listHosts(cmd *cobra.Command, server, file string, asJSON bool) error {
	c, err := connectAsOperator(server, file, (&quietFlag{}).log(cmd))
	if err != nil {
		return err
	}
	defer c.Close()
	messages := make(chan *nats.Msg, 1024)
	if _, err := c.ChanSubscribe(wire.AllAgentsAlive, messages); err != nil {
		return err
	}
	states := make(chan *nats.Msg, 1024)
	if _, err := c.ChanSubscribe(wire.AllSessionHosts, states); err != nil {
		return err
	}
	hosts := map[string]wire.AgentStatus{}
	live := map[liveKey]publish.HostState{}
	until := time.After(listenFor)
	for listening := true; listening; {
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-until:
			listening = false
		case m := <-states:
			if state, err := wire.Decode[publish.State](m.Data); err == nil {
				for _, h := range state.Hosts {
					live[liveKey{state.Session, h.Host}] = h
				}
			}
		case m := <-messages:
			if status, err := wire.ReadAgentStatus(m.Subject, m.Data); err == nil {
				hosts[status.Host] = status
			}
		}
	}
	sorted := make([]wire.AgentStatus, 0, len(hosts))
	for _, h := range hosts {
		sorted = append(sorted, h)
	}
	slices.SortFunc(sorted, func(a, b wire.AgentStatus) int { return cmp.Compare(a.Host, b.Host) })
	if asJSON {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		for _, h := range sorted {
			line := struct {
				wire.AgentStatus
				Timeline *publish.HostState `json:"timeline,omitempty"`
			}{AgentStatus: h}
			if x, known := live[liveKey{h.Session, h.Host}]; known {
				line.Timeline = &x
			}
			if err := encoder.Encode(line); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "HOST\tSESSION\tSERVERS\tRECORDED\tWAITING\tLOST\tCLOCK\tLAG\tBOUND\tEVENTS LOST\t")
	for _, h := range sorted {
		state := string(h.State)
		if state == "" && h.Ended {
			state = "ended"
		}
		if h.OnDemand {
			state = "on demand"
		}
		if h.Error != "" {
			state = strings.TrimSpace(state + " PROBLEM: " + h.Error)
		}
		lag, bound, lost := "-", "-", "-"
		if x, known := live[liveKey{h.Session, h.Host}]; known {
			lag, lost = time.Duration(x.LagNs).Round(time.Microsecond).String(), strconv.FormatInt(x.Lost, 10)
			if x.BoundNs != nil {
				bound = time.Duration(*x.BoundNs).String()
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", h.Host, cmp.Or(h.Session, "-"), cmp.Or(strings.Join(h.Servers, ","), "-"), h.Recorded, h.Recorded-h.Acknowledged-h.Lost, h.Lost, clockOf(h.Host, hosts), lag, bound, lost, state)
	}
	return w.Flush()
}

// clockOf says how the clock probes of a host go: by the pairs in which it asks or is asked, how many are bounded and how narrow the best bound is.
func clockOf(host string, hosts map[string]wire.AgentStatus) string {
	own := hosts[host].Probing
	if own == nil {
		return "-"
	}
	if own.Error != "" {
		return "fault: " + own.Error
	}
	bounded, silent, best := 0, 0, int64(0)
	for from, h := range hosts {
		if h.Session != hosts[host].Session || h.Probing == nil {
			continue
		}
		for _, x := range h.Probing.Pairs {
			switch {
			case from != host && x.Host != host:
			case x.Silent || x.Error != "":
				silent++
			case x.WidthNs > 0:
				if bounded++; best == 0 || x.WidthNs < best {
					best = x.WidthNs
				}
			}
		}
	}
	text := "no bound"
	if bounded > 0 {
		pairs := "pairs"
		if bounded == 1 {
			pairs = "pair"
		}
		text = fmt.Sprintf("±%v, %d %s", time.Duration((best+1)/2), bounded, pairs)
	}
	if silent > 0 {
		text += fmt.Sprintf(", %d silent", silent)
	}
	return text
}
