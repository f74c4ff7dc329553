package input

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	"meridian/trace"
)

// interfaceState is the event in which a recorder, LTTng's or Meridian's, states a network interface with an address, when the
// recording begins. Meridian's states changes as another event with the same fields.
var interfaceState = []string{"lttng_statedump_network_interface", "netif_state"}

// addressFields is where a class of events has the addresses of interfaces; -1 where it has not.
type addressFields struct{ text, ipv4 int }

// newAddressFields returns the fields of a class; false for one that states no interfaces.
func newAddressFields(c *trace.Class) (f addressFields, ok bool) {
	f = addressFields{-1, -1}
	for i := range c.Fields {
		switch c.Fields[i].Name {
		case "address":
			f.text = i
		case "address_ipv4":
			f.ipv4 = i
		}
	}
	return f, slices.Contains(interfaceState, c.Name) && (f.text >= 0 || f.ipv4 >= 0)
}

// read returns the address that an event states, of any kind of change: what is removed was there before. It returns false
// without one, and for addresses that mean something on their own host or link alone.
func (f addressFields) read(values []trace.Value) (netip.Addr, bool) {
	var a netip.Addr
	if f.text >= 0 && f.text < len(values) {
		text, _, _ := strings.Cut(string(values[f.text].Data), "/")
		a, _ = netip.ParseAddr(text)
	}
	if !a.IsValid() && f.ipv4 >= 0 && f.ipv4 < len(values) {
		if n := values[f.ipv4].Uint(); n != 0 && n <= 1<<32-1 {
			a = netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(n))))
		}
	}
	a = a.Unmap().WithZone("")
	return a, a.IsValid() && !a.IsLoopback() && !a.IsUnspecified() && !a.IsLinkLocalUnicast() && !a.IsMulticast()
}

// InterfaceAddresses reads the addresses of a host from the events of one trace, in which its recorder states interfaces.
type InterfaceAddresses struct {
	classes []statingClass
}

// statingClass is a class of events, which may state interfaces.
type statingClass struct {
	addressFields
	states bool
}

// Read returns the address that the event which src brought last states; false for an event that states none that means something to
// other hosts. Events of other kinds cost a look at their class.
func (x *InterfaceAddresses) Read(src trace.Source, e *trace.Event) (netip.Addr, bool) {
	if e.Class >= len(x.classes) {
		for _, c := range src.Classes()[len(x.classes):] {
			f, ok := newAddressFields(&c)
			x.classes = append(x.classes, statingClass{f, ok})
		}
	}
	if c := &x.classes[e.Class]; c.states {
		return c.read(src.Values())
	}
	return netip.Addr{}, false
}

// address notes the address that an event states, if it states one.
func (s *surveySource) address(e *trace.Event) {
	a, ok := s.addresses.Read(s.Source, e)
	if !ok {
		return
	}
	host := s.Source.Streams()[e.Stream].Host
	if host == "" {
		host = s.of.Host
	}
	if s.of.Addresses == nil {
		s.of.Addresses = make(map[string][]netip.Addr)
	}
	if !slices.Contains(s.of.Addresses[host], a) {
		s.of.Addresses[host] = append(s.of.Addresses[host], a)
	}
}

// OwnAddresses returns the addresses that recorders saw on the interfaces of each host, at any time of its recording. Those
// that several hosts had, as bridges of containers and addresses that moved have, tell nothing and are left out.
func (s *Set) OwnAddresses() map[string][]netip.Addr {
	var all []map[string][]netip.Addr
	for _, x := range s.Recordings {
		all = append(all, x.Addresses)
	}
	return OwnAddresses(all)
}

// OwnAddresses returns of the addresses of each host, as several recordings have them, those that no other host has.
func OwnAddresses(recordings []map[string][]netip.Addr) map[string][]netip.Addr {
	owner, shared := make(map[netip.Addr]string), make(map[netip.Addr]bool)
	for _, x := range recordings {
		for host, addresses := range x {
			for _, a := range addresses {
				if other, taken := owner[a]; taken && other != host {
					shared[a] = true
				}
				owner[a] = host
			}
		}
	}
	out := make(map[string][]netip.Addr)
	for a, host := range owner {
		if !shared[a] {
			out[host] = append(out[host], a)
		}
	}
	for _, addresses := range out {
		slices.SortFunc(addresses, netip.Addr.Compare)
	}
	return out
}

// Stated returns the addresses that are given of each host and, of the others, those that are seen. Neither argument is changed.
func Stated(given, seen map[string][]netip.Addr) map[string][]netip.Addr {
	taken := make(map[netip.Addr]bool)
	out := make(map[string][]netip.Addr)
	for host, addresses := range given {
		out[host] = slices.Clone(addresses)
		for _, a := range addresses {
			taken[a.Unmap()] = true
		}
	}
	for host, addresses := range seen {
		for _, a := range addresses {
			if !taken[a] {
				out[host] = append(out[host], a)
			}
		}
	}
	return out
}
