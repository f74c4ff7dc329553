package pipeline

import (
	"net/netip"
	"slices"
	"testing"

	"meridian/internal/pipeline/input"
	"meridian/trace"
)

func TestStatedAddressesThatNothingHasAreNamed(t *testing.T) {
	at := netip.MustParseAddr
	end := func(a string) trace.Endpoint { return trace.Endpoint{Addr: at(a), Port: 80} }
	set := &input.Set{
		Captures: []*trace.Capture{
			{Host: "a", Flows: []trace.Flow{{Low: end("10.0.0.1"), High: end("10.0.0.2")}, {}}}, // the second without addresses
			{Host: "b", Flows: []trace.Flow{{Low: end("fd00::1"), High: end("fd00::2"), Tunnel: trace.Tunnel{From: at("192.0.2.1"), To: at("192.0.2.2")}}}},
		},
		Recordings: []*input.Recording{{Addresses: map[string][]netip.Addr{"a": {at("10.0.0.9")}}}},
	}
	given := map[string][]netip.Addr{
		"b": {at("fd00::1"), at("192.0.2.2"), at("192.0.2.3"), at("fd00::3")},
		"a": {at("10.0.0.1"), at("::ffff:10.0.0.2"), at("10.0.0.9"), at("10.0.0.3")},
	}
	var w trace.Warnings
	warnOfUnseen(given, set, &w)
	want := []string{
		"a: no packet of the captures has its address 10.0.0.3 (--address); correct the address or leave it out",
		"b: no packet of the captures has its address 192.0.2.3 (--address); correct the address or leave it out",
		"b: no packet of the captures has its address fd00::3 (--address); correct the address or leave it out",
	}
	if got := w.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
