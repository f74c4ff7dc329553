// Package tunnel is a stream of bytes both ways between an operator's process and the agent of a host, over subjects of the broker below the
// host's name. The controller of an experiment reaches the host's process by it.
//
//	operator                                   agent
//	  open {version, run}     --KIND.open-->      welcome or refused
//	  frames                  --KIND.in.RUN-->    Read
//	  Read                    <--KIND.out.RUN--   frames
//
// KIND says what streams are for (wire.Streams): of one kind an agent gives one at a time.
//
// A frame is a message:
//
//	kind      1 byte    'w' welcome, 'r' refused, 'd' data, 'a' alive, 'e' end of this direction, 'k' kill
//	offset    8 bytes   of the data in its direction, big endian
//	taken     8 bytes   how much of the other direction was read, big endian
//	data                'd': bytes; 'e': why it ended, "" for well; 'r': why; 'w': JSON
//
// At most [window] bytes of a direction are sent beyond what was read, so no buffer of the broker overflows. Nothing is sent twice: a gap
// breaks the stream. Each end says every half second that it is there, by a message with a reply subject: the broker answers such a
// message itself when nobody listens, so an end that was killed is noticed within that time. Silence of [silence], which a broker
// without a network leaves, breaks the stream too, as does a connection that does not come back within [reconnectWithin].
//
// The broker's permissions say which clients can be at the other end (wire.PermissionsOf). What they may ask for is decided by the reader.
package tunnel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Limits and times of a stream.
const (
	window          = 4 << 20 // bytes
	maxData         = 256 << 10
	tellAfter       = window / 4 // bytes read, after which the other end is told
	maxReason       = 8 << 10    // bytes
	aliveEvery      = 500 * time.Millisecond
	silence         = 20 * time.Second
	reconnectWithin = 2 * time.Second
	headerBytes     = 1 + 8 + 8
)

// Kinds of frames.
const (
	kindWelcome = 'w'
	kindRefused = 'r'
	kindData    = 'd'
	kindAlive   = 'a'
	kindEnd     = 'e'
	kindKill    = 'k'
)

// frame is a message of a stream.
type frame struct {
	kind          byte
	offset, taken int64
	data          []byte
}

func (f *frame) encode() []byte {
	b := make([]byte, headerBytes, headerBytes+len(f.data))
	b[0] = f.kind
	binary.BigEndian.PutUint64(b[1:], uint64(f.offset))
	binary.BigEndian.PutUint64(b[9:], uint64(f.taken))
	return append(b, f.data...)
}

// parseFrame reads a message. The data is that of the message.
func parseFrame(b []byte) (f frame, err error) {
	if len(b) < headerBytes {
		return f, fmt.Errorf("a frame of %d bytes, of which its header has %d", len(b), headerBytes)
	}
	f = frame{kind: b[0], offset: int64(binary.BigEndian.Uint64(b[1:])), taken: int64(binary.BigEndian.Uint64(b[9:])), data: b[headerBytes:]}
	if f.offset < 0 || f.taken < 0 || len(f.data) > maxData {
		return f, fmt.Errorf("a frame at byte %d with %d bytes, %d taken: it is damaged", f.offset, len(f.data), f.taken)
	}
	return f, nil
}

// Stream is one end of a stream. Read and Write may be called at the same time, each by one goroutine. Close must be called.
type Stream struct {
	subjects
	other string // what the other end is: "agent" or "operator"

	mu      sync.Mutex
	changed *sync.Cond
	handled int64    // frames
	queue   [][]byte // received and not read
	sent    int64    // bytes
	acked   int64    // of them, read by the other end
	arrived int64    // bytes
	taken   int64    // of them, read here
	told    int64    // of them, the other end was told of
	welcome []byte   // what the other end said first; nil before
	heard   time.Time
	ended   bool   // by the other end: nothing more arrives
	reason  string // of that
	endSent bool
	err     error         // why the stream is broken
	killed  chan struct{} // closed when the other end wants everything to end at once
	over    chan struct{} // closed when the stream is broken, or both directions have ended
	closed  chan struct{}
	watch   sync.WaitGroup
}

func newStream(c *nats.Conn, to, other string) *Stream {
	s := &Stream{subjects: subjects{c: c, to: to, replies: c.NewInbox()}, other: other, heard: time.Now(), killed: make(chan struct{}), over: make(chan struct{}), closed: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// errNobody is what the broker says of a subject.
var errNobody = errors.New("nobody listens")

// noResponders is the status by which a broker says that nobody listens to a subject.
const noResponders = "503"

// answered handles what the broker says to a message that nobody got.
func (s *Stream) answered(m *nats.Msg) {
	if len(m.Data) > 0 || m.Header.Get("Status") != noResponders {
		return
	}
	catchUp(s) // what was said before the other end went
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.welcome == nil {
		s.fail(errNobody)
		return
	}
	s.fail(fmt.Errorf("the %s has gone", s.other))
}

// fail breaks the stream. The mutex is held.
func (s *Stream) fail(err error) {
	if s.err == nil && !isClosed(s.over) {
		s.err = err
		close(s.over)
	}
	s.changed.Broadcast()
}

// isClosed reports whether a channel is closed on which nothing is sent.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// take takes a frame in.
func (s *Stream) take(b []byte) {
	f, err := parseFrame(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast()
	s.handled++
	switch {
	case isClosed(s.over):
		return
	case err != nil:
		s.fail(err)
		return
	case f.taken > s.sent:
		s.fail(fmt.Errorf("the other end has read %d bytes of the %d that were sent", f.taken, s.sent))
		return
	}
	s.heard, s.acked = time.Now(), max(s.acked, f.taken)
	switch f.kind {
	case kindWelcome:
		if s.welcome == nil {
			s.welcome = f.data
		}
	case kindRefused:
		s.fail(&RefusedError{cut(string(f.data))})
	case kindKill:
		if !isClosed(s.killed) {
			close(s.killed)
		}
	case kindData, kindEnd:
		s.arrive(f)
	}
}

func (s *Stream) arrive(f frame) {
	n := int64(len(f.data))
	switch {
	case s.ended:
		s.fail(errors.New("a frame after the end"))
	case f.offset != s.arrived:
		s.fail(fmt.Errorf("bytes were lost on the way: %d were received, and byte %d came next", s.arrived, f.offset))
	case f.kind == kindEnd:
		s.ended, s.reason = true, cut(string(f.data))
		finish(s)
	case s.arrived-s.taken+n > window:
		s.fail(errors.New("the other end sends more than it may"))
	default:
		s.arrived += n
		s.queue = append(s.queue, f.data)
	}
}

// finish closes over when both directions have ended.
func finish(s *Stream) {
	if s.ended && s.endSent && !isClosed(s.over) {
		close(s.over)
	}
}

func cut(s string) string { return s[max(0, len(s)-maxReason):] }

// Read reads what the other end wrote. It returns io.EOF when that has ended its direction.
func (s *Stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	for len(s.queue) == 0 && !s.ended && s.err == nil {
		s.changed.Wait()
	}
	switch {
	case len(s.queue) > 0:
	case s.err != nil:
		defer s.mu.Unlock()
		return 0, lost(s)
	default:
		s.mu.Unlock()
		return 0, io.EOF
	}
	n := copy(b, s.queue[0])
	if s.queue[0] = s.queue[0][n:]; len(s.queue[0]) == 0 {
		s.queue = s.queue[1:]
	}
	s.taken += int64(n)
	tell := s.taken-s.told >= tellAfter
	s.mu.Unlock()
	if tell {
		s.say(kindAlive, nil)
	}
	return n, nil
}

// Write sends bytes. It waits while the other end has much to read.
func (s *Stream) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), maxData)]
		s.mu.Lock()
		for s.err == nil && !s.endSent && s.sent-s.acked+int64(len(part)) > window {
			s.changed.Wait()
		}
		switch {
		case s.err != nil:
			err = lost(s)
		case s.endSent:
			err = io.ErrClosedPipe
		default:
			if err = s.publish(kindData, part); err == nil {
				s.sent += int64(len(part))
			}
		}
		s.mu.Unlock()
		if err != nil {
			return n, err
		}
		n, b = n+len(part), b[len(part):]
	}
	return n, nil
}

// publish sends a frame. The mutex is held, so offsets are in the order of frames.
func (s *Stream) publish(kind byte, data []byte) error {
	f := frame{kind: kind, offset: s.sent, taken: s.taken, data: data}
	s.told = s.taken
	err := s.c.PublishRequest(s.to, s.replies, f.encode())
	if err != nil && kind != kindAlive {
		s.fail(fmt.Errorf("the broker cannot be reached: %w", err))
		return lost(s)
	}
	return err
}

func (s *Stream) say(kind byte, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		_ = s.publish(kind, data) // a stream that is broken by it says so itself
	}
}

// End ends the direction of this end, with a reason for people that the other end's [Stream.Reason] returns; "" if all is well.
func (s *Stream) End(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !s.endSent {
		_ = s.publish(kindEnd, []byte(cut(reason)))
		s.endSent = true
		finish(s)
		s.changed.Broadcast()
	}
}

// Kill asks the other end to end everything at once.
func (s *Stream) Kill() { s.say(kindKill, nil) }

// Killed is closed when the other end asked for that.
func (s *Stream) Killed() <-chan struct{} { return s.killed }

// Over is closed when the stream is broken, or both directions have ended.
func (s *Stream) Over() <-chan struct{} { return s.over }

// Reason returns why the other end has ended its direction; "" if all is well, or it has not.
func (s *Stream) Reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// Err returns why the stream is broken; nil if it is not, or if the other end had ended its direction.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	return lost(s)
}

// Close gives the stream up.
func (s *Stream) Close() {
	s.mu.Lock()
	s.fail(errors.New("it was closed here"))
	if !isClosed(s.closed) {
		close(s.closed)
	}
	s.mu.Unlock()
	s.watch.Wait()
	s.drop()
	if s.c.IsConnected() {
		_ = s.c.FlushTimeout(flushWithin) // what was said last is on its way; the broker may have gone
	}
}

const flushWithin = 2 * time.Second
