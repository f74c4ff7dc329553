package pipeline

import (
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/pipeline/input"
	"meridian/internal/show"
)

func TestBoundsThatAreNotInOrderAreNamed(t *testing.T) {
	at := func(ns int64) *clock.TimelineTime { v := clock.TimelineTime(ns); return &v }
	for name, c := range map[string]struct {
		knots []show.Knot
		want  bool
	}{
		"in order":             {[]show.Knot{{HostNs: 5, TimelineNs: 5, LowNs: at(4), HighNs: at(6)}, {HostNs: 7, TimelineNs: 7, LowNs: at(7), HighNs: at(7)}}, false},
		"unbounded":            {[]show.Knot{{HostNs: 5, TimelineNs: 5}, {HostNs: 6, TimelineNs: 6, LowNs: at(5)}}, false},
		"low behind estimate":  {[]show.Knot{{HostNs: 5, TimelineNs: 5, LowNs: at(6), HighNs: at(9)}}, true},
		"high before estimate": {[]show.Knot{{HostNs: 5, TimelineNs: 5, HighNs: at(4)}}, true},
	} {
		got := crossedBounds([]show.Host{{Name: "a", Map: c.knots}})
		if (len(got) == 1) != c.want || c.want && !strings.Contains(got[0], "the bounds of a contradict themselves at 1970-01-01T00:00:00.000000005Z") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// caseInputs are the captures of a case: a.pcap and b.pcap.
func caseInputs(name string) []input.Trace {
	dir := filepath.Join("testdata", "cases", name)
	return []input.Trace{{Host: "a", Path: filepath.Join(dir, "a.pcap.gz")}, {Host: "b", Path: filepath.Join(dir, "b.pcap.gz")}}
}

// One timestamp of the case is late, and the bounds exclude its message: both its events are named.
func TestTheWorstMessageThatTheBoundsExcludeIsNamedByItsEvents(t *testing.T) {
	_, outcome := csvRows(t, caseInputs("one-late-stamp"), Options{})
	all := strings.Join(outcome.Warnings, "\n")
	for _, part := range []string{"of the messages that the bounds exclude the worst left a at 2026-01-01T00:00:0", "and came to b at 2026-01-01T00:00:0", "by the bounds it came at least"} {
		if !strings.Contains(all, part) {
			t.Errorf("%q is not in %q", part, all)
		}
	}
	_, outcome = csvRows(t, caseInputs("one-late-stamp-control"), Options{})
	if all := strings.Join(outcome.Warnings, "\n"); strings.Contains(all, "exclude") || len(outcome.Broken) > 0 {
		t.Errorf("%q, %q", all, outcome.Broken)
	}
}
