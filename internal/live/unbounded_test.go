package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/order"
	"meridian/trace"
)

// TestAHostWithoutBoundsIsToldAndWhyIfMessagesGoOneWay leaves out the messages of one direction. With both, nothing is told.
func TestAHostWithoutBoundsIsToldAndWhyIfMessagesGoOneWay(t *testing.T) {
	t.Parallel()
	const seconds = 5
	for _, oneWay := range []bool{false, true} {
		hosts := talk(seconds, 41)
		if oneWay {
			answers := make(map[uint64]bool)
			for _, e := range hosts[1].events {
				if e.Role == trace.Sends {
					answers[e.Flow] = true
				}
			}
			for i := range hosts {
				hosts[i].events = slices.DeleteFunc(hosts[i].events, func(e trace.TimelineEvent) bool { return answers[e.Flow] })
			}
		}
		s, got, _ := followWarned(t, hosts, seconds, Options{Sorter: order.SorterOptions{Frame: 200 * time.Millisecond}}, 1)
		o := s.Outcome()
		switch told := strings.Join(o.Unbounded, "\n"); {
		case len(got) == 0 || len(o.Unaligned) > 0:
			t.Errorf("one way %v: %d events, unaligned %q", oneWay, len(got), o.Unaligned)
		case !oneWay && told != "":
			t.Errorf("both ways: %q", told)
		case oneWay && (len(o.Unbounded) != 1 || !strings.Contains(told, "of b have no bounds: its messages go one way only (from a)")):
			t.Errorf("one way: %q", told)
		}
	}
}
