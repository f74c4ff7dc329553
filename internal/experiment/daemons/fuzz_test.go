package daemons

import (
	"fmt"
	"testing"

	"meridian/internal/testseed"
)

// FuzzPrograms reads what iperf3, nft and the kernel say of processes. What is believed is whole: no number is missing.
func FuzzPrograms(f *testing.F) {
	f.Add([]byte(`{"end":{"sum_sent":{"bytes":5,"bits_per_second":1e9,"retransmits":2},"sum_received":{"bytes":4}}}`))
	f.Add([]byte(`{"error":"unable to connect to server"}`))
	f.Add([]byte(`{"nftables":[{"metainfo":{}},{"counter":{"name":"dropped","packets":3}},{"counter":{"name":"probes","packets":9}}]}`))
	f.Add([]byte(`17 (a) b (c)) S 1 17 17 0`))
	f.Add([]byte(`null`))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		if x, err := readIperf(data, nil); (x == nil) != (err != nil) {
			t.Errorf("iperf3: %+v, %v", x, err)
		}
		if x, err := readCounters(data); (x == nil) != (err != nil) || err == nil && (x.Dropped == nil || x.Probes == nil) {
			t.Errorf("nft: %+v, %v", x, err)
		}
		s, err := parseStat(string(data))
		if err != nil {
			return
		}
		if again, err := parseStat(fmt.Sprintf("1 (x) %s %d %d", s.state, s.parent, s.group)); err != nil || again != s {
			t.Errorf("%+v becomes %+v, %v", s, again, err)
		}
	})
}
