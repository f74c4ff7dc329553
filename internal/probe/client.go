package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// Client asks servers. One client asks any number of them through one socket.
type Client struct {
	options Options
	socket  *socket
	key     *authCode
	hosts   []*host
	byID    [1024]sentQuestion
	clocks  *history
	counts  counts
	quiet   atomic.Bool
	each    func(Sample)
	in, out [Size + 1]byte
}

// host is a server.
type host struct {
	index   int
	to      netip.AddrPort
	state   kind // the last step of the handshake: 0, hello, open, opened
	nonce   [16]byte
	cookie  [16]byte
	code    *authCode
	flows   uint64 // see flow
	session uint32
	number  uint32    // of the last question
	next    time.Time // of the next question, or of the next hello
	retry   time.Duration
	burst   int
	silent  int       // questions in a row without an answer
	heard   time.Time // when the last answer came
	pending [256]pending
	pace    pace
}

// pending is a question that was asked, and its answer.
type pending struct {
	asked, answered bool
	lost            bool
	recorded        bool    // T1 went to the trace
	before          Reading // of the sending
	sample          Sample
}

// sentQuestion leads from the number of a datagram to the question.
type sentQuestion struct {
	host   *host
	id     uint32
	number uint32
}

// Dial opens a client that asks the servers at some addresses: "host:port". Names are looked up once.
func Dial(ctx context.Context, o Options, addresses ...string) (*Client, error) {
	c := newClient(o)
	network := "udp4"
	for i, address := range addresses {
		a, err := resolve(ctx, address)
		if err != nil {
			return nil, fmt.Errorf("cannot resolve %s: %w", address, err)
		}
		if same := c.from(a); same != nil { // answers would be taken for the first's
			return nil, fmt.Errorf("%s and %s are one address", addresses[same.index], address)
		}
		if a.Addr().Is6() {
			network = "udp"
		}
		c.add(a, i)
	}
	if len(c.hosts) == 0 {
		return nil, errors.New("probe: no host to ask")
	}
	var err error
	if c.socket, err = listen(ctx, network, o.Local); err != nil {
		return nil, err
	}
	if err := c.socket.withHardware(&c.options, c.clocks); err != nil {
		return nil, errors.Join(err, c.socket.close())
	}
	return c, nil
}

// newClient returns a client without hosts and without a socket.
func newClient(o Options) *Client {
	if o.Clock == nil {
		o.Clock = System()
	}
	if o.Rate <= 0 {
		o.Rate = defaultRate
	}
	o.Rate = min(o.Rate, greatestRate)
	if o.MinRate <= 0 || o.MinRate > o.Rate {
		o.MinRate = o.Rate / 8
	}
	if o.Burst == 0 {
		o.Burst = defaultBurst
	}
	return &Client{options: o, key: newAuthCode(o.Key[:]), clocks: newHistory(o.Clock)}
}

// add adds a host to be asked.
func (c *Client) add(to netip.AddrPort, index int) {
	h := &host{index: index, to: to}
	h.pace.init(c.options.Rate, c.options.MinRate, c.inRound())
	c.hosts = append(c.hosts, h)
}

func resolve(ctx context.Context, address string) (netip.AddrPort, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	n, err := net.DefaultResolver.LookupPort(ctx, "udp", port)
	if err != nil {
		return netip.AddrPort{}, err
	}
	all, err := net.DefaultResolver.LookupIPAddr(ctx, name) // LookupNetIP loses the zones of link-local addresses
	if err != nil {
		return netip.AddrPort{}, err
	}
	a, ok := netip.AddrFromSlice(all[0].IP)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%s has no address", name)
	}
	if a = a.Unmap(); a.Is6() && all[0].Zone != "" {
		a = a.WithZone(interfaceName(all[0].Zone))
	}
	return netip.AddrPortFrom(a, uint16(n)), nil
}

// interfaceName returns the name of a zone's interface, which answers come from, where the zone is its number.
func interfaceName(zone string) string {
	if n, err := strconv.Atoi(zone); err == nil {
		if i, err := net.InterfaceByIndex(n); err == nil {
			return i.Name
		}
	}
	return zone
}

// Stats returns the counts so far. It may be called at any time.
func (c *Client) Stats() Stats { return c.counts.stats() }

// Quiet begins or ends a quiet window: the client sends nothing. It may be called at any time; the end takes up to a second to
// be noticed.
func (c *Client) Quiet(on bool) { c.quiet.Store(on) }

// Close closes the socket. Run does so itself.
func (c *Client) Close() error { return c.socket.close() }

// Run asks until the context is done, and calls each with every sample in its own goroutine. It closes the socket then.
func (c *Client) Run(ctx context.Context, each func(Sample)) error {
	stop := context.AfterFunc(ctx, c.socket.interrupt)
	defer stop()
	defer c.socket.close()
	c.each = each
	for {
		next := c.ask(time.Now())
		c.socket.until(next)
		if ctx.Err() != nil {
			return nil
		}
		a, err := c.socket.receive(c.in[:])
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			continue
		case errors.Is(err, errDeparted):
			c.departed()
			continue
		case err != nil:
			return err
		}
		now := c.clocks.read()
		c.departed()
		c.counts.received.Add(1)
		if cause := c.take(a, now); cause != accepted {
			c.counts.drop(cause)
		}
	}
}

// ask sends what is due and returns when there is more to send.
func (c *Client) ask(now time.Time) time.Time {
	next := now.Add(time.Second)
	if c.quiet.Load() || c.options.Windows.At(now) {
		return next
	}
	if c.options.Together {
		c.together(now)
	}
	for _, h := range c.hosts {
		if !now.Before(h.next) {
			c.round(h, now)
		}
		if h.next.Before(next) {
			next = h.next
		}
	}
	return next
}

// together has all hosts with a session asked in one round, as soon as one of them is due: a question to each, then the next to each.
func (c *Client) together(now time.Time) {
	due, n := false, 0
	for _, h := range c.hosts {
		if h.open(now) {
			due = due || !now.Before(h.next)
			n = max(n, h.burst, c.questions(h.pace.interval.Load()))
		}
	}
	if !due {
		return
	}
	next := now.Add(time.Hour)
	for left := n; left > 0; left-- {
		asked := time.Now()
		for _, h := range c.hosts {
			if h.open(now) {
				c.question(h)
				h.burst, h.next = 0, now.Add(h.pace.after())
				if h.next.Before(next) {
					next = h.next
				}
			}
		}
		for left > 1 && time.Since(asked) < pairSpacing {
		}
	}
	for _, h := range c.hosts {
		if h.open(now) {
			h.next = next
		}
	}
}

// maxSilent is how many questions in a row, and for how long, may stay without an answer until the handshake begins anew.
const (
	maxSilent  = 16
	silentTime = time.Second
)

// open reports whether the host has a session, as far as its answers show.
func (h *host) open(now time.Time) bool {
	return h.state == opened && (h.silent <= maxSilent || now.Sub(h.heard) < silentTime)
}

// round sends a pair of questions, or the next step of the handshake.
func (c *Client) round(h *host, now time.Time) {
	if !h.open(now) {
		h.state, h.silent = hello, 0
		h.retry = min(max(2*h.retry, 250*time.Millisecond), 8*time.Second)
		h.next = now.Add(h.retry)
		newNonce(h.nonce[:])
		begin(c.out[:], hello, 0)
		copy(c.out[atNonce:], h.nonce[:])
		c.key.sign(c.out[:])
		c.send(h)
		return
	}
	after := h.pace.after()
	h.next = now.Add(after)
	for n := max(c.questions(int64(after)), h.burst); n > 0; n-- {
		asked := time.Now()
		c.question(h)
		for n > 1 && time.Since(asked) < pairSpacing { // a timer would be later by more than the spacing
		}
	}
	h.burst = 0
}

// lostAfter is after how many further questions one without an answer counts as lost. Its answer may still come.
const lostAfter = 32

func (c *Client) question(h *host) {
	h.number++
	h.silent++
	begin(c.out[:], question, h.session)
	putNumber(c.out[:], h.number)
	h.code.sign(c.out[:])
	p := &h.pending[h.number%uint32(len(h.pending))]
	if late := &h.pending[(h.number-lostAfter)%uint32(len(h.pending))]; late.asked && !late.answered && !late.lost {
		late.lost = true
		c.counts.lost.Add(1)
	}
	before := c.clocks.read()
	*p = pending{asked: true, before: before, sample: Sample{
		Host: h.index, Peer: h.to, Session: h.session, Number: uint64(h.number), T1: before.stamp(), Length: Size,
	}}
	if id, ok := c.send(h); ok {
		c.byID[id%uint32(len(c.byID))] = sentQuestion{h, id, h.number}
	}
	c.departed()
}

func (c *Client) send(h *host) (id uint32, ok bool) {
	id, err := c.socket.send(c.out[:Size], h.to)
	if err != nil {
		c.counts.failed.Add(1)
		return 0, false
	}
	c.counts.sent.Add(1)
	return id, true
}

// departed takes the stamps of questions that were sent.
func (c *Client) departed() {
	for {
		d, ok := c.socket.departed()
		if !ok {
			return
		}
		q := &c.byID[d.id%uint32(len(c.byID))]
		if q.host == nil || q.id != d.id {
			continue
		}
		p := &q.host.pending[q.number%uint32(len(q.host.pending))]
		if uint32(p.sample.Number) == q.number && !p.answered {
			c.clocks.read()
			if s := c.clocks.best(d.kernel, d.hardware, p.before); s.Kind > p.sample.T1.Kind {
				p.sample.T1 = s
			}
			if d.hardware != 0 || !c.socket.byInterface {
				c.record(q.host, p, true)
			}
		}
	}
}

// take takes one datagram, or returns why not.
func (c *Client) take(a arrival, now Reading) Cause {
	b := c.in[:a.n]
	k, cause := classify(b)
	if cause != accepted {
		return cause
	}
	h := c.from(a.from)
	if h == nil {
		return Unknown
	}
	switch k {
	case cookie:
		return c.cookie(h, b)
	case opened:
		return c.opened(h, b)
	case answer:
		return c.answer(h, b, a, now)
	}
	return Malformed
}

func (c *Client) from(a netip.AddrPort) *host {
	for _, h := range c.hosts {
		if h.to == a {
			return h
		}
	}
	return nil
}

func (c *Client) cookie(h *host, b []byte) Cause {
	switch {
	case !c.key.signed(b):
		return BadMAC
	case h.state != hello || [16]byte(b[atNonce:]) != h.nonce:
		return Unasked
	}
	h.state, h.cookie = open, [16]byte(b[atCookie:])
	h.code = newAuthCode(c.key.of(sessionLabel, b[atNonce:atMAC]))
	h.flows = flows(h.code)
	begin(c.out[:], open, 0)
	copy(c.out[atNonce:], b[atNonce:atMAC])
	c.key.sign(c.out[:])
	c.send(h)
	return accepted
}

func (c *Client) opened(h *host, b []byte) Cause {
	switch {
	case h.state != open || [16]byte(b[atNonce:]) != h.nonce || [16]byte(b[atCookie:]) != h.cookie:
		return Unasked
	case !h.code.signed(b):
		return BadMAC
	}
	h.state, h.session, h.number, h.retry, h.silent = opened, sessionOf(b), 0, 0, 0
	clear(h.pending[:])
	h.burst, h.next, h.heard = c.options.Burst, time.Time{}, time.Now()
	c.counts.opened.Add(1)
	return accepted
}

func (c *Client) answer(h *host, b []byte, a arrival, now Reading) Cause {
	if h.state != opened || sessionOf(b) != h.session {
		return Unknown
	}
	var r reply
	switch {
	case !h.code.signed(b):
		return BadMAC
	case !r.get(b):
		return Malformed
	}
	p := &h.pending[r.number%uint32(len(h.pending))]
	switch {
	case !p.asked || uint32(p.sample.Number) != r.number:
		return Unasked
	case p.answered:
		return Replayed
	}
	h.silent, h.heard = 0, time.Now()
	if p.lost {
		p.lost = false
		c.counts.lost.Add(^uint64(0))
	}
	c.counts.exchanges.Add(1)
	if q := &h.pending[(r.number-uint32(r.back))%uint32(len(h.pending))]; r.back != 0 && q.answered && uint32(q.sample.Number) == r.number-uint32(r.back) {
		q.sample.T3, q.sample.Late = r.sent, true
		if r.exact {
			q.sample.T3.Wall = add(r.sent.Time, q.sample.T2.Offset())
		}
		c.each(q.sample)
	}
	s := &p.sample
	p.answered = true
	s.SteeringHere, s.SteeringThere = c.clocks.clock.Steering(), r.status
	s.T2, s.T4 = r.received, c.clocks.best(a.kernel, a.hardware, now)
	s.T3 = Stamp{Time: add(s.T2.Time, int64(r.held)), Error: s.T2.Error, Kind: User, Wall: add(s.T2.Wall, int64(r.held))}
	c.counts.stamps[s.T1.Kind].Add(1)
	c.counts.stamps[s.T4.Kind].Add(1)
	c.record(h, p, true)
	c.record(h, p, false)
	c.each(*s)
	return accepted
}

// record passes on the stamp of a question's sending, unless it was passed on before, or of the answer's arrival.
func (c *Client) record(h *host, p *pending, send bool) {
	if c.options.Record == nil || send && p.recorded {
		return
	}
	e := Event{
		Send: send, Answer: !send, Session: h.session, Number: p.sample.Number, Stamp: p.sample.T1, Peer: h.to,
		Flow: flow(h.flows, uint32(p.sample.Number), !send), Off: c.clocks.off(),
	}
	if !send {
		e.Stamp = p.sample.T4
	}
	p.recorded = true
	c.options.Record(e)
}
