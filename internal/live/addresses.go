package live

import (
	"net/netip"
	"slices"

	offline "meridian/internal/pipeline/input"
)

// hostAddresses are the addresses of interfaces that recorders state, as match.Options takes them.
type hostAddresses struct {
	of      map[*input]*statedAddresses
	made    map[string][]netip.Addr
	changed bool
}

// statedAddresses are those of one trace.
type statedAddresses struct {
	offline.InterfaceAddresses
	all []netip.Addr
}

// see takes the event that an input read last. An address in it is no longer among those that nothing has.
func (x *hostAddresses) see(in *input, unseen *offline.Unseen) {
	if in.trace == nil {
		return
	}
	of := x.of[in]
	if of == nil {
		if x.of == nil {
			x.of = make(map[*input]*statedAddresses)
		}
		of = new(statedAddresses)
		x.of[in] = of
	}
	a, ok := of.Read(in.follower, &in.event)
	if !ok {
		return
	}
	unseen.See(a)
	if !slices.Contains(of.all, a) {
		of.all = append(of.all, a)
		x.changed = true
	}
}

// replaced says that an input follows another trace of its host: that numbers its classes anew.
func (x *hostAddresses) replaced(in *input) {
	if of := x.of[in]; of != nil {
		of.InterfaceAddresses = offline.InterfaceAddresses{}
	}
}

// addressesOf returns the addresses of a host: those that matching found, which has those that were given or stated, or
// else these.
func (p *packets) addressesOf(host string) []netip.Addr {
	if list := p.learnt[host]; len(list) > 0 {
		return list
	}
	return p.addresses.own(p.s.o.Addresses)[host]
}

// own returns the addresses that were given of each host and, of the others, those that recorders saw on one host alone.
func (x *hostAddresses) own(given map[string][]netip.Addr) map[string][]netip.Addr {
	if x.changed || x.made == nil {
		x.changed = false
		var all []map[string][]netip.Addr
		for in, of := range x.of {
			all = append(all, map[string][]netip.Addr{in.name: of.all})
		}
		x.made = offline.Stated(given, offline.OwnAddresses(all))
	}
	return x.made
}
