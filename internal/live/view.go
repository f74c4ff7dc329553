package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"meridian/clock"
	"meridian/internal/filter"
	"meridian/internal/pipeline/usage"
	"meridian/internal/show"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/order"
	"meridian/trace"
)

// ViewOptions say what is shown.
type ViewOptions struct {
	Select filter.Options
	// Index is the directory of the index; "" for a temporary one, which is removed.
	Index string
	// KeepTime and KeepBytes bound what the directory of the index keeps; 0 keeps all.
	KeepTime  time.Duration
	KeepBytes int64
	MinDelay  int64 // of a message, ns: a faster one is a violation
	// SealInterval is how often what was shown is written to disk; 0 is 30 s.
	SealInterval time.Duration
	// Dropped, unless nil, is called when something is dropped for the first time, from a goroutine of the viewer.
	Dropped func()
}

// Viewer shows the events of directories as they come: it publishes pictures of the timeline to a [view.Live].
type Viewer struct {
	s       *Session
	p       *pictures
	to      *view.Live
	kept    bool
	removed string // the directory of an index that is not kept
}

// OpenViewer prepares to show directories, and goes on with an index that is kept. Run must follow.
func OpenViewer(o Options, v ViewOptions, to *view.Live, w *trace.Warnings) (*Viewer, error) {
	if err := v.Select.Check(); err != nil {
		return nil, &usage.Error{Reason: err.Error()}
	}
	if v.Index != "" && v.Select.Fields != nil {
		return nil, usage.Errorf("an index that is kept has all fields; leave out --field, or the directory of the index")
	}
	o.Rows, o.Messages, o.Doubts = true, true, true
	v.Select.Always = DoubtEvent
	s, err := New(o, w)
	if err != nil {
		return nil, &usage.Error{Reason: err.Error()}
	}
	x := &Viewer{s: s, to: to, kept: v.Index != ""}
	dir := v.Index
	if !x.kept {
		if dir, err = os.MkdirTemp("", "meridian-view-"); err != nil {
			return nil, errors.Join(err, s.close())
		}
		x.removed = dir
	}
	if x.p, err = openPictures(s, v, dir, to, w); err != nil {
		return nil, errors.Join(err, s.close(), x.remove())
	}
	return x, nil
}

func (x *Viewer) remove() error {
	if x.removed == "" {
		return nil
	}
	return os.RemoveAll(x.removed)
}

// Run shows what comes until ctx ends, which is no error.
func (x *Viewer) Run(ctx context.Context) (_ *Outcome, err error) {
	defer x.to.End()
	defer func() { err = errors.Join(err, x.remove()) }()
	p := x.p
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.seal()
	}()
	err = x.s.Run(ctx)
	close(p.work)
	<-done
	if err == nil && x.kept {
		if err = p.sealAll(x.s); errors.Is(err, index.ErrFull) {
			p.noRoom()
			err = nil
		}
	}
	select {
	case failure := <-p.failed:
		err = errors.Join(err, failure)
	default:
	}
	o := x.s.Outcome()
	if _, tail := p.index.Events(); x.kept {
		o.Unwritten = tail
	}
	return o, errors.Join(err, p.index.Close())
}

// openPictures makes the sink of a session, with an index in a directory, and goes on where that ends.
func openPictures(s *Session, v ViewOptions, dir string, to *view.Live, w *trace.Warnings) (*pictures, error) {
	f := filter.New(s.Schema(), v.Select)
	x, resume, err := index.OpenLive(dir, f.Schema(), index.Options{MinDelay: v.MinDelay, KeepTime: int64(v.KeepTime), KeepBytes: v.KeepBytes})
	if err != nil {
		return nil, err
	}
	if resume != nil {
		if err := s.resume(resume); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), x.Close())
		}
	}
	f.To(x)
	if v.SealInterval == 0 {
		v.SealInterval = sealInterval
	}
	p := &pictures{session: s, seals: v.SealInterval, dir: dir, index: x, filter: f, to: to, warnings: w, dropped: v.Dropped, work: make(chan func() error, 1), failed: make(chan error, 1)}
	s.To(p)
	s.rhythm = publishInterval
	return p, nil
}

// How often the timeline is published at most, and how long events stay in memory alone.
const (
	publishInterval = 100 * time.Millisecond
	sealInterval    = 30 * time.Second
)

// pictures is the sink that makes pictures of what has come.
type pictures struct {
	session  *Session
	dir      string // of the index
	index    *index.Live
	filter   *filter.Filter
	to       *view.Live
	warnings *trace.Warnings
	dropped  func()            // is called once; nil afterwards
	work     chan func() error // seals to finish
	failed   chan error        // the first failure of one
	seals    time.Duration     // how often

	published time.Duration // when, since the session began
	sealed    time.Duration
	events    int64 // that were published
	maps      int64 // the version of the maps that were
	began     bool
	hosts     []clock.TimelineTime // latest event shown, by host
}

func (p *pictures) Write(e *trace.TimelineEvent, _ order.Note) error {
	if !p.began {
		p.began = true
		p.index.Begin(p.session.first(e.Time))
	}
	for len(p.hosts) <= e.Host {
		p.hosts = append(p.hosts, 0)
	}
	p.hosts[e.Host] = max(p.hosts[e.Host], e.Time)
	return p.filter.Write(e)
}

// Step publishes a picture if it is time, and has the tail written to disk if that is due.
func (p *pictures) Step(s *Session) error {
	select {
	case err := <-p.failed:
		return err
	default:
	}
	now := time.Duration(s.elapsed())
	all, tail := p.index.Events()
	if tail > 0 && (p.index.Due() || now-p.sealed >= p.seals) {
		if err := p.freeze(s, now); err != nil {
			return err
		}
	}
	maps := s.Maps().Version
	if all == 0 || now-p.published < publishInterval || all == p.events && maps == p.maps && now-p.published < time.Second {
		return nil
	}
	p.published, p.events = now, all
	report := p.report(s)
	return p.to.Publish(p.index.View(), report, p.status(s))
}

// freeze begins a seal, unless the one before is still being written.
func (p *pictures) freeze(s *Session, now time.Duration) error {
	if len(p.work) > 0 {
		return nil
	}
	resume, err := s.resumption()
	if err != nil {
		return err
	}
	finish, err := p.index.Freeze(resume)
	if err != nil {
		return err
	}
	p.sealed = now
	p.work <- finish
	return nil
}

// sealAll writes all that is in memory alone.
func (p *pictures) sealAll(s *Session) error {
	resume, err := s.resumption()
	if err != nil {
		return err
	}
	return p.index.Seal(resume)
}

// seal writes what is frozen, and merges segments, until there is no more work.
func (p *pictures) seal() {
	for finish := range p.work {
		err := finish()
		if err == nil {
			var dropped bool
			if dropped, err = p.index.Drop(); dropped {
				p.warnings.Add(p.dir, "the oldest part of the index was dropped, as --keep says", "")
				if p.dropped != nil {
					p.dropped()
					p.dropped = nil
				}
			}
		}
		for more := true; more && err == nil; {
			more, err = p.index.Compact()
		}
		if index.Full(err) { // segments that could not be merged stay as they are
			if errors.Is(err, index.ErrFull) {
				p.noRoom()
			}
			continue
		}
		if err != nil {
			p.failed <- fmt.Errorf("writing the index: %w", err)
			for finish := range p.work {
				_ = finish() // each one must be called
			}
			return
		}
	}
}

// noRoom says that the index is in memory alone from now on.
func (p *pictures) noRoom() {
	p.warnings.Add(p.dir, "no room on the disk of the index: what comes is in memory only, the last million events or so", "")
}

// status says how late the picture is.
func (p *pictures) status(s *Session) view.Status {
	stats := s.stats()
	x := view.Status{Now: s.Now(), Frame: s.frame(), Late: stats.Late, Behind: -1}
	for i := range s.rows.Hosts {
		h := view.HostStatus{Bound: s.boundText(i)}
		if i < len(p.hosts) && p.hosts[i] != 0 { // by the present of its own component
			h.Behind = behind(s.presentOf(i), p.hosts[i])
			if x.Behind < 0 || h.Behind < x.Behind {
				x.Behind = h.Behind
			}
		}
		for _, in := range s.inputs {
			if in.host == i {
				h.Lost += in.loss().Sum()
			}
		}
		x.Lost += h.Lost
		x.Hosts = append(x.Hosts, h)
	}
	x.Behind = max(x.Behind, 0)
	return x
}

// behind is how far an instant is behind the present, 0 for none.
func behind(now, at clock.TimelineTime) int64 {
	if at == 0 {
		return 0
	}
	return max(clock.Sub(now, at), 0)
}

// boundText says how well the clock of a host is known now.
func (s *Session) boundText(host int) string {
	if s.alone {
		return ""
	}
	for _, in := range s.inputs {
		if in.host != host || !in.began {
			continue
		}
		p := s.place(in.number, in.event.Time)
		if !p.Bounded {
			return "unbounded"
		}
		return "±" + show.Duration(max(clock.Sub(p.High, p.At), clock.Sub(p.At, p.Low)))
	}
	return ""
}

// report is what is known of the clocks beside the events.
func (p *pictures) report(s *Session) *view.Report {
	maps := s.Maps()
	r := &view.Report{Warnings: append(p.warnings.Lines(), s.loss().Reasons()...), Summary: "Live: clocks are aligned while messages come."}
	if a := s.assumes(); a != "" {
		r.Summary += " Their " + a + "."
	}
	if s.alone {
		r.Summary = "Live: stamps are as they are recorded."
	}
	for i, host := range s.rows.Hosts {
		h := index.HostReport{Reference: host, Addresses: []string{}, Bound: s.boundText(i)}
		for _, a := range s.packets.addressesOf(host) {
			h.Addresses = append(h.Addresses, a.String())
		}
		for _, in := range s.inputs {
			if in.host == i && !s.alone {
				_, h.Component = maps.Map(in.number)
			}
		}
		r.Hosts = append(r.Hosts, h)
	}
	for _, m := range s.rows.Maps {
		r.Clocks = append(r.Clocks, view.ClockReport{Component: m.Component})
	}
	for _, o := range s.set.told() {
		r.Set = append(r.Set, o)
	}
	p.maps = maps.Version
	return r
}
