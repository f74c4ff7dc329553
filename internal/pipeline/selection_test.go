package pipeline

import (
	"strings"
	"testing"

	"meridian/clock"
)

func TestAnInstantSaysWhatItCountsFrom(t *testing.T) {
	const first, last = 1_000_000_000_000, 1_060_000_000_000
	for text, want := range map[string]clock.TimelineTime{
		"+0s": first, "+1.5s": first + 1_500_000_000, "-500ms": last - 500_000_000, "@1010.25": 1_010_250_000_000, "@0": 0,
		"1970-01-01T00:17:00.5Z": 1_020_500_000_000, "1970-01-01T01:17:00+01:00": 1_020_000_000_000, "@1.000000001": 1_000_000_001,
	} {
		if got, err := parseInstant(text, first, last); err != nil || got != want {
			t.Errorf("%s: %d, %v, not %d", text, got, err, want)
		}
	}
	for _, text := range []string{"10", "0", "1767225600", "1767225600.5", "1e9", "7.25"} {
		if _, err := parseInstant(text, first, last); err == nil || !strings.Contains(err.Error(), "a number alone") || !strings.Contains(err.Error(), "(+"+text+"s)") || !strings.Contains(err.Error(), "(@"+text+")") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"+10", "--1s", "@", "@-1", "@1.0000000001", "@1e9", "10s", "yesterday", "2026-01-02", "inf", "nan", "@9999999999"} {
		if _, err := parseInstant(text, first, last); err == nil || !strings.Contains(err.Error(), "want +DURATION") {
			t.Errorf("%s: %v", text, err)
		}
	}
	// What names the reach of a timeline can be given back.
	for _, at := range []clock.TimelineTime{0, first, 1_767_225_600_123_456_789} {
		if got, err := parseInstant(instantText(at), first, last); err != nil || got != at {
			t.Errorf("%s: %d, %v, not %d", instantText(at), got, err, at)
		}
	}
}
