package netstate

import "meridian/trace"

// Names of the classes of events. The first is that of LTTng's kernel modules, whose fields are the first two; it tells what
// was there at the start.
const (
	StateDump = "lttng_statedump_network_interface"
	StateName = "netif_state"
)

// Classes returns the two classes of events that changes are: what was present at the start, and what changed since. Both have
// the fields that Values returns.
func Classes() []trace.Class {
	change := trace.Type{Kind: trace.Uint, Bits: 8}
	for i, name := range kinds {
		change.Labels = append(change.Labels, trace.Label{Name: name, Low: int64(i), High: int64(i)})
	}
	text, flag := trace.Type{Kind: trace.Text}, trace.Type{Kind: trace.Uint, Bits: 8}
	fields := []trace.Field{
		{Name: "name", Type: text},
		{Name: "address_ipv4", Type: trace.Type{Kind: trace.Uint, Bits: 32, Base: 16}}, // 0 where there is none
		{Name: "address", Type: text}, // "10.0.0.1/24", "fe80::1/64", ""
		{Name: "change", Type: change},
		{Name: "ifindex", Type: trace.Type{Kind: trace.Uint, Bits: 32}},
		{Name: "hardware", Type: trace.Type{Kind: trace.Uint, Bits: 16}}, // ARPHRD_
		{Name: "mac", Type: text},
		{Name: "mtu", Type: trace.Type{Kind: trace.Uint, Bits: 32}},
		{Name: "up", Type: flag},
		{Name: "running", Type: flag},
		{Name: "realtime", Type: trace.Type{Kind: trace.Int, Bits: 64}}, // REALTIME beside the event's stamp, ns since 1970
	}
	return []trace.Class{
		{Name: StateDump, Category: "state", Fields: fields},
		{Name: StateName, Category: "state", Fields: fields},
	}
}

// Class returns which of [Classes] the change is.
func (c *Change) Class() int {
	if c.Kind == Present {
		return 0
	}
	return 1
}

// Values appends the fields of the change, in the order of its class.
func (c *Change) Values(to []trace.Value) []trace.Value {
	i := &c.Interface
	var v4 uint64
	address := ""
	if c.Address.IsValid() {
		address = c.Address.String()
		if a := c.Address.Addr().Unmap(); a.Is4() {
			b := a.As4()
			v4 = uint64(b[0])<<24 | uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3])
		}
	}
	flag := func(v bool) trace.Value {
		if v {
			return trace.OfUint(1)
		}
		return trace.OfUint(0)
	}
	return append(to, trace.OfText(i.Name), trace.OfUint(v4), trace.OfText(address), trace.OfUint(uint64(c.Kind)),
		trace.OfUint(uint64(i.Index)), trace.OfUint(uint64(i.Hardware)), trace.OfText(i.MAC.String()), trace.OfUint(uint64(i.MTU)),
		flag(i.Up), flag(i.Running), trace.OfInt(c.Realtime))
}
