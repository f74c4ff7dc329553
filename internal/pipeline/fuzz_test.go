package pipeline

import (
	"os"
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
)

// FuzzReadDataset reads files of data sets, and instants as users write them. What is believed has a name; an instant is on the clock.
//
//fuzzall:own
func FuzzReadDataset(f *testing.F) {
	f.Add("datasets:\n  a:\n    inputs: [web=web.ctf, s3://b/db.pcap]\n    from: +10s\n    pairs:\n    - {name: h, begin: b, end: e, key: [id], max: 5ms}\n", "+1.5s")
	f.Add("datasets:\n  a: {}\n  b:\n", "2026-01-02T15:04:05.5Z")
	f.Add("datasets: &x\n  a: *x\n", "@1700000000.000000001")
	f.Add("", "-1h")
	path := filepath.Join(f.TempDir(), "sets.yaml")
	testseed.Fuzz(f, func(t *testing.T, text, instant string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, reference := range []string{path, path + ":a"} {
			if d, err := ReadDataset(reference); (d == nil) != (err != nil) {
				t.Errorf("%+v, %v", d, err)
			}
		}
		const first, last = clock.TimelineTime(1_700_000_000e9), clock.TimelineTime(1_700_000_100e9)
		at, err := ParseInstant(instant, first, last)
		if err != nil {
			return
		}
		switch {
		case instant[0] == '+' && at < first, instant[0] == '-' && at > last:
			t.Errorf("%q is %d", instant, at)
		}
	})
}
