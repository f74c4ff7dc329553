package trace_test

import (
	"slices"
	"strings"
	"testing"

	"meridian/trace"
)

func TestGapsTellOfWhatInputsLackAndOfNoOtherWarning(t *testing.T) {
	var w trace.Warnings
	w.Add("a.pcap", "packets are out of order", "by up to 1 ms")
	if got := w.Gaps(); got != "" {
		t.Errorf("%q", got)
	}
	w.Gap("b", "invalid packet skipped", "at offset 8", 1)
	if got := w.Gaps(); got != "the inputs have gaps: b: invalid packet skipped" {
		t.Errorf("%q", got)
	}
	w.Gap("c", "event discarded by the tracer", "", 3)
	if got := w.Gaps(); got != "the inputs have gaps: b: invalid packet skipped; c: event discarded by the tracer (3 times)" || len(w.Lines()) != 3 {
		t.Errorf("%q, %q", got, w.Lines())
	}
	for _, file := range []string{"d", "e", "f"} {
		w.Gap(file, "cut short", "", 1)
	}
	if got := w.Gaps(); !strings.HasSuffix(got, "; d: cut short; and 2 more") {
		t.Errorf("%q", got)
	}
	if (*trace.Warnings)(nil).Gaps() != "" {
		t.Error("no warnings tell of gaps")
	}
}

func TestWarningsHandedOnAreTheSame(t *testing.T) {
	var w, other trace.Warnings
	w.Add("a.pcap", "header cut short", "packet 3")
	w.AddN("", "packets left out", "", 7)
	w.Gap("b.pcap", "cut short", "", 2)
	w.Add("a.pcap", "header cut short", "packet 9")
	other.AddAll(w.All())
	if got, want := other.Lines(), w.Lines(); !slices.Equal(got, want) || other.Gaps() != w.Gaps() {
		t.Errorf("%q and %q, want %q and %q", got, other.Gaps(), want, w.Gaps())
	}
	if (*trace.Warnings)(nil).All() != nil {
		t.Error("nil warnings are not none")
	}
}
