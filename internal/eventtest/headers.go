package eventtest

import "meridian/trace"

// Headers returns three events as a recorder of a kernel has them: a packet of IPv4 from 192.168.0.7 to 10.0.2.255, one of IPv6 from
// 2001:db8::12 to ::1, each in an alternative of network_header, and the state of an interface with 10.0.0.1. The flow label of the
// second is an array that is no address.
func Headers() (*trace.Schema, []trace.TimelineEvent) {
	number := func(bits int) trace.Type { return trace.Type{Kind: trace.Uint, Bits: bits} }
	array := func(name string, bits, length int) trace.Field {
		elem := number(bits)
		return trace.Field{Name: name, Type: trace.Type{Kind: trace.Array, Length: length, Elem: &elem}}
	}
	group := func(name string, members ...trace.Field) trace.Field {
		return trace.Field{Name: name, Type: trace.Type{Kind: trace.Struct, Fields: members}}
	}
	header := trace.Field{Name: "network_header", Type: trace.Type{Kind: trace.Variant, Fields: []trace.Field{
		group("ipv4", array("saddr", 8, 4), array("daddr", 8, 4)),
		group("ipv6", array("flow_lbl", 8, 3), array("saddr", 16, 8), array("daddr", 16, 8))}}}
	l := &trace.Schema{Hosts: []string{"web"}, Streams: []trace.Stream{{Name: "cpu 0"}}, Classes: []trace.Class{
		{Name: "net_dev_queue", Fields: []trace.Field{header}},
		{Name: "netif_state", Fields: []trace.Field{{Name: "address_ipv4", Type: number(32)}}}}}
	numbers := func(n ...uint64) trace.Value {
		v := trace.Value{Kind: trace.Array}
		for _, n := range n {
			v.Items = append(v.Items, trace.OfUint(n))
		}
		return v
	}
	packet := func(alternative uint64, members ...trace.Value) []trace.Value {
		return []trace.Value{{Kind: trace.Variant, Bits: alternative, Items: []trace.Value{{Kind: trace.Struct, Items: members}}}}
	}
	return l, []trace.TimelineEvent{
		{Map: -1, Values: packet(0, numbers(192, 168, 0, 7), numbers(10, 0, 2, 255))},
		{Map: -1, Values: packet(1, numbers(1, 2, 3), numbers(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x12), numbers(0, 0, 0, 0, 0, 0, 0, 1))},
		{Map: -1, Event: trace.Event{Class: 1}, Values: []trace.Value{trace.OfUint(0x0a000001)}}}
}
