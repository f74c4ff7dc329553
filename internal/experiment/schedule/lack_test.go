//go:build unix

package schedule

import (
	"strings"
	"testing"

	"meridian/internal/experiment/place"
	"meridian/internal/experiment/protocol"
)

// TestFilesThatDoNotComeBreakAPromise: the run went well, and still its results are not whole.
func TestFilesThatDoNotComeBreakAPromise(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reports []protocol.Report
		want    string // "" for nothing
	}{
		"all came":         {[]protocol.Report{{File: &protocol.File{Path: "a/b", Last: true}}, {Gathered: &protocol.Missing{}}}, ""},
		"one half":         {[]protocol.Report{{File: &protocol.File{Path: "a/b"}}, {Gathered: &protocol.Missing{}}}, "file a/b did not come whole"},
		"the host's error": {[]protocol.Report{{Gathered: &protocol.Missing{Error: "no space"}}}, "not all files came: no space"},
		"a path outside":   {[]protocol.Report{{File: &protocol.File{Path: "../x", Last: true}}, {Gathered: &protocol.Missing{}}}, "../x"},
		"the host went":    {nil, "its files did not come"},
	} {
		c := &controller{r: &Result{open: map[int]*Call{}}}
		s := &seat{Seat: &place.Seat{Host: "web"}, files: newReceiver(t.TempDir(), "web")}
		for i := range test.reports {
			c.handle(event{from: s, report: &test.reports[i]})
		}
		c.gathered(s)
		got := strings.Join(c.r.Missing, "\n")
		if len(c.r.Warnings) > 0 || test.want == "" && got != "" || !strings.Contains(got, test.want) || test.want != "" && !strings.Contains(got, "host web") {
			t.Errorf("%s: missing %q, warnings %q; want %q", name, got, c.r.Warnings, test.want)
		}
	}
}
