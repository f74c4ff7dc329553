package main

import "testing"

// The worlds of the day are always the same, so that a failure is of the change that made it.
func TestNoPairIsFalse(t *testing.T) {
	all, err := run(1, 100_000, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(all)
	if all.wrong() > 0 {
		t.Errorf("%d of %d messages are false", all.wrong(), all.found())
	}
}

// A judge that sees nothing would pass everything.
func TestTheBarsAreHeld(t *testing.T) {
	if s := newScore(); s.fault() != "" {
		t.Errorf("nothing is %q", s.fault())
	}
	s := newScore()
	s.counts[0][icmpEcho] = count{common: 10, matched: 8}
	if s.fault() == "" {
		t.Error("eight of ten suffice")
	}
	s.counts[0][icmpEcho] = count{common: 10, matched: 10, false: 1}
	if s.fault() == "" {
		t.Error("a false message passes")
	}
}
