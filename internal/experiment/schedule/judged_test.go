//go:build unix

package schedule

import (
	"testing"

	"meridian/internal/experiment/place"
	"meridian/internal/experiment/protocol"
)

// TestACheckDecidesAboutAServerThatExits: its phase ended when it was ready, so its exit code is that of no phase.
func TestACheckDecidesAboutAServerThatExits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		exited protocol.Exited
		check  bool // there is one of its exit code
		open   bool // its phase has not ended
		other  bool // the phase was that of another host
		fails  bool
	}{
		"judged":           {exited: protocol.Exited{Code: 3}, check: true},
		"judged, well":     {exited: protocol.Exited{Code: 0}, check: true},
		"not judged":       {exited: protocol.Exited{Code: 3}, fails: true},
		"by a signal":      {exited: protocol.Exited{Code: -1, Signal: "killed"}, check: true, fails: true},
		"broken protocol":  {exited: protocol.Exited{Code: 3, Why: "no JSON"}, check: true, fails: true},
		"within its phase": {exited: protocol.Exited{Code: 3}, check: true, open: true, fails: true},
		"before a phase":   {exited: protocol.Exited{Code: 3}, check: true, other: true, fails: true},
	} {
		s := &seat{Seat: &place.Seat{Host: "web"}, host: &Host{}}
		call := &Call{Number: 1, Host: "web", Daemon: "d", Phase: "run", EndedNs: 1}
		c := &controller{r: &Result{open: map[int]*Call{}, Blocks: []*Block{{Calls: []*Call{call}}}}, anyCode: map[string]bool{"d": test.check}}
		if test.other {
			call.Host = "db"
		}
		if test.open {
			call.EndedNs, c.r.open[1] = 0, call
		}
		test.exited.Daemon = "d"
		if f := c.handle(event{from: s, report: &protocol.Report{Exited: &test.exited}}); (f != nil) != test.fails {
			t.Errorf("%s: %v, want a failure: %v", name, f, test.fails)
		}
	}
}
