package daemons

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"meridian/internal/experiment/protocol"
	"meridian/sensor"
)

// pipeline sends a file through hosts, one after the other, over TCP: the socket pipeline of NetSpec's example (Dinkel 2013, chapter 4).
// The first host makes in.bin, those between pass messages on, the last writes out.bin.
//
// Each message is a header of 20 bytes, the sender's tag (sensor.Tag) and the length as big-endian uint32, and the data. Length 0 is
// the end. The receiver answers each message with a tag of its own, the end with none: messages both ways bound the clocks of both.
var pipeline = &standard{
	spec: protocol.Spec{Name: "pipeline", Doc: "sends a file through hosts over TCP, message by message", Phases: []protocol.PhaseSpec{
		{Name: "setup", Doc: "listens, and connects to the next host", With: []protocol.Param{
			{Name: "order", Doc: "the hosts, first to last", Required: true},
			{Name: "port", Doc: "of TCP, on all hosts (default 4200)"},
		}},
		{Name: "transfer", Doc: "sends the file; its result has messages and bytes", With: []protocol.Param{
			{Name: "bytes", Doc: "size of the file (default 1048576)"},
			{Name: "message", Doc: "bytes of a message (default 4096)"},
		}},
		{Name: "cleanup", Doc: "closes all connections"},
	}},
	make: func(context.Context) (map[string]protocol.Phase, func(), error) {
		e, err := readEnvironment()
		p := &stage{environment: e}
		return map[string]protocol.Phase{"setup": p.setup, "transfer": p.transfer, "cleanup": p.cleanup}, p.close, err
	},
}

// Events of a pipeline. The id is the message's on its way between two hosts, the same at both ends.
var (
	pipelineSend    = sensor.NewEvent3[uint64, int64, int64]("pipeline", "send", "id", "message", "bytes")
	pipelineReceive = sensor.NewEvent3[uint64, int64, int64]("pipeline", "receive", "id", "message", "bytes")
)

// pipelineAck is the answer to a message.
var pipelineAck = sensor.NewMark("pipeline", "ack")

const (
	tagBytes        = 16
	pipelineHeader  = tagBytes + 4
	maxMessage      = 1 << 24
	connectWithin   = 20 * time.Second
	connectAgain    = 10 * time.Millisecond
	defaultPort     = 4200
	defaultBytes    = 1 << 20
	defaultMessage  = 4096
	maxPipelineFile = 1 << 40
)

// stage is a host of a pipeline.
type stage struct {
	*environment
	before, after net.Conn // nil at the first and the last
	listener      net.Listener
	buffer        []byte
	acks          chan error // how the reading of answers ended
	ack           [tagBytes]byte
}

func (s *stage) setup(ctx context.Context, c *protocol.Call) (any, error) {
	with := struct {
		Order []string `json:"order"`
		Port  int      `json:"port"`
	}{Port: defaultPort}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	at := slices.Index(with.Order, s.host)
	switch {
	case at < 0:
		return nil, fmt.Errorf("order: %s is not in it", s.host)
	case len(with.Order) < 2:
		return nil, errors.New("order: want two hosts or more")
	case s.before != nil || s.after != nil:
		return nil, errors.New("it is set up already: phase cleanup comes first")
	}
	if at > 0 {
		own, err := s.address(s.host)
		if err != nil {
			return nil, err
		}
		if s.listener, err = net.Listen("tcp", net.JoinHostPort(own, strconv.Itoa(with.Port))); err != nil {
			return nil, err
		}
	}
	if at < len(with.Order)-1 {
		next, err := s.address(with.Order[at+1])
		if err != nil {
			return nil, err
		}
		if s.after, err = dial(ctx, net.JoinHostPort(next, strconv.Itoa(with.Port))); err != nil {
			return nil, err
		}
	}
	if s.listener != nil {
		stop := context.AfterFunc(ctx, func() { _ = s.listener.Close() })
		defer stop()
		var err error
		if s.before, err = s.listener.Accept(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// dial connects to a host that may not listen yet.
func dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	var d net.Dialer
	for {
		c, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(connectAgain):
		}
	}
}

// transferred is the result of transfer.
type transferred struct {
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
}

func (s *stage) transfer(ctx context.Context, c *protocol.Call) (any, error) {
	with := struct {
		Bytes   int64 `json:"bytes"`
		Message int   `json:"message"`
	}{defaultBytes, defaultMessage}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	if with.Bytes < 1 || with.Bytes > maxPipelineFile || with.Message < 1 || with.Message > maxMessage {
		return nil, fmt.Errorf("bytes: 1 to %d, message: 1 to %d", int64(maxPipelineFile), maxMessage)
	}
	if s.before == nil && s.after == nil {
		return nil, errors.New("not set up: phase setup comes first")
	}
	stop := context.AfterFunc(ctx, s.close)
	defer stop()
	s.buffer = make([]byte, pipelineHeader+max(with.Message, 4096))
	if s.after != nil {
		s.acks = make(chan error, 1)
		go func(from net.Conn, ended chan<- error) { ended <- readAcks(from) }(s.after, s.acks)
	}
	switch {
	case s.before == nil:
		if err := makeFile("in.bin", with.Bytes); err != nil {
			return nil, err
		}
		return s.first(with.Message)
	case s.after == nil:
		return s.last()
	}
	return s.between()
}

// makeFile writes random bytes.
func makeFile(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.Reader, size)
	return errors.Join(err, f.Close())
}

// first sends the file.
func (s *stage) first(message int) (*transferred, error) {
	f, err := os.Open("in.bin")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := new(transferred)
	for {
		n, err := io.ReadFull(f, s.buffer[pipelineHeader:pipelineHeader+message])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		if n > 0 {
			t.Messages, t.Bytes = t.Messages+1, t.Bytes+int64(n)
		}
		if sent := s.send(t.Messages, n); sent != nil {
			return nil, sent
		}
		if n == 0 {
			return t, <-s.acks
		}
	}
}

// readAcks reads the answers of the next host until it closes its side.
func readAcks(from net.Conn) error {
	r := bufio.NewReader(from)
	var b [tagBytes]byte
	for {
		if _, err := io.ReadFull(r, b[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("answers: %w", err)
		}
		var tag sensor.Tag
		if err := tag.UnmarshalBinary(b[:]); err != nil {
			return err
		}
		if tag.IsZero() { // the answer to the end
			return nil
		}
		pipelineAck.Receive(tag.ID())
	}
}

// answer answers a message; the end is answered with no tag.
func (s *stage) answer(n int) error {
	tag := sensor.Tag{}
	if n > 0 {
		tag = sensor.NewTag()
	}
	b, err := tag.AppendBinary(s.ack[:0])
	if err != nil {
		return err
	}
	if n > 0 {
		pipelineAck.Send(tag.ID())
	}
	_, err = s.before.Write(b)
	return err
}

// send sends n bytes of the buffer as a message; none as the end.
func (s *stage) send(number int64, n int) error {
	tag := sensor.NewTag()
	if _, err := tag.AppendBinary(s.buffer[:0]); err != nil {
		return err
	}
	binary.BigEndian.PutUint32(s.buffer[16:], uint32(n))
	if n > 0 {
		sensor.Send(tag.ID())
		pipelineSend.Emit(tag.ID(), number, int64(n))
	}
	_, err := s.after.Write(s.buffer[:pipelineHeader+n])
	return err
}

// receive reads a message into the buffer; none is the end.
func (s *stage) receive(r io.Reader, number int64) (n int, err error) {
	if _, err := io.ReadFull(r, s.buffer[:pipelineHeader]); err != nil {
		return 0, fmt.Errorf("message %d: %w", number, err)
	}
	var tag sensor.Tag
	if err := tag.UnmarshalBinary(s.buffer[:16]); err != nil {
		return 0, err
	}
	size := binary.BigEndian.Uint32(s.buffer[16:])
	if size > maxMessage {
		return 0, fmt.Errorf("message %d has %d bytes, at most %d", number, size, maxMessage)
	}
	if n = int(size); n == 0 {
		return 0, nil
	}
	if len(s.buffer) < pipelineHeader+n {
		s.buffer = make([]byte, pipelineHeader+n)
	}
	if _, err := io.ReadFull(r, s.buffer[pipelineHeader:pipelineHeader+n]); err != nil {
		return 0, fmt.Errorf("message %d: %w", number, err)
	}
	sensor.Receive(tag.ID())
	pipelineReceive.Emit(tag.ID(), number, int64(n))
	return n, nil
}

// pass receives all messages and gives each to a function.
func (s *stage) pass(to func(number int64, n int) error) (*transferred, error) {
	t := new(transferred)
	r := bufio.NewReader(s.before)
	for {
		n, err := s.receive(r, t.Messages+1)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			t.Messages, t.Bytes = t.Messages+1, t.Bytes+int64(n)
		}
		if err := to(t.Messages, n); err != nil {
			return nil, err
		}
		if err := s.answer(n); err != nil {
			return nil, err
		}
		if n == 0 {
			return t, nil
		}
	}
}

// between passes messages on.
func (s *stage) between() (*transferred, error) {
	t, err := s.pass(s.send)
	if err != nil {
		return nil, err
	}
	return t, <-s.acks
}

// last writes the file.
func (s *stage) last() (t *transferred, err error) {
	f, err := os.Create("out.bin")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return s.pass(func(_ int64, n int) error {
		_, err := f.Write(s.buffer[pipelineHeader : pipelineHeader+n])
		return err
	})
}

func (s *stage) cleanup(context.Context, *protocol.Call) (any, error) {
	s.close()
	s.before, s.after, s.listener = nil, nil, nil
	return nil, nil
}

// close closes all connections.
func (s *stage) close() {
	for _, c := range []net.Conn{s.before, s.after} {
		if c != nil {
			_ = c.Close()
		}
	}
	if s.listener != nil {
		_ = s.listener.Close()
	}
}
