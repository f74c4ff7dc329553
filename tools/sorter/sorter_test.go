package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestALongerHalvingGivesOrderAndAShorterOneLatency(t *testing.T) {
	e := experiment{duration: time.Minute, hosts: 4, rate: 500, seed: 1}
	for _, every := range []time.Duration{0, 2 * time.Second} {
		var last *outcome
		for _, s := range settings[:4] {
			o, err := e.run(s.options, every)
			if err != nil {
				t.Fatal(err)
			}
			if o.missing != 0 || o.twice != 0 || o.unnoted != 0 || o.events < 110_000 {
				t.Fatalf("%+v", o)
			}
			if last != nil && (o.stats.Late >= last.stats.Late || o.latencyMean() <= last.latencyMean()) {
				t.Errorf("%s, held up every %v: late %d after %d, latency %.1f ms after %.1f ms", s.name, every, o.stats.Late, last.stats.Late, o.latencyMean(), last.latencyMean())
			}
			last = o
		}
	}
}

func TestTheTableHasARowForEachSetting(t *testing.T) {
	e := experiment{duration: time.Second, hosts: 2, rate: 100, seed: 1}
	var out bytes.Buffer
	ok, err := e.print(&out)
	if err != nil || !ok {
		t.Fatal(ok, err, out.String())
	}
	if n := strings.Count(out.String(), "\n"); n != 2+2*len(settings)+2 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}

func TestTheSpeedIsMeasuredInBatches(t *testing.T) {
	times, err := speed(1)
	if err != nil || len(times) < 3 {
		t.Fatal(times, err)
	}
}
