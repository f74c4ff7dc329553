package input

import (
	"net/netip"
	"reflect"
	"testing"

	"meridian/trace"
)

func TestAddressesOfInterfacesAreReadFromTheEventsOfAnyRecorder(t *testing.T) {
	field := func(name string) trace.Field { return trace.Field{Name: name} }
	lttng, ok := newAddressFields(&trace.Class{Name: "lttng_statedump_network_interface", Fields: []trace.Field{field("name"), field("address_ipv4")}})
	if !ok {
		t.Fatal("LTTng's state of interfaces is not known")
	}
	own, ok := newAddressFields(&trace.Class{Name: "netif_state", Fields: []trace.Field{field("name"), field("address_ipv4"), field("address")}})
	if !ok {
		t.Fatal("the recorder's own is not known")
	}
	if _, ok := newAddressFields(&trace.Class{Name: "net_dev_queue", Fields: []trace.Field{field("address")}}); ok {
		t.Error("a packet states an interface")
	}
	name := trace.OfText("eth0")
	for _, c := range []struct {
		f      addressFields
		values []trace.Value
		want   string
	}{
		{lttng, []trace.Value{name, trace.OfUint(0x0a000102)}, "10.0.1.2"},
		{lttng, []trace.Value{name, trace.OfUint(0x7f000001)}, ""},
		{lttng, []trace.Value{name, trace.OfUint(0)}, ""},
		{lttng, []trace.Value{name}, ""},
		{own, []trace.Value{name, trace.OfUint(0xc0a80001), trace.OfText("192.168.0.1/24")}, "192.168.0.1"},
		{own, []trace.Value{name, trace.OfUint(0), trace.OfText("2001:db8::7/64")}, "2001:db8::7"},
		{own, []trace.Value{name, trace.OfUint(0), trace.OfText("fe80::1/64")}, ""},
		{own, []trace.Value{name, trace.OfUint(0), trace.OfText("::1/128")}, ""},
		{own, []trace.Value{name, trace.OfUint(0), trace.OfText("")}, ""},
	} {
		a, ok := c.f.read(c.values)
		if ok != (c.want != "") || ok && a.String() != c.want {
			t.Errorf("%v is %v (%v), want %q", c.values, a, ok, c.want)
		}
	}
}

func TestAddressesThatSeveralHostsHadTellNothing(t *testing.T) {
	at := netip.MustParseAddr
	bridge := at("172.17.0.1")
	s := &Set{Recordings: []*Recording{
		{Addresses: map[string][]netip.Addr{"web": {bridge, at("10.0.0.2"), at("10.0.0.1")}}},
		{Addresses: map[string][]netip.Addr{"db": {at("10.0.0.3"), bridge}}},
		{Addresses: map[string][]netip.Addr{"web": {at("10.0.0.1")}, "lb": {bridge}}}, // another recording of web
	}}
	want := map[string][]netip.Addr{"web": {at("10.0.0.1"), at("10.0.0.2")}, "db": {at("10.0.0.3")}}
	if got := s.OwnAddresses(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
