package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/internal/testneed"
)

// The worlds of the day are always the same, so that a failure is of the change that made it.
func TestNoPairIsFalse(t *testing.T) {
	all, err := run(1, int64(testneed.Cases(100_000)), 2, false, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(all)
	if all.wrong() > 0 {
		t.Errorf("%d of %d messages are false", all.wrong(), all.found())
	}
}

func TestWorldsThatAreMadeToDeceiveMakeNoPairFalse(t *testing.T) {
	all, err := run(1, int64(testneed.Cases(100_000)), 2, true, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(all)
	if all.wrong() > 0 {
		t.Errorf("%d of %d messages are false", all.wrong(), all.found())
	}
}

// Captures of which earlier versions made false messages: datagrams repeated after 350 us, and TCP that loses a tenth.
func TestWhatOnceWasFalseIsNot(t *testing.T) {
	for _, c := range []struct {
		name               string
		class              class
		lossA, lossB, loss float64 // of the captures and the network
		jitter             int64
		least              float64 // share of what was seen at both ends
	}{
		{"2 and 2 % missed", udpRepeat, 0.02, 0.02, 0, 20_000, 0.95},
		{"2 and 2 % missed, delays wider than the repeats", udpRepeat, 0.02, 0.02, 0, 2_000_000, 0},
		{"0.5 and 2 % missed", udpRepeat, 0.005, 0.02, 0, 20_000, 0.95},
		{"0.5 and 2 % missed, delays wider than the repeats", udpRepeat, 0.005, 0.02, 0, 2_000_000, 0},
		{"TCP, the network loses 10 %", tcpLinux, 0.001, 0.001, 0.1, 20_000, 0.95},
		{"TCP, captures and network lose 10 %", tcpLinux, 0.1, 0.1, 0.1, 20_000, 0.75},
		{"TCP without options", tcpPlain, 0.001, 0.001, 0.1, 20_000, 0},
	} {
		all := newScore()
		for seed := range uint64(4) {
			w := &world{Rand: rand.New(rand.NewPCG(seed, 78)), seed: 2 * seed, ports: 20000, loss: c.loss, delay: 100_000, jitter: c.jitter, repeat: 0.1, after: 350_000}
			w.habits = [2]habit{{loss: c.lossA, snap: 96}, {loss: c.lossB, snap: 96, offset: 5_000_000_000}}
			if c.class == udpRepeat {
				w.datagrams(c.class, 0)
			} else {
				w.transfer(c.class, 0)
			}
			slices.SortStableFunc(w.sent, func(a, b sending) int { return cmp.Compare(a.at, b.at) })
			one, err := judge(w)
			if err != nil {
				t.Fatal(err)
			}
			all.add(one)
		}
		t.Log(c.name, all)
		if n := all.counts[0][c.class]; n.false > 0 || float64(n.matched) < c.least*float64(n.common) {
			t.Errorf("%s: %d false, %d matched of %d seen at both ends", c.name, n.false, n.matched, n.common)
		}
	}
}

// A capture of -i any held an acknowledgement as it came in and went out, and of the one before only the latter.
func TestASecondPointShowsWhatTheFirstMissed(t *testing.T) {
	s, err := judge(newWorld(5562, false))
	if err != nil {
		t.Fatal(err)
	}
	if s.wrong() > 0 || s.found() < 15_000 {
		t.Error(s)
	}
}

// A judge that sees nothing would pass everything.
func TestTheBarsAreHeld(t *testing.T) {
	if s := newScore(); s.fault(false) != "" {
		t.Errorf("nothing is %q", s.fault(false))
	}
	s := newScore()
	s.counts[0][icmpEcho] = count{common: 10, matched: 8}
	if s.fault(false) == "" {
		t.Error("eight of ten suffice")
	}
	s.counts[0][icmpEcho] = count{common: 10, matched: 10, false: 1}
	if s.fault(false) == "" || s.fault(true) == "" {
		t.Error("a false message passes")
	}
}
