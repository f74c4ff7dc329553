package trace_test

import (
	"slices"
	"testing"

	"meridian/trace"
)

func TestDamagesTellOfWhatWasLeftOutAndOfNoOtherWarning(t *testing.T) {
	var w trace.Warnings
	w.Add("a.pcap", "cut in the middle of a packet", "at the end")
	if got := w.Damages(); got != "" {
		t.Errorf("%q", got)
	}
	w.Damage("b", "invalid packet skipped", "at offset 8", 1)
	if got := w.Damages(); got != "a damaged part of the input is left out: b: invalid packet skipped" {
		t.Errorf("%q", got)
	}
	w.Damage("c", "rest of the packet skipped", "", 3)
	if got := w.Damages(); got != "4 damaged parts of the inputs are left out, first in b: invalid packet skipped" || len(w.Lines()) != 3 {
		t.Errorf("%q, %q", got, w.Lines())
	}
	if (*trace.Warnings)(nil).Damages() != "" {
		t.Error("no warnings tell of damage")
	}
}

func TestWarningsHandedOnAreTheSame(t *testing.T) {
	var w, other trace.Warnings
	w.Add("a.pcap", "header cut short", "packet 3")
	w.AddN("", "packets left out", "", 7)
	w.Damage("b.pcap", "cut short", "", 2)
	w.Add("a.pcap", "header cut short", "packet 9")
	other.AddAll(w.All())
	if got, want := other.Lines(), w.Lines(); !slices.Equal(got, want) || other.Damages() != w.Damages() {
		t.Errorf("%q and %q, want %q and %q", got, other.Damages(), want, w.Damages())
	}
	if (*trace.Warnings)(nil).All() != nil {
		t.Error("nil warnings are not none")
	}
}
