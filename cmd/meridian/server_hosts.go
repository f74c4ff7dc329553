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
	var server string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "hosts [--server URL]",
		Short: "List the hosts that are recorded now, and how far their traces have come",
		Long: `List the hosts whose agents are there: which servers store each, how many bytes it has recorded, how many of these are not yet on the
disks of as many servers as are wanted, and how many no server will get. Where a server has the timeline ('meridian server --timeline on'): how old
the latest event is by the timeline's present, by how much its time may be wrong, and how many events the trace lacks.`,
		Example: `  meridian server hosts
  meridian server hosts --server nats://broker:4222 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listHosts(cmd, server, asJSON) },
	}
	flags := cmd.Flags()
	flags.StringVar(&server, "server", defaultBroker, "`URL` of the broker")
	flags.BoolVar(&asJSON, "json", false, "a JSON object a line")
	return cmd
}

// liveKey is a host in a session.
type liveKey struct{ session, host string }

func listHosts(cmd *cobra.Command, server string, asJSON bool) error {
	c, err := nats.Connect(brokerURLs(server))
	if err != nil {
		return fmt.Errorf("%s: %w: is 'meridian server' running there?", server, err)
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
			status, err := wire.Decode[wire.AgentStatus](m.Data)
			host, nameErr := wire.HostOf(m.Subject)
			if err == nil && nameErr == nil && status.Version == wire.Version {
				status.Host = host
				hosts[host] = status
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
	fmt.Fprintln(w, "HOST\tSESSION\tSERVERS\tRECORDED\tWAITING\tLOST\tLAG\tBOUND\tEVENTS LOST\t")
	for _, h := range sorted {
		state := ""
		if h.Ended {
			state = "ended"
		}
		lag, bound, lost := "-", "-", "-"
		if x, known := live[liveKey{h.Session, h.Host}]; known {
			lag, lost = time.Duration(x.LagNs).Round(time.Microsecond).String(), strconv.FormatInt(x.Lost, 10)
			if x.BoundNs != nil {
				bound = time.Duration(*x.BoundNs).String()
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", h.Host, h.Session, cmp.Or(strings.Join(h.Servers, ","), "-"), h.Recorded, h.Recorded-h.Acknowledged-h.Lost, h.Lost, lag, bound, lost, state)
	}
	return w.Flush()
}
