//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/record"
)

func TestMedianIsTheMiddleRound(t *testing.T) {
	m := &measured{samples: []sample{{speed: 9}, {speed: 1}, {speed: 5}}}
	if got := m.median(speedOf); got != 5 {
		t.Errorf("median %v", got)
	}
}

func TestCoreIsCountedForAHundredThousandEvents(t *testing.T) {
	s := sample{seconds: 5, cpu: 0.5, tally: tally{events: 1_000_000}}
	if got := perRateOf(&s); got != 5 { // 10% of a core at 200,000 a second
		t.Errorf("%v%% of a core at 100,000 events/s, want 5", got)
	}
}

// judged has one figure of each bar at its limit, or just beyond.
func judged(speed, core float64, unseen, gap, lost uint64, worst float64) *bench {
	counted := tally{events: 100_000 - unseen}
	loaded := func(name string) *load {
		s := sample{speed: speed, seconds: 1, cpu: core / 100 * float64(counted.events) / 1e5, packets: 100_000, tally: counted}
		if name == "tcp" {
			s.packets = counted.events // udp's bar alone
		}
		return &load{name: name, all: []*measured{
			{recorder: &recorder{name: unrecorded}, samples: []sample{{speed: 1}}}, {recorder: &recorder{name: oursName}, samples: []sample{s}}}}
	}
	e := &emitted{runs: []emission{{Events: 10}}, counted: []record.Counts{{Events: 12 - lost, Lost: lost}}, core: []float64{worst}}
	return &bench{loads: []*load{loaded("tcp"), loaded("udp")}, gap: &account{runs: 7 + gap, counted: tally{events: 5, lost: 3, missed: 1}}, events: []*emitted{e}}
}

func TestEachBarCanBeMissed(t *testing.T) {
	for _, test := range []struct {
		name string
		b    *bench
		want int
	}{
		{"all is counted", judged(0.9, 24.9, 100, 0, 0, 49.9), 0},
		{"throughput", judged(0.89, 24.9, 100, 0, 0, 49.9), 1},
		{"core for the kernel's events", judged(0.9, 25.1, 100, 0, 0, 49.9), 1},
		{"packets not seen", judged(0.9, 24.9, 101, 0, 0, 49.9), 1},
		{"packets without account", judged(0.9, 24.9, 100, 1, 0, 49.9), 1},
		{"events lost", judged(0.9, 24.9, 100, 0, 1, 49.9), 1},
		{"core for a program's events", judged(0.9, 24.9, 100, 0, 0, 50.1), 1},
	} {
		var said bytes.Buffer
		if got := test.b.judge(&said); got != test.want || strings.Count(said.String(), "FAIL") != test.want {
			t.Errorf("%s: %d bars missed, want %d:\n%s", test.name, got, test.want, said.String())
		}
	}
}

func TestRecorderThatCouldNotBeMeasuredMissesABar(t *testing.T) {
	b := judged(1, 1, 0, 0, 0, 1)
	b.loads[0].missing = []string{"trace-cmd is not installed"}
	if got := b.judge(io.Discard); got != 1 {
		t.Errorf("%d bars missed, want 1", got)
	}
}

func TestTcpdumpsOwnCountIsRead(t *testing.T) {
	r := &running{out: filepath.Join(t.TempDir(), "trace")}
	if _, err := captured(r); err == nil {
		t.Error("a tcpdump that says nothing is believed")
	}
	for name, text := range map[string]string{"trace": "four", "trace.log": "12 packets captured\n14 packets received by filter\n3 packets dropped by kernel\n"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(r.out), name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := captured(r); err != nil || got != (tally{12, 3, 4, 0}) {
		t.Errorf("%+v, %v", got, err)
	}
}
