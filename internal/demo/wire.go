package demo

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// What goes over the demo's connections, big endian:
//
//	+--------+------+---------------------------------+
//	| length | kind | hello: token, the caller's name |     length counts kind and what follows
//	| uint16 | byte | else:  number uint64, sent int64|     sent is the sender's stamp
//	+--------+------+---------------------------------+

// kind of a frame.
type kind byte

const (
	demoHello kind = iota + 1 // the first on every connection
	demoRequest
	demoReply
	demoQuery
	demoAnswer
)

func (k kind) String() string {
	return [...]string{demoHello: "hello", demoRequest: "request", demoReply: "reply", demoQuery: "query", demoAnswer: "answer"}[k]
}

const (
	demoTokenSize = 16
	demoMaxFrame  = 64 // of anything longer nothing is read
	demoBodySize  = 16
)

// conn is one connection between two hosts. One goroutine uses it.
type conn struct {
	net.Conn
	host  *actor
	peer  string
	diary *diary         // of the goroutine that uses it
	at    clock.HostTime // when the last message was received
	in    *bufio.Reader
	out   []byte
}

func newConn(host *actor, peer string, c net.Conn) *conn {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetNoDelay(true) // at worst the delays are longer
	}
	return &conn{Conn: c, host: host, peer: peer, in: bufio.NewReaderSize(c, 4*demoMaxFrame)}
}

// hello introduces the host to the one that it called.
func (c *conn) hello(token []byte) error {
	return c.write(demoHello, append(bytes.Clone(token), c.host.name...))
}

// welcome reads the caller's hello. Any program on the machine can connect, so nothing else is read before it.
func (c *conn) welcome(token []byte) error {
	kind, body, err := c.read()
	switch {
	case err != nil:
		return err
	case kind != demoHello || len(body) < len(token) || subtle.ConstantTimeCompare(body[:len(token)], token) != 1:
		return errors.New("a stranger")
	case string(body[len(token):]) != c.peer:
		return fmt.Errorf("%q instead of %s", body[len(token):], c.peer)
	}
	return nil
}

// send sends one message with the host's stamp in it, taken as late as can be.
func (c *conn) send(kind kind, number uint64) error {
	var body [demoBodySize]byte
	binary.BigEndian.PutUint64(body[:8], number)
	sent := c.host.now()
	binary.BigEndian.PutUint64(body[8:], uint64(sent))
	c.diary.message("s", kind, number, sent)
	return c.write(kind, body[:])
}

// receive waits for a message, stamps it, notes it in the host's list and returns its number. The error is io.EOF if the
// peer has ended between two messages.
func (c *conn) receive(want kind) (uint64, error) {
	kind, body, err := c.read()
	received := c.host.now()
	if err == io.EOF {
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("lost %s: %w", c.peer, err)
	}
	if kind != want || len(body) != demoBodySize {
		return 0, fmt.Errorf("%s sent a frame of kind %d with %d bytes, not one of kind %d", c.peer, kind, len(body), want)
	}
	sent := clock.HostTime(binary.BigEndian.Uint64(body[8:]))
	if sent < -clock.Limit || sent > clock.Limit {
		return 0, fmt.Errorf("%s sent the stamp %d, which no clock shows", c.peer, sent)
	}
	number := binary.BigEndian.Uint64(body[:8])
	c.host.note(c.peer, trace.Message{Sent: sent, Received: received})
	c.diary.message("f", kind, number, received)
	c.at = received
	return number, nil
}

// ask sends a message and waits for what answers it.
func (c *conn) ask(kind kind, number uint64, answer kind) error {
	if err := c.send(kind, number); err != nil {
		return err
	}
	got, err := c.receive(answer)
	switch {
	case err == io.EOF:
		return fmt.Errorf("lost %s: it left a message without answer", c.peer)
	case err == nil && got != number:
		return fmt.Errorf("%s answered message %d instead of %d", c.peer, got, number)
	}
	return err
}

func (c *conn) write(kind kind, body []byte) error {
	c.out = binary.BigEndian.AppendUint16(c.out[:0], uint16(1+len(body)))
	c.out = append(append(c.out, byte(kind)), body...)
	if err := c.SetWriteDeadline(time.Now().Add(demoPatience)); err != nil {
		return fmt.Errorf("lost %s: %w", c.peer, err)
	}
	if _, err := c.Write(c.out); err != nil {
		return fmt.Errorf("lost %s: %w", c.peer, err)
	}
	return nil
}

func (c *conn) read() (kind, []byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(demoPatience)); err != nil {
		return 0, nil, err
	}
	return readFrame(c.in)
}

// readFrame reads one frame; the body lasts until the next. The error is io.EOF only where no frame has begun.
func readFrame(in *bufio.Reader) (kind, []byte, error) {
	head, err := in.Peek(2)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	length := int(binary.BigEndian.Uint16(head))
	if length == 0 || length > demoMaxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes, where 1 to %d may stand", length, demoMaxFrame)
	}
	frame, err := in.Peek(2 + length)
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	_, _ = in.Discard(len(frame)) // it is all in the buffer
	return kind(frame[2]), frame[3:], nil
}
