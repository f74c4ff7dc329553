package probe

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// Server answers questions of clients that have the key.
type Server struct {
	options  Options
	socket   *socket
	key      *authCode
	cookies  cookies
	hellos   seen
	sources  sources
	sessions map[uint32]*session
	waiting  [1024]waiting // by the number of the datagram: answers whose stamps have not come
	clocks   *history
	counts   counts
	quiet    atomic.Bool
	in, out  [Size + 1]byte
}

// session is what the server keeps of a client that has shown that it has the key and receives at its address.
type session struct {
	id      uint32
	from    netip.AddrPort
	code    *authCode
	flows   uint64
	window  window
	bucket  bucket
	used    time.Time
	sent    Stamp // T3 of the latest answer that was stamped
	exact   bool  // sent is by the reading of its question's T2
	number  uint32
	current bool // sent was not told yet
}

// waiting is an answer that was sent.
type waiting struct {
	session *session
	number  uint32
	id      uint32
	offset  int64   // REALTIME less the free clock at T2
	before  Reading // T3 in user space
}

// Listen opens a server at an address: "host:port", ":port".
func Listen(ctx context.Context, address string, o Options) (*Server, error) {
	s, err := listen(ctx, "udp", address)
	if err != nil {
		return nil, err
	}
	if s.address().Addr().IsUnspecified() {
		if err := s.answerFrom(); err != nil {
			return nil, errors.Join(fmt.Errorf("probe: the addresses that questions come to: %w", err), s.close())
		}
	}
	n := newServer(o, s)
	if err := s.withHardware(&o, n.clocks); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return n, nil
}

func newServer(o Options, s *socket) *Server {
	if o.Clock == nil {
		o.Clock = System()
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = defaultMaxSessions
	}
	if o.MaxRate <= 0 {
		o.MaxRate = defaultMaxRate
	}
	return &Server{
		options: o, socket: s, key: newAuthCode(o.Key[:]), cookies: newCookies(time.Now()), sources: newSources(), sessions: map[uint32]*session{},
		clocks: newHistory(o.Clock),
	}
}

// Addr returns the address of the server.
func (s *Server) Addr() netip.AddrPort {
	a := s.socket.address()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// Stats returns the counts so far. It may be called at any time.
func (s *Server) Stats() Stats { return s.counts.stats() }

// Quiet begins or ends a quiet window: the server drops all questions.
func (s *Server) Quiet(on bool) { s.quiet.Store(on) }

// Close closes the socket. Serve does so itself.
func (s *Server) Close() error { return s.socket.close() }

// Serve answers until the context is done, and closes the socket then. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.socket.interrupt)
	defer stop()
	defer s.socket.close()
	for {
		a, err := s.socket.receive(s.in[:])
		switch {
		case ctx.Err() != nil:
			s.departed()
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			continue
		case errors.Is(err, errDeparted):
			s.departed()
			continue
		case err != nil:
			return err
		}
		s.departed()
		s.counts.received.Add(1)
		if cause := s.take(a, s.clocks.read()); cause != accepted {
			s.counts.drop(cause)
		}
	}
}

// take answers one datagram, or returns why not.
func (s *Server) take(a arrival, now Reading) Cause {
	b := s.in[:a.n]
	k, cause := classify(b)
	if cause != accepted {
		return cause
	}
	if s.quiet.Load() || s.options.Windows.At(time.Now()) {
		return Quiet
	}
	switch k {
	case hello:
		return s.hello(b, a.from)
	case open:
		return s.open(b, a.from)
	case question:
		return s.answer(b, a, now)
	}
	return Malformed
}

// hello answers a nonce with a cookie, of which the server remembers nothing.
func (s *Server) hello(b []byte, from netip.AddrPort) Cause {
	switch {
	case !s.key.signed(b):
		return BadMAC
	case !s.hellos.add(b[atNonce:atCookie]):
		return Replayed
	case !s.sources.take(from.Addr(), time.Now()):
		return Limited
	}
	begin(s.out[:], cookie, 0)
	copy(s.out[atNonce:], b[atNonce:atCookie])
	copy(s.out[atCookie:atMAC], s.cookies.of(time.Now(), b[atNonce:atCookie], from))
	s.key.sign(s.out[:])
	_, cause := s.send(from)
	return cause
}

// open begins a session for a client that sends its cookie back.
func (s *Server) open(b []byte, from netip.AddrPort) Cause {
	now := time.Now()
	switch {
	case !s.key.signed(b):
		return BadMAC
	case !s.cookies.valid(now, b[atNonce:atCookie], from, b[atCookie:atMAC]):
		return BadCookie
	case !s.cookies.use(b[atNonce:atCookie]):
		return Replayed
	case len(s.sessions) >= s.options.MaxSessions && !s.evict(now):
		return Full
	}
	n := &session{from: from, code: newAuthCode(s.key.of(sessionLabel, b[atNonce:atMAC])), used: now, bucket: newBucket(s.options.MaxRate, now)}
	n.flows = flows(n.code)
	for n.id == 0 || s.sessions[n.id] != nil {
		var id [4]byte
		_, _ = rand.Read(id[:])
		n.id = binary.BigEndian.Uint32(id[:])
	}
	s.sessions[n.id] = n
	s.counts.opened.Add(1)
	s.counts.sessions.Store(int64(len(s.sessions)))
	begin(s.out[:], opened, n.id)
	copy(s.out[atNonce:], b[atNonce:atMAC])
	n.code.sign(s.out[:])
	_, cause := s.send(from)
	return cause
}

// sessionLabel keeps the keys of sessions apart from the codes of datagrams.
var sessionLabel = []byte("meridian clock session 1")

// minIdle is for how long a session must be idle to make room for another one.
const minIdle = time.Minute

// evict closes the session that has been idle the longest.
func (s *Server) evict(now time.Time) bool {
	var oldest *session
	for _, n := range s.sessions {
		if oldest == nil || n.used.Before(oldest.used) {
			oldest = n
		}
	}
	if oldest == nil || now.Sub(oldest.used) < minIdle {
		return false
	}
	delete(s.sessions, oldest.id)
	return true
}

// answer answers a question of a session.
func (s *Server) answer(b []byte, a arrival, now Reading) Cause {
	n := s.sessions[sessionOf(b)]
	at := time.Now()
	switch {
	case n == nil || n.from != a.from:
		return Unknown
	case !n.code.signed(b):
		return BadMAC
	case !n.window.add(numberOf(b)):
		return Replayed
	case !n.bucket.take(at):
		return Limited
	}
	n.used = at
	received := s.clocks.best(a.kernel, a.hardware, now)
	s.counts.stamps[received.Kind].Add(1)
	r := reply{number: numberOf(b), received: received, realtime: received.Offset(), status: s.clocks.clock.Steering()}
	s.record(n, false, r.number, received)
	if back := r.number - n.number; n.current && back > 0 && back < 256 {
		r.sent, r.exact, r.back = n.sent, n.exact, uint8(back)
	}
	user := s.clocks.read()
	r.held = uint32(min(max(0, int64(user.Free)-int64(received.Time)), 1<<32-1))
	r.put(s.out[:], n.id)
	n.code.sign(s.out[:])
	id, cause := s.send(a.from)
	if cause != accepted {
		return cause
	}
	n.current = false
	s.counts.exchanges.Add(1)
	s.waiting[id%uint32(len(s.waiting))] = waiting{n, r.number, id, r.realtime, user}
	if !s.socket.stamps() {
		s.record(n, true, r.number, user.stamp())
	}
	s.departed()
	return accepted
}

// departed takes the stamps of answers that were sent.
func (s *Server) departed() {
	for {
		d, ok := s.socket.departed()
		if !ok {
			return
		}
		w := &s.waiting[d.id%uint32(len(s.waiting))]
		if w.session == nil || w.id != d.id {
			continue // of a handshake
		}
		n := w.session
		s.clocks.read()
		stamp := s.clocks.best(d.kernel, d.hardware, w.before)
		if again := n.current && n.number == w.number; stamp.Kind != User && (!again || stamp.Kind > n.sent.Kind) {
			n.sent, n.exact = stamp.by(w.offset)
			n.number, n.current = w.number, true
		}
		if d.hardware == 0 && s.socket.byInterface {
			continue // the interface's stamp is to come
		}
		s.counts.stamps[stamp.Kind].Add(1)
		s.record(n, true, w.number, stamp)
		w.session = nil
	}
}

func (s *Server) record(n *session, send bool, number uint32, stamp Stamp) {
	if s.options.Record != nil {
		s.options.Record(Event{
			Send: send, Answer: send, Session: n.id, Number: uint64(number), Stamp: stamp, Peer: n.from,
			Flow: flow(n.flows, number, send), Off: s.clocks.off(),
		})
	}
}

func (s *Server) send(to netip.AddrPort) (id uint32, cause Cause) {
	id, err := s.socket.send(s.out[:Size], to)
	if err != nil {
		s.counts.failed.Add(1)
		return 0, accepted
	}
	s.counts.sent.Add(1)
	return id, accepted
}
