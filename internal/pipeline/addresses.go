package pipeline

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"meridian/internal/pipeline/input"
	"meridian/trace"
)

// warnOfUnseen names the addresses given of hosts that no packet has, neither within nor around a tunnel, and that no recorder saw on an
// interface. They decide nothing, so they are likely mistyped.
func warnOfUnseen(given map[string][]netip.Addr, set *input.Set, w *trace.Warnings) {
	if len(given) == 0 {
		return
	}
	seen := make(map[netip.Addr]bool)
	for _, c := range set.Captures {
		for i := range c.Flows {
			f := &c.Flows[i]
			for _, a := range []netip.Addr{f.Low.Addr, f.High.Addr, f.Tunnel.From, f.Tunnel.To} {
				seen[a.Unmap()] = true
			}
		}
	}
	for _, r := range set.Recordings {
		for _, addresses := range r.Addresses {
			for _, a := range addresses {
				seen[a.Unmap()] = true
			}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(given)) {
		for _, a := range given[host] {
			if !seen[a.Unmap()] {
				w.Add(host, fmt.Sprintf("no packet of the captures has its address %s (--address); correct the address or leave it out", a), "")
			}
		}
	}
}
