package tunnel

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

// openWithin is how long an agent may take to answer.
const openWithin = 10 * time.Second

// RefusedError is an agent's word that it gives no stream.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "refused: " + e.Why }

// missing says what to do where no agent takes streams of a kind.
var missing = map[wire.Streams]string{
	wire.RunStreams:     "takes experiments: start 'meridian agent --standby --allow-run FILE' there",
	wire.CaptureStreams: "gives captures: start 'meridian agent --allow-captures DIR' there",
}

// Open asks the agent of a host for a stream. welcome is what the agent says of its host.
func Open(ctx context.Context, c *nats.Conn, kind wire.Streams, host string) (_ *Stream, welcome wire.RunWelcome, err error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	run := hex.EncodeToString(random[:])
	s := newStream(c, kind.ToHost(host, run), "agent")
	if err := s.listen(kind.FromHost(host, run), s.take, s.answered); err != nil {
		return nil, welcome, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := c.PublishRequest(kind.Open(host), s.replies, wire.Encode(wire.RunRequest{Version: wire.Version, Run: run})); err != nil {
		return nil, welcome, err
	}
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	said, err := awaitWelcome(ctx, s)
	switch {
	case errors.Is(err, errNobody):
		return nil, welcome, fmt.Errorf("no agent of %q %s ('meridian server hosts' lists agents)", host, missing[kind])
	case errors.Is(err, context.DeadlineExceeded):
		return nil, welcome, fmt.Errorf("the agent of %q does not answer within %v", host, openWithin)
	case err != nil:
		return nil, welcome, fmt.Errorf("the agent of %q: %w", host, err)
	}
	if err := json.Unmarshal(said, &welcome); err != nil {
		return nil, welcome, fmt.Errorf("the agent of %q: %w", host, err)
	}
	s.watch.Go(func() { live(s) })
	return s, welcome, nil
}

// awaitWelcome waits for the first word of the other end.
func awaitWelcome(ctx context.Context, s *Stream) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.welcome == nil && s.err == nil && ctx.Err() == nil {
		s.changed.Wait()
	}
	if s.err != nil || s.welcome == nil {
		return nil, errors.Join(s.err, ctx.Err())
	}
	return s.welcome, nil
}

// ServeOptions say how an agent gives streams.
type ServeOptions struct {
	Conn *nats.Conn
	Kind wire.Streams
	Host string
	// Refuse says why no stream is given; nil to give one.
	Refuse func() error
	// Address returns that of this host, for others.
	Address func() string
	// Handle serves a stream and returns when it is done. The stream is closed then. ctx ends when the agent is to end.
	Handle func(ctx context.Context, s *Stream)
	Log    func(format string, args ...any)

	wait time.Duration // freeWithin unless a test says otherwise
}

// Serve gives streams until ctx ends, one at a time. It returns when the last is done.
func Serve(ctx context.Context, o ServeOptions) error {
	if o.wait == 0 {
		o.wait = freeWithin
	}
	g := &giver{o: o, ctx: ctx}
	sub, err := o.Conn.Subscribe(o.Kind.Open(o.Host), func(m *nats.Msg) { g.asked(m.Data) })
	if err != nil {
		return err
	}
	<-ctx.Done()
	_ = sub.Unsubscribe() // the connection may be gone
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	g.running.Wait()
	return nil
}

// giver is an agent that gives streams.
type giver struct {
	o     ServeOptions
	ctx   context.Context
	mu    sync.Mutex
	ended bool
	// Of requests, which are taken one after the other:
	since   time.Time     // of the stream that is there
	free    chan struct{} // closed when it is no longer; nil before the first
	running sync.WaitGroup
}

// freeWithin is how long a request waits for the end of the stream before: its operator may have gone just now.
const freeWithin = 5 * time.Second

// asked answers a request.
func (g *giver) asked(data []byte) {
	r, err := wire.Decode[wire.RunRequest](data)
	if err == nil {
		err = wire.CheckRun(r.Run)
	}
	if err != nil {
		g.o.Log("a stream (%s) is refused: %v", g.o.Kind, err)
		return // there is nowhere to answer
	}
	if err := g.begin(&r); err != nil {
		g.o.Log("a stream (%s) is refused: %v", g.o.Kind, err)
		f := frame{kind: kindRefused, data: []byte(err.Error())}
		if err := g.o.Conn.Publish(g.o.Kind.FromHost(g.o.Host, r.Run), f.encode()); err != nil {
			g.o.Log("a stream (%s): %v", g.o.Kind, err)
		}
	}
}

func (g *giver) begin(r *wire.RunRequest) error {
	if err := r.Check(); err != nil {
		return err
	}
	if err := g.o.Refuse(); err != nil {
		return err
	}
	if g.free != nil { // requests come one after the other
		select {
		case <-g.free:
		case <-g.ctx.Done():
		case <-time.After(g.o.wait):
			return fmt.Errorf("it serves another operator (%s) since %s", g.o.Kind, g.since.UTC().Format(time.RFC3339))
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return errors.New("the agent ends")
	}
	s := newStream(g.o.Conn, g.o.Kind.FromHost(g.o.Host, r.Run), "operator")
	if err := s.listen(g.o.Kind.ToHost(g.o.Host, r.Run), s.take, s.answered); err != nil {
		return err
	}
	s.welcome = []byte{} // what comes is from an operator that is there
	g.since, g.free = time.Now(), make(chan struct{})
	g.running.Go(func() {
		defer close(g.free)
		defer s.Close()
		s.say(kindWelcome, wire.Encode(wire.RunWelcome{Host: g.o.Host, Address: g.o.Address()}))
		s.watch.Go(func() { live(s) })
		g.o.Handle(g.ctx, s)
	})
	return nil
}
