//go:build unix

package verdict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"meridian/internal/experiment/file"
	"meridian/internal/pipeline/input"
)

// Loss is what a host's recorders lost. What was lost may have been the event that breaks a check, so no check over events is
// answered yes beside it.
type Loss struct {
	Host    string `json:"host"`
	Events  int64  `json:"events"`
	Packets int64  `json:"packets,omitempty"` // of a trace's streams, with any number of events each
}

func (l Loss) String() string {
	what := fmt.Sprintf("%d events", l.Events)
	switch {
	case l.Events == 0:
		what = fmt.Sprintf("%d packets of events", l.Packets)
	case l.Packets > 0:
		what += fmt.Sprintf(" and %d packets of events", l.Packets)
	}
	return what + " were lost at " + l.Host
}

// lose notes what each host lost: by the counters in its trace or, where that is more, by what its recorders said at their end.
func (r *Report) lose(run *file.Run, counted map[string]input.Lost) {
	said := make(map[string]int64)
	for _, call := range r.calls() {
		if !slices.ContainsFunc(run.Daemons, func(d file.Daemon) bool { return d.Name == call.Daemon && d.Use == "record" }) {
			continue // "lost" of other daemons is of something else
		}
		var result struct {
			Lost int64 `json:"lost"`
		}
		if json.Unmarshal(call.Result, &result) == nil {
			said[call.Host] += result.Lost
		}
	}
	for _, h := range run.Hosts {
		l := Loss{Host: h.Name, Events: max(counted[h.Name].Events, said[h.Name]), Packets: counted[h.Name].Packets}
		if l.Events > 0 || l.Packets > 0 {
			r.Timeline.Lost = append(r.Timeline.Lost, l)
		}
	}
}

// lossWarnings has a line for each host that lost events.
func (r *Report) lossWarnings() (lines []string) {
	if r.Timeline == nil {
		return nil
	}
	for _, l := range r.Timeline.Lost {
		lines = append(lines, l.String())
	}
	return lines
}

// lostEvents says what was lost at all hosts; "" if nothing was.
func (r *Report) lostEvents() string { return strings.Join(r.lossWarnings(), ", ") }
