//go:build unix

package schedule

import (
	"testing"

	"meridian/internal/experiment/place"
	"meridian/internal/experiment/protocol"
)

// TestAShortPhaseEndsAfterItsBegin has the report of the begin come after that of the end, which a host writes first when the phase is
// shorter than it takes to be woken.
func TestAShortPhaseEndsAfterItsBegin(t *testing.T) {
	t.Parallel()
	call := &Call{Number: 7, Host: "a"}
	c := &controller{r: &Result{open: map[int]*Call{7: call}}}
	s := &seat{Seat: &place.Seat{Host: "a"}}
	c.handle(event{from: s, report: &protocol.Report{Ended: &protocol.Ended{Call: 7, BeganNs: 100, AtNs: 130}}})
	c.handle(event{from: s, report: &protocol.Report{Began: []protocol.Began{{Call: 7, AtNs: 150}}}})
	if call.BeganNs != 100 || call.EndedNs != 130 {
		t.Errorf("from %d to %d, want from 100 to 130", call.BeganNs, call.EndedNs)
	}
}
