package index

import (
	"strings"
	"testing"

	"meridian/internal/eventtest"
)

func TestAddressesAreShownAndFoundAsAddresses(t *testing.T) {
	l, events := eventtest.Headers()
	x := &timeline{schema: l, records: events}
	n := x.build(t, Options{})
	defer n.Close()
	got, err := n.Events(0, 3)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	for i, want := range []string{"saddr: 192.168.0.7, daddr: 10.0.2.255", "saddr: 2001:db8::12, daddr: ::1", "10.0.0.1"} {
		if text := got[i].Fields[0][1]; !strings.Contains(text, want) {
			t.Errorf("event %d: %s without %s", i, text, want)
		}
	}
	for query, want := range map[string]int64{"10.0.2.255": 0, `"2001:db8::12"`: 1, "address_ipv4=10.0.0.1": 2, "address_ipv4:.0.1": 2} {
		f, err := n.Search(query, -1, 10)
		if err != nil || len(f.Found) != 1 || f.Found[0].Event != want {
			t.Errorf("%s finds %+v, %v", query, f, err)
		}
	}
}
