package gnuplot

import (
	"io"
	"maps"
	"slices"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// LiveOptions say how a timeline is drawn that goes on; 0 stands for the default.
type LiveOptions struct {
	Window   time.Duration // how much of it is seen: 10 s
	Interval time.Duration // between two pictures: 1 s
	Events   int           // slices, ticks and ends of messages in a picture: 20,000
	Rows     int           // 40
}

// Live is a sink for a timeline that goes on. Its output is for a gnuplot that runs: a script for the last seconds, and
// another one after each interval, for the same window.
//
//	... | gnuplot -p
//
// It keeps what is in the window, so memory does not grow with time. Events may come late.
type Live struct {
	*Writer
	window, interval int64
	due              clock.TimelineTime
}

// NewLive returns a sink whose first picture comes with the first event.
func NewLive(w io.Writer, s *trace.Schema, o LiveOptions) (*Live, error) {
	if o.Events <= 0 {
		o.Events = 20_000
	}
	if o.Window <= 0 {
		o.Window = 10 * time.Second
	}
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	g, err := NewWriter(w, s, Options{Events: o.Events, Rows: o.Rows})
	if err != nil {
		return nil, err
	}
	g.live = true
	return &Live{Writer: g, window: int64(o.Window), interval: int64(o.Interval)}, nil
}

// Advance says that the timeline has come to an instant, and draws if a picture is due.
func (l *Live) Advance(now clock.TimelineTime) error {
	if l.progress.Err != nil || l.progress.Events == 0 || now < l.due {
		return l.progress.Err
	}
	l.due = clock.Add(now, l.interval)
	l.progress.Err = l.picture(now)
	return l.progress.Err
}

// Flush does nothing: a picture is written as a whole.
func (l *Live) Flush() error { return l.progress.Err }

// Close draws the last picture, up to the last event. It does not close what is below.
func (l *Live) Close() error {
	if l.progress.Err == nil && l.progress.Events > 0 {
		l.progress.Err = l.picture(l.last)
	}
	return l.progress.Close()
}

// picture draws the window before an instant. Slices that have not ended last until then.
func (l *Live) picture(now clock.TimelineTime) error {
	last := l.last
	l.first, l.last = clock.Add(now, -l.window), now
	l.forget(l.first)
	drawn := *l.Writer // what is not over yet is over in the picture alone
	drawn.rows, drawn.spent, drawn.arrows = slices.Clone(l.rows), maps.Clone(l.spent), slices.Clone(l.arrows)
	for i := range drawn.rows {
		w := &drawn.rows[i]
		w.slices, w.ticks = slices.Clone(w.slices), slices.Clone(w.ticks)
		for _, s := range w.open {
			s.end = max(now, s.start)
			s.busy = clock.Sub(s.end, s.start)
			s.longest = s.busy
			drawn.spent[int(s.class)] = clock.Add(drawn.spent[int(s.class)], s.busy)
			drawn.kept++
			w.slices = append(w.slices, s)
		}
	}
	err := drawn.draw()
	l.last = last
	return err
}

// forget drops what ended before an instant.
func (l *Live) forget(before clock.TimelineTime) {
	l.kept = 0
	for i := range l.rows {
		w := &l.rows[i]
		w.slices = slices.DeleteFunc(w.slices, func(s slice) bool { return s.end < before })
		w.ticks = slices.DeleteFunc(w.ticks, func(at clock.TimelineTime) bool { return at < before })
		l.kept += len(w.slices) + len(w.ticks)
	}
	l.arrows = slices.DeleteFunc(l.arrows, func(a arrow) bool { return max(a.from.at, a.to.at) < before })
	if l.kept < l.options.Events/4 {
		l.quantum = 0
	}
	if len(l.arrows) < l.mostArrows()/4 {
		l.pace = 0
	}
}
