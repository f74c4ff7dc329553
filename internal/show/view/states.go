package view

import (
	"context"
	"net/url"
	"slices"

	"meridian/internal/cause/thread"
	"meridian/internal/show/index"
	"meridian/trace"
)

// stater sums up states of threads; a [Timeline] and a [Live] do.
type stater interface {
	States(ctx context.Context, from, to int64, wanted func(row int) bool) (*States, error)
}

// mostStates is how many entries are returned.
const mostStates = 5000

// States says what threads did in a stretch.
type States struct {
	States     []thread.StateSum `json:"states"`               // those that took most first
	Left       int               `json:"left"`                 // entries beyond 5,000, the least ones
	Threads    int               `json:"threads"`              // of which there are entries
	Unrecorded int               `json:"unrecorded,omitempty"` // threads of hosts of which no switches were recorded: they are left out
	UpTo       int64             `json:"upTo,omitempty"`       // the instant after which no event of threads was read, where there are too many
	Since      int64             `json:"since,omitempty"`      // of a timeline that grows: the instant before which none was
	None       string            `json:"none,omitempty"`       // why there are none
}

// States sums up what the threads on wanted rows did in [from, to).
func (t *Timeline) States(ctx context.Context, from, to int64, wanted func(row int) bool) (*States, error) {
	if !haveSwitches(t.About()) {
		return noStates(), nil
	}
	c, err := t.causesOf()
	if err != nil {
		return nil, err
	}
	return c.states(ctx, from, to, wanted)
}

// States is as for a [Timeline], of the picture in which requests are found.
func (l *Live) States(ctx context.Context, from, to int64, wanted func(row int) bool) (*States, error) {
	if !haveSwitches(l.About()) {
		return noStates(), nil
	}
	r, release, err := l.acquireRequests()
	if err != nil {
		return nil, err
	}
	defer release()
	return r.states(ctx, from, to, wanted)
}

// haveSwitches reports whether a timeline has events of which states of threads are made, so that others are not read for it.
func haveSwitches(a *index.About) bool {
	return slices.ContainsFunc(a.Classes, func(c index.Class) bool {
		return slices.Contains(c.Fields, "prev_tid") && slices.Contains(c.Fields, "next_tid") && slices.Contains(c.Fields, "prev_state")
	})
}

func noStates() *States {
	return &States{States: []thread.StateSum{}, None: "States of threads need the switches of a kernel: meridian record --kernel sched, or sched_switch of LTTng."}
}

func (c *causes) states(ctx context.Context, from, to int64, wanted func(row int) bool) (*States, error) {
	list, err := c.threads.States(ctx, from, to, wanted)
	if err != nil {
		return nil, err
	}
	out := &States{States: list[:min(len(list), mostStates)], Left: max(0, len(list)-mostStates), UpTo: c.upTo, Since: c.since}
	if list == nil {
		out.States = []thread.StateSum{}
		out.None = "No thread that is counted was switched to or from."
	}
	rows := make(map[int]bool)
	for i := range list {
		rows[list[i].Row] = true
	}
	out.Threads = len(rows)
	for i := range c.about.Rows {
		if r := &c.about.Rows[i]; r.Kind == trace.Thread.String() && wanted(i) && !c.threads.Recorded(r.Host) {
			out.Unrecorded++
		}
	}
	return out, nil
}

func (h *handler) states(ctx context.Context, q url.Values) ([]byte, string, error) {
	data, ok := h.data.(stater)
	if !ok {
		return marshalled(&States{States: []thread.StateSum{}, None: "States of threads are not counted here."}, nil)
	}
	from, to, without, err := h.stretch(q)
	if err != nil {
		return nil, "", err
	}
	return marshalled(data.States(ctx, from, to, func(row int) bool { return !without[row] }))
}
