package show

import (
	"strings"
	"time"

	"meridian/clock"
)

// Duration writes a length of time in ns in the unit that suits it, as all that people read has it.
func Duration(ns int64) string { return duration(ns) }

// Count writes a number with a blank between thousands.
func Count(n int64) string { return count(n) }

// Counted writes a number as Count does and what it counts: "1 event", "1 234 events".
func Counted(n int64, what string) string { return counted(n, what) }

// Of says how many events it is of all that there are: "4 events", "3 of 4 events".
func (x *EventRange) Of(all int64) string {
	if x.Events == all {
		return counted(all, "event")
	}
	return count(x.Events) + " of " + counted(all, "event")
}

// Texts says in words how far off a clock is, how fast it runs and how sure that is, as the table does.
func (h *Host) Texts() (offsetText, skewText, boundText string) {
	return optional(h.OffsetNs, offset), skew(h.SkewPPM, h.SkewLowPPM, h.SkewHighPPM), bound(h.BoundNs)
}

// Summary is what the table says below its rows.
func (r *Report) Summary() string {
	var text strings.Builder
	r.complete().summary(&text)
	return strings.TrimSpace(text.String())
}

// PairTexts are the cells of the table of pairs: the two names, messages either way, the least round trip, the fit,
// offset, skew, bound, and the bound if every message is true.
func (r *Report) PairTexts() [][]string {
	rows := [][]string{}
	for _, p := range r.Pairs {
		rows = append(rows, []string{p.A, p.B, count(p.MessagesAB), count(p.MessagesBA), optional(p.MinRTTNs, duration),
			p.Fit, optional(p.OffsetNs, offset), skew(p.SkewPPM, p.SkewLowPPM, p.SkewHighPPM), bound(p.BoundNs), allTrue(p.BoundNs, p.BoundAllTrueNs)})
	}
	return rows
}

// InstantText writes an instant, or a reading of a host's clock, in UTC with all its nanoseconds.
func InstantText[T clock.Time](t T) string {
	return time.Unix(0, int64(t)).UTC().Format("2006-01-02T15:04:05.000000000Z")
}
