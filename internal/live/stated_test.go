package live

import (
	"strings"
	"testing"
	"time"

	alignlive "meridian/align/live"
	"meridian/order"
)

// What the user states of hosts holds: which one the timeline follows, and how coarse stamps are. A host that none is of is told.
func TestStatedReferenceAndGranularityHold(t *testing.T) {
	t.Parallel()
	const seconds = 4
	o := Options{Sorter: order.SorterOptions{Frame: 100 * time.Millisecond}, Granularity: map[string]int64{"a": 2_000_000, "none": 1}}
	for _, name := range []string{"a", "b"} {
		o.Align = alignlive.Options{}
		o.Align.Align.Reference = name
		s, got, warnings := followWarned(t, talk(seconds, 41), seconds, o, 1)
		coarse, bounded := 0, 0
		for _, x := range got {
			of := s.Schema().Hosts[x.host]
			switch {
			case x.bounded && of == name && int64(x.low) != int64(x.stamp):
				t.Fatalf("the timeline follows %s, and has its stamp %d at %d", name, x.stamp, x.low)
			case x.bounded && of == "a":
				if bounded++; x.high.Sub(x.low) >= 2*time.Millisecond-1 {
					coarse++
				}
			}
		}
		if bounded < 1000 || coarse < bounded {
			t.Errorf("reference %s: of %d bounded events of a %d have bounds of its granularity", name, bounded, coarse)
		}
		s.Outcome()
		if o := strings.Join(warnings, "\n"); strings.Contains(o, "set") {
			t.Errorf("warnings: %s", o)
		}
		if all := strings.Join(s.warnings.Lines(), "\n"); !strings.Contains(all, "none: no input is of this host") {
			t.Errorf("the warnings lack the host that none is of: %s", all)
		}
	}
}
