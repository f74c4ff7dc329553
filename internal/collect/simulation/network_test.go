package simulation

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

// network is a broker and the ways to it. A message takes a random time from its publisher to the broker, and another from there to each subscription. What
// one connection publishes on one subject reaches a subscription in its order, and nothing else has one. Random numbers are hashes of the seed and of which message of
// which publisher on which subject it is: they do not depend on which of two goroutines publishes first at one instant.
type network struct {
	seed  uint64
	slow  time.Duration // the longest way, one direction
	loss  float64       // of messages, as a subscriber loses that is too slow
	twice float64       // of messages that come two times, one right after the other

	mu      sync.Mutex
	subs    []*subscription
	conns   int
	calm    bool // no loss, nothing twice: at the end
	trace   uint32
	line    []byte // what was entered last
	count   int
	keep    bool // lines of the trace
	lines   []string
	observe func(from *conn, subject string, data []byte) // of each message that is published
}

// conn is the connection of a process. It implements [wire.Conn].
type conn struct {
	n      *network
	name   string // of the process, with its incarnation
	prefix string
	tamper func(subject string, data []byte) []byte // a planted bug; nil result: the message is never sent

	mu      sync.Mutex
	dead    bool // the process was killed
	apart   bool
	hold    bool // what is published while apart is sent afterwards
	held    []message
	breaks  []time.Time // when the connection broke
	inboxes int
	arrived map[string]time.Time // when the last message of a subject comes to the broker
	sent    map[string]uint64    // messages of a subject
	changed chan struct{}        // closed when the connection is there again, or never will be
}

// stream is what has an order: what a connection publishes on a subject.
type stream struct {
	from    *conn
	subject string
}

type message struct {
	subject, reply string
	data           []byte
}

type subscription struct {
	n       *network
	c       *conn
	tokens  []string
	f       nats.MsgHandler
	last    map[stream]time.Time // when the last message comes
	turn    chan struct{}        // one message at a time
	mu      sync.Mutex
	removed bool
}

func newNetwork(seed uint64) *network { return &network{seed: seed, slow: time.Millisecond} }

func (n *network) connect(name, prefix string) *conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns++
	return &conn{n: n, name: fmt.Sprint(name, "#", n.conns), prefix: prefix, arrived: make(map[string]time.Time), sent: make(map[string]uint64), changed: make(chan struct{})}
}

// chance returns numbers in [0, 1) for a message.
func (n *network) chance(what, name, subject string, count uint64) float64 {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], n.seed)
	binary.LittleEndian.PutUint64(b[8:], count)
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(what + " " + name + " " + subject))
	x := h.Sum64()
	x ^= x >> 33 // FNV leaves the high bits of short inputs alike
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// way is how long a message takes: mostly little, now and then up to the longest. No two take equally long.
func (n *network) way(p float64) time.Duration {
	_, rest := math.Modf(p * 1e6)
	return time.Duration(10_000*(1+rest)) + time.Duration(p*p*p*float64(n.slow))
}

// kind is a subject without what tells one request from another: goroutines of a process that ask at one instant number their requests by chance. What is said on
// these has no order, as each of them subscribes and publishes by itself.
func kind(subject string) (kind string, ordered bool) {
	if kind, _, is := strings.Cut(subject, ".inbox."); is {
		return kind + ".inbox", false
	}
	return subject, !strings.Contains(subject, ".open.")
}

var errAway = errors.New("the connection is away")

func (c *conn) Publish(subject string, data []byte) error { return c.PublishRequest(subject, "", data) }

func (c *conn) PublishRequest(subject, reply string, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n.observe != nil && !c.dead {
		c.n.observe(c, subject, data)
	}
	data = append([]byte{}, data...)
	if c.tamper != nil {
		if data = c.tamper(subject, data); data == nil {
			return nil
		}
	}
	m := message{subject, reply, data}
	switch {
	case c.dead:
		return nats.ErrConnectionClosed
	case !c.apart:
		c.route(m)
	case c.hold:
		c.held = append(c.held, m)
	default:
		return nats.ErrReconnectBufExceeded
	}
	return nil
}

// route brings a message on its way. c.mu is held.
func (c *conn) route(m message) {
	n, now := c.n, time.Now()
	kind, ordered := kind(m.subject)
	key := kind
	if !ordered {
		key = fmt.Sprintf("%s %08x", kind, crc32.ChecksumIEEE(m.data))
	}
	count := c.sent[key]
	c.sent[key]++
	at := now.Add(n.way(n.chance("to", c.name, key, count)))
	if last := c.arrived[key]; !at.After(last) {
		at = last.Add(1)
	}
	c.arrived[key] = at
	tokens := strings.Split(m.subject, ".")
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.subs {
		if !matches(s.tokens, tokens) {
			continue
		}
		if !n.calm && n.chance("lost", c.name+s.c.name, key, count) < n.loss {
			continue
		}
		due := at.Add(n.way(n.chance("from", c.name+s.c.name, key, count)))
		if last := s.last[stream{c, key}]; !due.After(last) {
			due = last.Add(1)
		}
		times := 1
		if !n.calm && n.chance("twice", c.name+s.c.name, key, count) < n.twice {
			times = 2
		}
		for i := range times {
			when := due.Add(time.Duration(i))
			s.last[stream{c, key}] = when
			time.AfterFunc(when.Sub(now), func() { s.deliver(c, m, now, at) })
		}
	}
}

// deliver gives a message to its subscriber, unless a connection broke on the way.
func (s *subscription) deliver(from *conn, m message, began, atBroker time.Time) {
	_ = deep()
	if from.brokeBetween(began, atBroker) || s.c.brokeBetween(atBroker, time.Now()) {
		return
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.mu.Lock()
	removed := s.removed
	s.mu.Unlock()
	if removed || !s.c.alive() {
		return
	}
	s.n.delivered(from, s.c, &m)
	s.f(&nats.Msg{Subject: m.subject, Reply: m.reply, Data: m.data})
}

// delivered enters a message into the trace of the schedule.
func (n *network) delivered(from, to *conn, m *message) {
	subject, _ := kind(m.subject)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	b := binary.LittleEndian.AppendUint64(n.line[:0], uint64(time.Now().UnixNano()))
	for _, s := range []string{from.name, to.name, subject} {
		b = append(append(b, s...), 0)
	}
	n.line = b
	n.trace = crc32.Update(crc32.Update(n.trace, crc32.IEEETable, b), crc32.IEEETable, m.data)
	if n.keep {
		content := fmt.Sprintf("%08x", crc32.ChecksumIEEE(m.data))
		if len(m.data) > 0 && m.data[0] == '{' {
			content = string(m.data)
		}
		n.lines = append(n.lines, fmt.Sprintf("%d %s > %s %s %d %s", time.Now().UnixNano(), from.name, to.name, subject, len(m.data), content))
	}
}

// deep makes room on the stack of a goroutine that begins, all at once while there is little to copy: decoding takes some KiB.
//
//go:noinline
func deep() byte {
	var room [14 << 10]byte
	return room[len(room)/2]
}

// note enters an event into the trace of the schedule.
func (n *network) note(format string, args ...any) {
	line := fmt.Sprintf("%d ", time.Now().UnixNano()) + fmt.Sprintf(format, args...)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	n.trace = crc32.Update(n.trace, crc32.IEEETable, []byte(line))
	if n.keep {
		n.lines = append(n.lines, line)
	}
}

func matches(pattern, subject []string) bool {
	if len(pattern) != len(subject) {
		return false
	}
	for i, p := range pattern {
		if p != subject[i] && p != "*" {
			return false
		}
	}
	return true
}

func (c *conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.dead
}

func (c *conn) brokeBetween(from, to time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.breaks {
		if !at.Before(from) && !at.After(to) {
			return true
		}
	}
	return c.apart
}

// part takes the connection away. What is on the way is lost; what is published meanwhile is lost too, or with hold sent afterwards.
func (c *conn) part(hold bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.apart && !c.dead {
		c.apart, c.hold = true, hold
		c.breaks = append(c.breaks, time.Now())
	}
}

// join gives the connection back.
func (c *conn) join() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.apart || c.dead {
		return
	}
	c.apart = false
	c.breaks = append(c.breaks, time.Now().Add(-1)) // what came while it was away is lost
	for _, m := range c.held {
		c.route(m)
	}
	c.held = nil
	close(c.changed)
	c.changed = make(chan struct{})
}

// kill is the end of the process: it says nothing more.
func (c *conn) kill() {
	c.mu.Lock()
	c.dead, c.apart, c.held = true, false, nil
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	kept := c.n.subs[:0]
	for _, s := range c.n.subs {
		if s.c != c {
			kept = append(kept, s)
		}
	}
	c.n.subs = kept
}

func (c *conn) Subscribe(subject string, _ int, f nats.MsgHandler) (wire.Subscription, error) {
	if !c.alive() {
		return nil, nats.ErrConnectionClosed
	}
	s := &subscription{n: c.n, c: c, tokens: strings.Split(subject, "."), f: f, last: make(map[stream]time.Time), turn: make(chan struct{}, 1)}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	c.n.subs = append(c.n.subs, s)
	return s, nil
}

func (s *subscription) Unsubscribe() error {
	s.mu.Lock()
	s.removed = true
	s.mu.Unlock()
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	for i, o := range s.n.subs {
		if o == s {
			s.n.subs = append(s.n.subs[:i:i], s.n.subs[i+1:]...)
			break
		}
	}
	return nil
}

func (c *conn) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	answers := make(chan []byte, 2)
	inbox := c.NewInbox()
	sub, err := c.Subscribe(inbox, 0, func(m *nats.Msg) {
		select {
		case answers <- m.Data:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // it never fails
	if err := c.PublishRequest(subject, inbox, data); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case b := <-answers:
		return b, nil
	}
}

func (c *conn) NewInbox() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inboxes++
	return fmt.Sprintf("%s.%s-%d", c.prefix, strings.ReplaceAll(c.name, ".", "-"), c.inboxes)
}

func (c *conn) InboxPrefix() string { return c.prefix }
func (c *conn) MaxPayload() int64   { return 64 << 10 }
func (c *conn) IsClosed() bool      { return !c.alive() }

func (c *conn) IsConnected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.dead && !c.apart
}

// FlushTimeout waits until the connection is there, as long as it may.
func (c *conn) FlushTimeout(within time.Duration) error {
	c.mu.Lock()
	apart, changed := c.apart, c.changed
	c.mu.Unlock()
	if !apart {
		return nil
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-changed:
		return nil
	case <-timer.C:
		return errAway
	}
}
