package view

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"meridian/clock"
	"meridian/internal/show"
	"meridian/internal/show/index"
)

// Live is the timeline of traces that are still being recorded: each picture of it replaces the one before. It is [Data] for the page,
// which is told of new pictures by server-sent events (docs/viewer.md). One goroutine publishes, any number ask.
type Live struct {
	mu      sync.Mutex
	picture *picture // nil: nothing has come yet
	origin  clock.TimelineTime
	fresh   chan struct{} // closed at the next picture
	ended   chan struct{} // closed when no more will come
	over    bool

	making   sync.Mutex    // requests are found by one at a time
	requests *liveRequests // nil: none were asked for lately

	contradiction string // of requests that were listed
}

// picture is a view of the index with what is known beside it. It is closed when it was replaced and nobody reads it.
type picture struct {
	view    *index.View
	report  *Report
	status  Status
	readers int
	old     bool
}

// Status is what the page is told of a picture beside what has grown.
type Status struct {
	Now    clock.TimelineTime // the present on the timeline
	Behind int64              // ns that the latest event shown is behind the present
	Frame  int64              // ns that an event waits for earlier ones
	Lost   int64              // events and packets that are known to be lacking
	Late   int64              // events that came after later ones were shown
	Hosts  []HostStatus       // in the order of about
}

// HostStatus is how one host does.
type HostStatus struct {
	Behind int64  `json:"behind"` // ns that its latest event is behind the present
	Lost   int64  `json:"lost"`
	Bound  string `json:"bound"` // of its clock now, as a text
}

// NewLive returns a timeline without a picture.
func NewLive() *Live { return &Live{fresh: make(chan struct{}), ended: make(chan struct{})} }

// Publish replaces the picture. It takes the view over; the report is not to be changed any more.
func (l *Live) Publish(v *index.View, r *Report, s Status) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.picture
	if old == nil {
		l.origin = v.About().Origin
	}
	l.picture = &picture{view: v, report: r, status: s}
	close(l.fresh)
	l.fresh = make(chan struct{})
	if r := l.requests; r != nil && time.Since(r.asked) > unasked {
		l.replaceRequests(nil)
	}
	if old == nil {
		return nil
	}
	old.old = true
	return old.closeUnread()
}

// End says that no more pictures will come. What was published stays.
func (l *Live) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.ended)
	}
}

// Close closes the last picture. Nothing may be asked afterwards.
func (l *Live) Close() error {
	l.End()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaceRequests(nil)
	if l.picture == nil {
		return nil
	}
	l.picture.old = true
	return l.picture.closeUnread()
}

func (p *picture) closeUnread() error {
	if p.old && p.readers == 0 {
		return p.view.Close()
	}
	return nil
}

// acquire returns the newest picture, which stays open until it is released; nil if there is none.
func (l *Live) acquire() (p *picture, release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p = l.picture; p == nil {
		return nil, nil
	}
	p.readers++
	return p, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		p.readers--
		_ = p.closeUnread() // files that were read, and are removed
	}
}

// read gives the newest picture to ask; false if there is none.
func (l *Live) read(ask func(*picture)) bool {
	p, release := l.acquire()
	if p == nil {
		return false
	}
	defer release()
	ask(p)
	return true
}

// errNothing is the answer while nothing has been recorded.
var errNothing = fmt.Errorf("nothing has been recorded yet")

// About is what the page is told first.
func (l *Live) About() (a *index.About) {
	l.read(func(p *picture) { a = p.report.over(p.view.About()) })
	if a == nil {
		a = new(index.About)
	}
	a.Live = true
	return a
}

// Reach returns the number of hosts and the top level.
func (l *Live) Reach() (hosts, top int) {
	l.read(func(p *picture) { hosts, top = p.view.Reach() })
	return hosts, top
}

// Tile returns a tile of the newest picture.
func (l *Live) Tile(group, level int, number int64) (tile []byte, err error) {
	if !l.read(func(p *picture) { tile, err = p.view.Tile(group, level, number) }) {
		err = errNothing
	}
	return tile, err
}

// Events returns events of the newest picture.
func (l *Live) Events(from int64, count int) (events []index.Event, err error) {
	if !l.read(func(p *picture) { events, err = p.view.Events(from, count) }) {
		err = errNothing
	}
	return events, err
}

// Search looks for events of the newest picture.
func (l *Live) Search(text string, after int64, limit int) (found *index.Found, err error) {
	if !l.read(func(p *picture) { found, err = p.view.Search(text, after, limit) }) {
		err = errNothing
	}
	return found, err
}

// Violations returns the messages of the newest picture that break the rules.
func (l *Live) Violations() (v *index.Violations) {
	if !l.read(func(p *picture) { v = p.view.Violations() }) {
		v = new(index.Violations)
	}
	return v
}

// Plots returns no pictures of clocks: those are of clocks over a whole trace.
func (l *Live) Plots() (all []show.Drawing) {
	l.read(func(p *picture) { all = append([]show.Drawing{}, p.report.Plots...) })
	return all
}

// update is a message to the page.
type update struct {
	Growth index.Growth `json:"growth"`
	Now    int64        `json:"now,string"` // ns since the origin
	Behind int64        `json:"behind"`
	Frame  int64        `json:"frame"`
	Lost   int64        `json:"lost"`
	Late   int64        `json:"late"`
	Hosts  []HostStatus `json:"hosts"`
	Ended  bool         `json:"ended"`
}

// update says what there is to know of the newest picture to whom a version was shown; fresh is closed when there is another one.
func (l *Live) update(since int64) (u *update, fresh <-chan struct{}) {
	l.mu.Lock()
	fresh = l.fresh
	over, origin := l.over, l.origin
	l.mu.Unlock()
	l.read(func(p *picture) {
		s := &p.status
		u = &update{Growth: p.view.Growth(since), Now: clock.Sub(s.Now, origin), Behind: s.Behind, Frame: s.Frame, Lost: s.Lost, Late: s.Late,
			Hosts: append([]HostStatus{}, s.Hosts...), Ended: over}
	})
	return u, fresh
}

// How often the page is told of growth at most, and at least.
const (
	leastUpdate = 100 * time.Millisecond
	mostUpdate  = time.Second
)

// serve tells the page of pictures until the request or the timeline ends.
func (l *Live) serve(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	since := int64(0)
	if text := query.Get("since"); err == nil && text != "" {
		since, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "since: want the number of a version")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for {
		u, fresh := l.update(since)
		if u != nil {
			since = u.Growth.Version
			text, err := json.Marshal(u)
			if err != nil {
				return
			}
			// A page that does not read holds up nobody but itself.
			_ = control.SetWriteDeadline(time.Now().Add(10 * time.Second))
			if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil || control.Flush() != nil {
				return
			}
			if u.Ended {
				return
			}
		}
		if !l.wait(r.Context(), fresh) {
			return
		}
	}
}

// wait returns when there is something to tell; false when the request has ended. Pictures come about as often as the page is told of them, so it
// waits for the picture first: a timer that ends before it would wake the process once more.
func (l *Live) wait(ctx context.Context, fresh <-chan struct{}) bool {
	began := time.Now()
	most := time.NewTimer(mostUpdate)
	defer most.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-fresh:
	case <-l.ended:
	case <-most.C:
	}
	soon := leastUpdate - time.Since(began)
	if soon <= 0 {
		return true
	}
	least := time.NewTimer(soon)
	defer least.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-least.C:
	}
	return true
}
