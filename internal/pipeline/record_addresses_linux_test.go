package pipeline_test

import (
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"meridian/internal/netlab"
	"meridian/internal/record"
	"meridian/internal/record/netstate"
	"meridian/internal/record/packet"
)

// TestAddressesOfRecordedInterfacesAreThoseOfTheirHosts gives a host an address before it is recorded and another meanwhile.
// No packet has either, so only the recorded interfaces tell of them. A third is on both hosts, which tells nothing.
func TestAddressesOfRecordedInterfacesAreThoseOfTheirHosts(t *testing.T) {
	lab := netlab.TwoHosts(t)
	add := func(host, address string) {
		t.Helper()
		if out, err := lab.Command(host, "ip", "addr", "add", address, "dev", "lo").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	dir := t.TempDir()
	origins := make(map[string]*origin)
	var stops []func() record.Summary
	add("web", "10.99.0.1/32")
	for _, host := range []string{"web", "db"} {
		add(host, "172.17.0.1/32")
		early := record.ReadEarly()
		capture, err := packet.Open(packet.Options{NetNS: lab.Namespace(host)})
		if err != nil {
			t.Fatal(err)
		}
		watcher, err := netstate.Open(netstate.Options{NetNS: lab.Namespace(host)})
		if err != nil {
			t.Fatal(err)
		}
		stop, of := recordHost(t, lab, host, filepath.Join(dir, host),
			record.Options{Packets: capture, Early: early, Sources: []record.Source{record.Interfaces(watcher)}}, capture, watcher)
		stops, origins[host] = append(stops, stop), of
	}
	add("web", "2001:db8::99/128")
	lab.Run(netlab.Mixed("web", "db"))
	for _, stop := range stops {
		stop()
	}
	out := alignedHosts(t, filepath.Join(dir, "web"), filepath.Join(dir, "db"), "x.csv", origins)
	for _, h := range out.Report.Hosts {
		other := map[string]string{"web": "db", "db": "web"}[h.Name]
		has := func(a string) bool { return slices.Contains(h.Addresses, a) }
		for address, want := range map[string]bool{
			"10.99.0.1": h.Name == "web", "2001:db8::99": h.Name == "web", "172.17.0.1": false, "127.0.0.1": false,
			lab.Address(other, h.Name).String(): true, lab.Address(h.Name, other).String(): false,
		} {
			if has(address) != want {
				t.Errorf("%s has %s: %v, want %v (%v)", h.Name, netip.MustParseAddr(address), has(address), want, h.Addresses)
			}
		}
	}
}
