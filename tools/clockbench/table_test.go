//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestBarsAreOfThePeerAtTheSameRateAndLoad shows what is called missed, and what is not.
func TestBarsAreOfThePeerAtTheSameRateAndLoad(t *testing.T) {
	of := func(name, load string, rate, median, p99 float64, peer bool) *result {
		return &result{subject: &subject{name: name, rate: rate, peer: peer}, load: load, median: median, p99: p99, points: 1, bounded: 1, width: 1}
	}
	chronyd := of("chronyd 16/s", "idle", 16, 200, 1000, true)
	for _, c := range []struct {
		name   string
		ours   *result
		missed string
	}{
		{"within", of("ours", "idle", 16, 149, 250, false), ""},
		{"p99", of("ours", "idle", 16, 10, 251, false), "p99 251 ns"},
		{"median", of("ours", "idle", 16, 151, 250, false), "median 151 ns"},
		{"another rate", of("ours", "idle", 128, 1e6, 1e6, false), ""},
		{"another load", of("ours", "busy", 16, 1e6, 1e6, false), ""},
	} {
		var out bytes.Buffer
		missed := report(&out, []*result{chronyd, c.ours}, false)
		if (missed > 0) != (c.missed != "") || !strings.Contains(out.String(), c.missed) {
			t.Errorf("%s: %d missed:\n%s", c.name, missed, &out)
		}
	}
	wrong := of("ours", "idle", 16, 1, 1, false)
	wrong.wrong = 1
	var out bytes.Buffer
	if report(&out, []*result{chronyd, wrong}, false) != 1 {
		t.Errorf("a bound that does not hold is no miss:\n%s", &out)
	}
}
