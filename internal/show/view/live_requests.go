package view

import (
	"cmp"
	"context"
	"time"

	"meridian/internal/show/index"
)

// liveRequests are the requests of one picture, which stays open for their paths. [Live] guards what changes.
type liveRequests struct {
	causes
	picture *picture
	made    time.Time
	took    time.Duration
	asked   time.Time
	readers int
	old     bool
}

const (
	// mostLiveEvents is how many events, the latest ones, are looked through for requests each time: some 100 bytes of memory each.
	mostLiveEvents = 4 << 20
	// restShare is how many times as long as requests took to find they are good, while the timeline grows on.
	restShare = 4
	// unasked is how long requests are held that nobody asks for.
	unasked = 30 * time.Second
)

// pictureSource is a picture as what requests are found in.
type pictureSource struct {
	*index.View
	report *Report
}

func (s pictureSource) About() *index.About { return s.report.over(s.View.About()) }

// acquireRequests returns the requests of the newest picture, or of one shortly before it, to be released.
func (l *Live) acquireRequests() (*liveRequests, func(), error) {
	if r := l.freshRequests(); r != nil {
		return r, func() { l.releaseRequests(r) }, nil
	}
	l.making.Lock()
	defer l.making.Unlock()
	if r := l.freshRequests(); r != nil { // another has found them meanwhile
		return r, func() { l.releaseRequests(r) }, nil
	}
	p, release := l.acquire()
	if p == nil {
		return nil, nil, errNothing
	}
	r := &liveRequests{picture: p, made: time.Now(), readers: 1}
	err := r.find(mostLiveEvents)
	if err != nil {
		release()
		return nil, nil, err
	}
	r.took = time.Since(r.made)
	l.mu.Lock()
	defer l.mu.Unlock()
	r.asked = time.Now()
	l.replaceRequests(r)
	return r, func() { l.releaseRequests(r) }, nil
}

// find finds the requests of the latest events.
func (r *liveRequests) find(most int64) error {
	v := r.picture.view
	if r.first = max(0, v.About().Events-most); r.first > 0 {
		list, err := v.Events(r.first, 1)
		if err != nil || len(list) == 0 { // dropped from the index: what is there comes later
			r.first = 0
		} else {
			r.since = max(1, list[0].At)
		}
	}
	if err := r.build(pictureSource{v, r.picture.report}); err != nil {
		return err
	}
	return r.err
}

// freshRequests returns those that there are, if they are new enough.
func (l *Live) freshRequests() *liveRequests {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.requests
	if r == nil || r.picture != l.picture && (l.over || time.Since(r.made) > restShare*r.took) {
		return nil
	}
	r.asked = time.Now()
	r.readers++
	return r
}

// replaceRequests is called with mu held.
func (l *Live) replaceRequests(by *liveRequests) {
	old := l.requests
	l.requests = by
	if old != nil {
		old.old = true
		old.closeUnread()
	}
}

func (l *Live) releaseRequests(r *liveRequests) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.readers--
	r.closeUnread()
}

// closeUnread lets go of the picture when the requests were replaced and nobody reads them. It is called with mu held.
func (r *liveRequests) closeUnread() {
	if r.old && r.readers == 0 {
		r.picture.readers--
		_ = r.picture.closeUnread() // files that were read, and are removed
	}
}

// Requests lists the requests that a query chooses, of the latest 4,194,304 events.
func (l *Live) Requests(q RequestQuery) (*RequestList, error) {
	r, release, err := l.acquireRequests()
	if err != nil {
		return nil, err
	}
	defer release()
	list := r.requests(q)
	l.noteContradiction(list.Contradiction)
	l.read(func(p *picture) { list.Behind = max(0, p.view.About().Events-r.about.Events) })
	return list, nil
}

// noteContradiction keeps the first one that requests were listed with.
func (l *Live) noteContradiction(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.contradiction = cmp.Or(l.contradiction, text)
}

// Contradiction says that requests were listed that cannot be, and names two events; "" for none.
func (l *Live) Contradiction() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.contradiction
}

// Path is as for a [Timeline]. The number of a request changes while the timeline grows.
func (l *Live) Path(request int) (*Path, error) {
	r, release, err := l.acquireRequests()
	if err != nil {
		return nil, err
	}
	defer release()
	return r.path(request)
}

// PathOf is as for a [Timeline].
func (l *Live) PathOf(request int, event, last int64) (*Path, error) {
	r, release, err := l.acquireRequests()
	if err != nil {
		return nil, err
	}
	defer release()
	return r.pathOf(request, event, last)
}

// PathBetween is as for a [Timeline].
func (l *Live) PathBetween(from, to int64) (*Path, error) {
	r, release, err := l.acquireRequests()
	if err != nil {
		return nil, err
	}
	defer release()
	return r.between(from, to)
}

// Numbers is as for an [index.Index], of the newest picture.
func (l *Live) Numbers(ctx context.Context, from, to int64, wanted func(row int) bool) (n *index.Numbers, err error) {
	if !l.read(func(p *picture) { n, err = p.view.Numbers(ctx, from, to, wanted) }) {
		err = errNothing
	}
	return n, err
}

// Delayed is as for an [index.Index], of the newest picture.
func (l *Live) Delayed(ctx context.Context, from, to int, least, most int64, n int) (d *index.Delayed, err error) {
	if !l.read(func(p *picture) { d, err = p.view.Delayed(ctx, from, to, least, most, n) }) {
		err = errNothing
	}
	return d, err
}
