package ship

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/wire"
	"meridian/internal/live/watch"
	"meridian/internal/spool"
)

// Options say what is sent and how. A field that is 0 has the default.
type Options struct {
	Conn          wire.Conn // with an inbox below the host's subjects: nats.CustomInboxPrefix(wire.OfHost(host, "inbox"))
	Host, Session string
	Dir           string
	Replicas      int           // servers that must have everything, 1
	Window        int64         // bytes on the way to each server, 8 MiB
	Chunk         int64         // bytes in a message at most, 256 KiB
	Rate          int64         // bytes a second at most; 0 for any
	Every         time.Duration // how often the directory is looked at, at most, 2 ms: younger packets wait and go together
	Compress      bool          // by zstd
	Classes       Classes       // DefaultClasses
	Held          int64         // bytes of removed files that wait to be sent, at most, 16 MiB
	// Watcher says when Dir may have grown; nil for one that the system tells. Run closes it.
	Watcher *watch.Watcher
	// Ended is closed when nothing is recorded any more; Run then returns when all is acknowledged. nil: never.
	Ended <-chan struct{}
	// Tell adds to what is said of this host each second; nil for nothing.
	Tell func(*wire.AgentStatus)
	// Silent leaves it to others to say how this host stands.
	Silent bool
	// Probing returns what is said of clock probes; nil for none.
	Probing func() *wire.Probing
	Log     func(format string, args ...any) // lines for people; nil for none
	// Boot names the time since the host was started; "" for what the system says. Of a trace of an earlier one servers drop nothing that the
	// directory lacks: a power cut took it there.
	Boot string
}

func (o Options) withDefaults() Options {
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Window == 0 {
		o.Window = 8 << 20
	}
	if o.Chunk == 0 {
		o.Chunk = 256 << 10
	}
	if o.Every == 0 {
		o.Every = 2 * time.Millisecond
	}
	if o.Held == 0 {
		o.Held = 16 << 20
	}
	if o.Classes == nil {
		o.Classes = DefaultClasses
	}
	if o.Boot == "" {
		o.Boot = bootID()
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return o
}

// Pauses of the shipper.
const (
	lookEvery  = 500 * time.Millisecond // where the system gives no notice of growth
	checkEvery = 250 * time.Millisecond // servers that are silent or stuck
	// checksPerStatus is how many checks there are to a status: it comes each second.
	checksPerStatus = 4
	behindEvery     = 10 * time.Millisecond // the directory, while more is to be sent than may be on the way: a mark passes it
)

// Summary is what became of a trace, since the account of its directory began.
type Summary = spool.Sum

// Shipper publishes a directory. Run it once.
type Shipper struct {
	o       Options
	d       *directory
	plan    plan
	account *account

	peers     map[string]*peer
	troubles  troubles
	acks      chan wire.Ack
	statuses  chan wire.ServerStatus
	opened    chan answer
	copies    chan copied
	told      chan looked
	asking    bool // a server was asked what it has of files that are settled
	copying   bool // a server was asked to send another something
	copyAfter time.Time
	sumsAfter time.Time     // when a server may be asked for checksums
	level     bool          // of what is gone no server had less than another when that was looked at last
	data      string        // the subject of chunks for all servers
	hello     string        // where servers answer that they are there
	words     chan struct{} // the directory may have grown
	behind    atomic.Bool   // more is to be sent than may be on the way
	fell      chan struct{} // it was not so before
	grew      atomic.Bool   // a look at the directory has found more
	z         *zstd.Encoder
	raw, out  []byte
	message   int64   // bytes that a message may carry
	budget    float64 // bytes that Rate permits now
	spent     time.Time
	checks    int
	ended     bool
	warned    string
	unread    error // why the directory could not be read to its end when it was looked at last
}

// answer is what a server answered.
type answer struct {
	from   string
	opened wire.Opened
	err    error
	sums   bool // only checksums were asked for
	listen bool // only that the server takes the metadata
}

// New returns a shipper.
func New(o Options) (*Shipper, error) {
	o = o.withDefaults()
	if err := errors.Join(wire.CheckHost(o.Host), wire.CheckSession(o.Session)); err != nil {
		return nil, err
	}
	if own := wire.OfHost(o.Host, "inbox"); o.Conn.InboxPrefix() != own {
		return nil, fmt.Errorf("answers on the connection go to %q, and servers answer host %s at %s only", o.Conn.InboxPrefix(), o.Host, own)
	}
	s := &Shipper{
		o: o, d: newDirectory(o.Dir, o.Classes), peers: make(map[string]*peer),
		data: wire.OfHost(o.Host, "data"), acks: make(chan wire.Ack, 256), statuses: make(chan wire.ServerStatus, 64), opened: make(chan answer, 16), copies: make(chan copied, 16), told: make(chan looked, 1), words: make(chan struct{}, 1), fell: make(chan struct{}, 1),
	}
	s.d.boot = s.o.Boot
	s.o.Chunk = min(s.o.Chunk, wire.MaxRange)
	s.plan = plan{d: s.d, window: s.o.Window, chunk: s.o.Chunk}
	s.account = newAccount(&s.plan, o.Replicas, o.Held, o.Log)
	if o.Compress {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return nil, err
		}
		s.z = z
	}
	return s, nil
}

// Run sends until ctx ends, or until the recording has ended and all of it is acknowledged.
func (s *Shipper) Run(ctx context.Context) (sum Summary, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all errgroup.Group
	defer func() {
		cancel()
		err = errors.Join(err, all.Wait(), s.account.save(), s.d.close())
	}()
	for subject, take := range map[string]nats.MsgHandler{
		wire.OfHost(s.o.Host, "ack"): take(ctx, s.acks), wire.AllServersAlive: take(ctx, s.statuses),
	} {
		sub, err := s.o.Conn.Subscribe(subject, 0, take)
		if err != nil {
			return sum, err
		}
		defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	}
	s.hello = s.o.Conn.NewInbox()
	sub, err := s.o.Conn.Subscribe(s.hello, 0, take(ctx, s.statuses))
	if err != nil {
		return sum, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	all.Go(func() error { return s.watch(ctx) })
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	ended := s.o.Ended
	if err := s.scan(); err != nil {
		return s.account.sum(), err
	}
	s.say(s.account.sum())
	for {
		later, err := s.send(time.Now())
		if err != nil {
			return s.account.sum(), err
		}
		if s.ended && s.complete() {
			sum := s.account.sum()
			s.say(sum)
			_ = s.o.Conn.FlushTimeout(openWithin) // of the status, which nothing depends on
			return sum, nil
		}
		var more <-chan time.Time
		if later > 0 {
			more = time.After(later)
		}
		select {
		case <-ctx.Done():
			return s.final(), s.unread
		case <-ended:
			ended, s.ended = nil, true
			err = s.scan()
			s.account.update(time.Now(), s.peers)
		case <-s.words:
			err = s.scan()
		case a := <-s.acks:
			s.acked(a)
		case x := <-s.statuses:
			s.meet(ctx, &all, x)
		case a := <-s.opened:
			err = s.open(a)
		case c := <-s.copies:
			s.copied(c, time.Now())
			err = s.fill(ctx, &all)
		case l := <-s.told:
			s.released(l)
		case <-check.C:
			err = s.tend(ctx, &all, time.Now())
		case <-more:
		}
		if err != nil {
			return s.account.sum(), err
		}
	}
}

// tend looks after servers, and tells how everything stands when it is time.
func (s *Shipper) tend(ctx context.Context, all *errgroup.Group, now time.Time) error {
	s.check(ctx, all, now)
	s.askReleased(ctx, all, now)
	err := errors.Join(s.describe(ctx, all, now), s.cut(now))
	if err == nil {
		err = s.fill(ctx, all)
	}
	if s.checks++; err == nil && s.checks%checksPerStatus == 0 {
		s.park(now)
		s.beat(now)
	}
	return err
}

// take returns a handler that hands on what it understands.
func take[T any](ctx context.Context, to chan<- T) nats.MsgHandler {
	return func(m *nats.Msg) {
		v, err := wire.Decode[T](m.Data)
		if err != nil {
			return // not of a server
		}
		select {
		case to <- v:
		case <-ctx.Done():
		}
	}
}

// scan looks at the directory. What could be read is sent even if something could not.
func (s *Shipper) scan() error {
	now := time.Now()
	s.d.grew = false
	err := errors.Join(s.d.scan(), s.account.take(now))
	if s.d.grew {
		s.grew.Store(true)
	}
	for _, x := range s.d.renewed {
		s.account.renew(x)
		if err := s.cutBack(x.f, 0, now); err != nil {
			return err
		}
	}
	for _, f := range s.d.shrunk {
		s.account.shrink(f)
		if err := s.cutBack(f, f.whole, now); err != nil {
			return err
		}
	}
	s.d.renewed, s.d.shrunk = s.d.renewed[:0], s.d.shrunk[:0]
	s.unread = err
	s.warn(err)
	return nil
}

// warn logs an error once.
func (s *Shipper) warn(err error) {
	if err != nil && err.Error() != s.warned {
		s.warned = err.Error()
		s.o.Log("%v", err)
	}
}

// cutBack has servers drop what the directory has no more of a file: all behind an offset. Then they are asked what they have: chunks may still be on their way.
func (s *Shipper) cutBack(f *file, to int64, now time.Time) error {
	for _, p := range s.peers {
		at := p.files[f.name]
		if at == nil {
			continue
		}
		if to == 0 {
			at.cleared = false
		}
		if p.state != open || f.gone || max(at.sent, at.have) <= to {
			continue
		}
		s.rests(p, now)
		if err := s.publish(&wire.Chunk{Kind: wire.Cut, File: f.name, Offset: to}, nil); err != nil { // behind the chunks
			return err
		}
	}
	return nil
}

// meet notes that a server is there, and asks it if it is to store this host.
func (s *Shipper) meet(ctx context.Context, all *errgroup.Group, x wire.ServerStatus) {
	if x.Version != wire.Version || wire.CheckHost(x.Server) != nil {
		return
	}
	p := s.peers[x.Server]
	if p == nil {
		p = &peer{name: x.Server, files: make(map[string]*progress)}
		s.peers[x.Server] = p
	}
	p.seen = time.Now()
	s.check(ctx, all, p.seen)
}

// check lets go of servers that are silent or stuck, and asks as many others as are missing.
func (s *Shipper) check(ctx context.Context, all *errgroup.Group, now time.Time) {
	s.plan.peers = s.plan.peers[:0]
	var free []*peer
	for _, name := range slices.Sorted(maps.Keys(s.peers)) {
		p := s.peers[name]
		if now.Sub(p.seen) > deadAfter {
			if p.state == open {
				s.o.Log("server %s is silent", name)
			}
			delete(s.peers, name)
			s.account.released.forget(name)
			continue
		}
		if p.state == open && p.onWay > 0 && now.Sub(p.progress) > stuckAfter {
			s.rests(p, now) // something was lost on the way: ask how far it is
		}
		if p.state == open && p.documentSent != p.document && now.Sub(p.sentAt) > stuckAfter {
			p.documentSent = p.document
			if p.inVain++; p.inVain > 2 {
				s.rests(p, now) // it was started again before it had it, and listens no more
			}
		}
		p.overtaken(now)
		switch {
		case p.state != idle:
			s.plan.peers = append(s.plan.peers, p)
		case !now.Before(p.retry):
			free = append(free, p)
		}
	}
	if s.d.trace == "" {
		return // no metadata yet
	}
	order(s.o.Host, free)
	for _, p := range free {
		if len(s.plan.peers) >= s.o.Replicas {
			break
		}
		p.state = opening
		s.plan.peers = append(s.plan.peers, p)
		s.account.replaced()
		request := wire.Open{Version: wire.Version, Session: s.o.Session, Trace: s.d.trace}
		all.Go(func() error {
			a := s.ask(ctx, p.name, request)
			select {
			case s.opened <- a:
			case <-ctx.Done():
			}
			return nil
		})
	}
}

// open takes a server's answer.
func (s *Shipper) open(a answer) error {
	if a.sums {
		s.sums(a, time.Now())
		return nil
	}
	if a.listen {
		return s.listens(a)
	}
	p := s.peers[a.from]
	if p == nil || p.state != opening {
		return nil
	}
	if a.err == nil && a.opened.Error != "" {
		a.err = errors.New(a.opened.Error)
	}
	now := time.Now()
	s.level = false
	if a.err == nil {
		a.err = p.opened(s.d, s.account.earlier, now, a.opened.Files)
	}
	if errors.Is(a.err, nats.ErrReconnectBufExceeded) { // the broker is away, which the connection tells
		s.rests(p, now.Add(retryAfter))
		return nil
	}
	if a.err != nil {
		s.failed(p, a.err.Error(), now)
		return nil
	}
	s.account.released.forget(p.name) // it may be another disk
	s.account.review()
	return s.cut(now)
}

// cut tells servers what they have to drop. One that does not say that it has is asked anew what it has: it may have been started again, and listens no more.
func (s *Shipper) cut(now time.Time) error {
	for _, p := range s.plan.peers {
		if p.state != open {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(p.files)) {
			at := p.files[name]
			if at.cutting.IsZero() || now.Sub(at.cutting) < stuckAfter {
				continue
			}
			if at.cutTold {
				s.rests(p, now)
				break
			}
			at.cutting, at.cutTold = now, true
			if err := s.publish(&wire.Chunk{Kind: wire.Cut, File: name, Offset: at.have}, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// failed lets a server be for a while.
func (s *Shipper) failed(p *peer, why string, now time.Time) {
	if s.troubles.add(p.name, why, now) {
		s.o.Log("server %s: %s", p.name, why)
	}
	s.rests(p, now.Add(retryAfter))
}

// rests has a server store the host no more, and not asked to before an instant. It has told what it had of files that are gone at some time before; what it has
// acknowledged since is not in that, so it is to tell again.
func (s *Shipper) rests(p *peer, until time.Time) {
	p.state, p.retry = idle, until
	s.account.released.forget(p.name)
}

func (s *Shipper) acked(a wire.Ack) {
	p := s.peers[a.Server]
	if p == nil || a.Session != s.o.Session {
		return
	}
	now := time.Now()
	if p.acked(&a, now); s.account.documented(p) {
		s.account.review()
	}
	if a.Error != "" && p.state == open {
		s.failed(p, a.Error, now)
	}
}
