package corpus

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"testing"
)

// ChronydOffsets returns by how much the three clocks of a network, lan or wan, are off at every second, ns. The first is the
// server, which is right; a real chronyd steers the others, its clients.
func ChronydOffsets(t testing.TB, network string) (offsets [3][]float64) {
	t.Helper()
	f, err := os.Open(Trace(t, "../disciplined/"+network+".offset.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		var v [3]float64
		if _, err := fmt.Sscan(lines.Text(), &v[0], &v[1], &v[2]); err != nil {
			t.Fatal(err)
		}
		for i := range v {
			offsets[i] = append(offsets[i], v[i]*1e9)
		}
	}
	if lines.Err() != nil || len(offsets[0]) < 2 {
		t.Fatal(len(offsets[0]), lines.Err())
	}
	return offsets
}
