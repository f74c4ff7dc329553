// Package planned exchanges clock probes with other hosts as a file says, and follows the file's changes. It is a source of the
// recorder: the probes are events of the trace that is recorded, by which alignment bounds the clocks of hosts that have no other
// traffic.
//
//	PLAN (JSON) --> Source --probes--> recorder
//	PLAN.state  <----'
//
// Whoever plans (a person, an agent) replaces PLAN and reads PLAN.state. Either side survives the other.
package planned

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"meridian/internal/probe"
	"meridian/internal/probe/probetrace"
	"meridian/internal/record"
	"meridian/internal/synchroniser"
)

// Times of a source.
const (
	lookEvery   = 500 * time.Millisecond // at the file
	stateEvery  = time.Second
	silentAfter = 3 * time.Second // where no answer ever came
	retryAfter  = 5 * time.Second // what has failed, such as an address that is not there yet
)

// Source exchanges probes while a recorder reads it.
type Source struct {
	*probetrace.Writer
	path string
	warn func(string)
}

// New returns a source that follows the plan at path, which need not be there yet. A line of warn is what people should know: a plan
// that cannot be used, for one. Any goroutine calls it.
func New(path string, warn func(string)) *Source {
	return &Source{probetrace.NewSource(), path, warn}
}

// Read is of [record.Source].
func (s *Source) Read(ctx context.Context, each func(*record.Event) error) error {
	probing, stop := context.WithCancel(ctx)
	defer stop()
	writing, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer end() // the writer ends behind the last probe
		select {
		case <-s.Ready():
			s.probe(probing)
		case <-probing.Done():
		}
	}()
	err := s.Writer.Read(writing, each)
	stop()
	<-over
	return err
}

// probing is what goes on.
type probing struct {
	s     *Source
	plan  Plan
	seen  os.FileInfo // of the plan that is in use, or is refused
	state State

	server    *task
	listening string // the address and key of the server
	asked     []*asked
}

// asked is a host that is asked.
type asked struct {
	peer Peer
	key  string
	task *task
	sync *synchroniser.Synchroniser // nil while it cannot be asked
}

// task is a goroutine that ends with a context, or by itself when it has failed.
type task struct {
	stop context.CancelFunc
	done chan struct{}
	err  error     // when done is closed
	at   time.Time // when it began
}

// failed reports whether a task has ended by itself.
func (t *task) failed() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func (t *task) end() {
	t.stop()
	<-t.done
}

// begin runs a function until the context is done.
func begin(ctx context.Context, run func(context.Context) error) *task {
	ctx, stop := context.WithCancel(ctx)
	t := &task{stop: stop, done: make(chan struct{}), at: time.Now()}
	go func() {
		defer close(t.done)
		defer stop()
		t.err = run(ctx)
	}()
	return t
}

// over is a task that could not begin.
func over(err error) *task {
	t := &task{stop: func() {}, done: make(chan struct{}), err: err, at: time.Now()}
	close(t.done)
	return t
}

// probe exchanges probes until the context is done.
func (s *Source) probe(ctx context.Context) {
	p := &probing{s: s}
	defer p.end()
	look, tell := time.NewTicker(lookEvery), time.NewTicker(stateEvery)
	defer look.Stop()
	defer tell.Stop()
	for {
		p.look()
		p.follow(ctx)
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		case <-tell.C:
			p.tell()
		}
	}
}

// look reads the plan if it has changed. One that cannot be used changes nothing.
func (p *probing) look() {
	info, err := os.Stat(p.s.path)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			p.refuse(err)
		}
		return
	}
	if p.seen != nil && os.SameFile(p.seen, info) && p.seen.ModTime().Equal(info.ModTime()) && p.seen.Size() == info.Size() {
		return
	}
	p.seen = info
	plan, err := Read(p.s.path)
	if err != nil {
		p.refuse(err)
		return
	}
	p.plan, p.state.Error = plan, ""
}

// refuse says once why the plan cannot be used.
func (p *probing) refuse(err error) {
	if text := err.Error(); text != p.state.Error {
		p.state.Error = text
		p.s.warn(text)
	}
}

// follow does what the plan says and is not done yet.
func (p *probing) follow(ctx context.Context) {
	p.answer(ctx)
	p.asked = slices.DeleteFunc(p.asked, func(a *asked) bool {
		planned := slices.ContainsFunc(p.plan.Ask, a.peer.same) && a.key == p.plan.Key
		if planned && !(a.task.failed() && time.Since(a.task.at) > retryAfter) {
			return false
		}
		a.task.end()
		return true
	})
	for _, peer := range p.plan.Ask {
		at := slices.IndexFunc(p.asked, func(a *asked) bool { return a.peer.same(peer) })
		if at < 0 {
			p.asked = append(p.asked, p.ask(ctx, peer))
		} else if a := p.asked[at]; a.peer.Rate != peer.Rate {
			a.setRate(peer)
		}
	}
}

// answer answers at the address of the plan.
func (p *probing) answer(ctx context.Context) {
	wanted := p.plan.Listen + " " + p.plan.Key
	if p.server != nil && p.listening == wanted && !(p.server.failed() && time.Since(p.server.at) > retryAfter) {
		return
	}
	if p.server != nil {
		p.server.end()
	}
	p.server, p.listening, p.state.Listening = nil, wanted, ""
	if p.plan.Listen == "" {
		return
	}
	key, err := p.plan.key()
	var server *probe.Server
	if err == nil {
		server, err = probe.Listen(ctx, p.plan.Listen, probe.Options{Key: key, Record: p.s.Record})
	}
	if err != nil {
		p.refuse(fmt.Errorf("probes are not answered at %s: %w", p.plan.Listen, err))
		p.server = over(err)
		return
	}
	p.state.Listening = server.Addr().String()
	p.server = begin(ctx, server.Serve)
}

// ask begins to ask a host.
func (p *probing) ask(ctx context.Context, peer Peer) *asked {
	a := &asked{peer: peer, key: p.plan.Key}
	key, err := p.plan.key()
	if err == nil {
		o := synchroniser.Options{Probe: probe.Options{Key: key, Rate: peer.rate(), Record: p.s.Record}}
		a.sync, err = synchroniser.New(ctx, o, synchroniser.Target{Name: peer.Name, Address: peer.Address})
	}
	if err != nil {
		a.task = over(err)
		return a
	}
	a.task = begin(ctx, a.sync.Run)
	return a
}

// setRate has a host asked at another rate from now on. What is known of its clock stays.
func (a *asked) setRate(peer Peer) {
	if a.sync == nil || a.sync.SetRate(0, peer.rate()) == nil {
		a.peer.Rate = peer.Rate
	}
}

// tell writes how it goes.
func (p *probing) tell() {
	p.state.Pairs = p.state.Pairs[:0]
	for _, a := range p.asked {
		p.state.Pairs = append(p.state.Pairs, a.pair())
	}
	if err := write(StateFile(p.s.path), &p.state); err != nil {
		p.refuse(err)
	}
}

// pair returns what is known of a host.
func (a *asked) pair() Pair {
	x := Pair{Name: a.peer.Name, Address: a.peer.Address}
	if a.task.failed() {
		x.Silent = true
		if a.task.err != nil {
			x.Error = strings.TrimSpace(a.task.err.Error())
		}
		return x
	}
	s := a.sync.At(0)
	x.Exchanges, x.LeastRTT = s.Exchanges, s.LeastRTT
	x.Silent = s.Silent || s.Exchanges == 0 && time.Since(a.task.at) > silentAfter
	if s.Free.Bounded {
		x.Width = s.Free.Width()
	}
	return x
}

// end stops everything. What was in the state stays there for who reads it last.
func (p *probing) end() {
	if p.server != nil {
		p.server.end()
	}
	for _, a := range p.asked {
		a.task.end()
	}
}
