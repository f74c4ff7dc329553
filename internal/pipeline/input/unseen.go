package input

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"meridian/trace"
)

// Unseen is which of the addresses that are given of hosts nothing has had so far: no packet, within a tunnel or around it, and no interface that
// a recorder saw. They decide nothing, so they are likely mistyped. The zero value has none.
type Unseen struct {
	given map[string][]netip.Addr
	left  map[netip.Addr]bool
}

// NewUnseen returns all addresses that are given.
func NewUnseen(given map[string][]netip.Addr) Unseen {
	u := Unseen{given, make(map[netip.Addr]bool)}
	for _, addresses := range given {
		for _, a := range addresses {
			u.left[a.Unmap()] = true
		}
	}
	return u
}

// See takes an address that something has.
func (u *Unseen) See(a netip.Addr) { delete(u.left, a.Unmap()) }

// SeeFlows takes the addresses of a capture's packets.
func (u *Unseen) SeeFlows(c *trace.Capture) {
	for i := 0; i < len(c.Flows) && len(u.left) > 0; i++ {
		f := &c.Flows[i]
		for _, a := range [...]netip.Addr{f.Low.Addr, f.High.Addr, f.Tunnel.From, f.Tunnel.To} {
			u.See(a)
		}
	}
}

// Warn names the addresses that are left, by their hosts.
func (u *Unseen) Warn(w *trace.Warnings) {
	for _, host := range slices.Sorted(maps.Keys(u.given)) {
		for _, a := range u.given[host] {
			if u.left[a.Unmap()] {
				w.Add(host, fmt.Sprintf("no packet of the captures has its address %s (--address); correct the address or leave it out", a), "")
			}
		}
	}
}
