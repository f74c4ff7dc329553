package probe

import (
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
	"pgregory.net/rapid"
)

func TestStampsByAnotherReadingHoldTheTruth(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		truth := rapid.Int64Range(1e18, 2e18).Draw(t, "free clock")
		off := rapid.Int64Range(0, 500).Draw(t, "error")
		s := Stamp{Time: hostTime(truth + rapid.Int64Range(-off, off).Draw(t, "off by")), Error: off, Kind: Kernel, Wall: hostTime(truth + 5_000_000)}
		offset := s.Offset() + rapid.Int64Range(-2*minStep, 2*minStep).Draw(t, "apart")
		got, ok := s.by(offset)
		apart := offset - s.Offset()
		if ok != (max(apart, -apart) <= minStep) {
			t.Fatalf("readings %d ns apart: %v", apart, ok)
		}
		if !ok && got != s || ok && got.Offset() != offset || got.Wall != s.Wall {
			t.Fatalf("%+v by %d became %+v", s, offset, got)
		}
		if d := clock.Sub(got.Time, hostTime(truth)); max(d, -d) > got.Error {
			t.Fatalf("%+v by %d became %+v, which is off by %d", s, offset, got, d)
		}
	})
	if _, ok := (Stamp{Time: 5, Kind: Kernel}).by(-5); ok {
		t.Error("a stamp without REALTIME was led to the free clock by it")
	}
}
