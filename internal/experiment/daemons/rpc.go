package daemons

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"meridian/internal/experiment/protocol"
	"meridian/sensor"
)

// rpc is a load of requests and responses over TCP: to one server or to several at once, where a call is done when some or all have
// answered. A server can be made slow.
//
// Requests and responses are 24 bytes: the sender's tag (sensor.Tag) and the number of the request as big-endian uint64, unique among
// those of one caller to one server.
var rpc = &standard{
	spec: protocol.Spec{Name: "rpc", Doc: "requests and responses over TCP, to one host or to several", Phases: []protocol.PhaseSpec{
		{Name: "serve", Doc: "listens and answers from now on", With: []protocol.Param{{Name: "port", Doc: "of TCP (default 4300)"}}},
		{Name: "delay", Doc: "answers later from now on", With: []protocol.Param{{Name: "for", Doc: "how much, such as 200ms; 0s again at once", Required: true}}},
		{Name: "call", Doc: "calls; its result has calls, p50_ns, p99_ns, max_ns until enough have answered", With: []protocol.Param{
			{Name: "to", Doc: "hosts, each of which gets a request of each call", Required: true},
			{Name: "port", Doc: "of TCP (default 4300)"},
			{Name: "count", Doc: "calls (default 100)"},
			{Name: "need", Doc: "how many must answer until a call is done (default all)"},
			{Name: "every", Doc: "time between the starts of calls, such as 10ms (default: one after the other)"},
			{Name: "nagle", Doc: "true: each request in two writes, with Nagle's algorithm: the second waits for the server's delayed acknowledgement"},
		}},
	}},
	make: func(context.Context) (map[string]protocol.Phase, func(), error) {
		e, err := readEnvironment()
		s := &rpcHost{environment: e, open: make(map[net.Conn]bool)}
		return map[string]protocol.Phase{"serve": s.serve, "delay": s.setDelay, "call": s.call}, s.end, err
	},
}

// Events of calls. The id tells a request among all of an experiment: it is that of its tag.
var (
	rpcCall    = sensor.NewEvent2[int64, int64]("rpc", "call", "call", "hosts")
	rpcDone    = sensor.NewEvent2[int64, int64]("rpc", "done", "call", "answers")
	rpcRequest = sensor.NewEvent3[uint64, int64, string]("rpc", "request", "id", "call", "to")
	rpcReceive = sensor.NewEvent1[uint64]("rpc", "receive", "id")
	rpcReply   = sensor.NewEvent1[uint64]("rpc", "reply", "id")
	rpcAnswer  = sensor.NewEvent3[uint64, int64, string]("rpc", "answer", "id", "call", "from")
)

const (
	rpcPort      = 4300
	rpcBytes     = tagBytes + 8
	rpcMaxCalls  = 10_000_000
	answerWithin = 30 * time.Second // of requests that are open when the last call is done
)

// rpcHost serves and calls.
type rpcHost struct {
	*environment
	delayed  atomic.Int64 // ns
	listener net.Listener
	serving  sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool
}

func (s *rpcHost) serve(_ context.Context, c *protocol.Call) (any, error) {
	with := struct {
		Port int `json:"port"`
	}{rpcPort}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	if s.listener != nil {
		return nil, errors.New("it serves already")
	}
	own, err := s.address(s.host)
	if err != nil {
		return nil, err
	}
	if s.listener, err = net.Listen("tcp", net.JoinHostPort(own, strconv.Itoa(with.Port))); err != nil {
		return nil, err
	}
	s.serving.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return // it is closed at the end
			}
			s.mu.Lock()
			s.open[conn] = true
			s.mu.Unlock()
			s.serving.Go(func() { s.answer(conn) })
		}
	})
	return nil, nil
}

// answer answers the requests of a caller, in their order.
func (s *rpcHost) answer(conn net.Conn) {
	defer conn.Close()
	var b [rpcBytes]byte
	for {
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			return // the caller has ended
		}
		var tag sensor.Tag
		if tag.UnmarshalBinary(b[:tagBytes]) != nil {
			return
		}
		id := tag.ID()
		sensor.Receive(id)
		rpcReceive.Emit(id)
		if d := s.delayed.Load(); d > 0 {
			time.Sleep(time.Duration(d))
		}
		tag = sensor.NewTag()
		if _, err := tag.AppendBinary(b[:0]); err != nil {
			return
		}
		rpcReply.Emit(id)
		sensor.Send(tag.ID())
		if _, err := conn.Write(b[:]); err != nil {
			return
		}
	}
}

func (s *rpcHost) setDelay(_ context.Context, c *protocol.Call) (any, error) {
	var with struct {
		For string `json:"for"`
	}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(with.For)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("for: %q: want a time such as 200ms", with.For)
	}
	s.delayed.Store(int64(d))
	return nil, nil
}

// end closes all connections of a server and waits for its goroutines.
func (s *rpcHost) end() {
	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.mu.Lock()
	for conn := range s.open {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
}

// callWith are the parameters of call.
type callWith struct {
	To    []string `json:"to"`
	Port  int      `json:"port"`
	Count int      `json:"count"`
	Need  int      `json:"need"`
	Every string   `json:"every"`
	Nagle bool     `json:"nagle"`
}

func (w *callWith) check() (every time.Duration, err error) {
	if w.Need == 0 {
		w.Need = len(w.To)
	}
	if w.Every != "" {
		if every, err = time.ParseDuration(w.Every); err != nil || every < 0 {
			return 0, fmt.Errorf("every: %q: want a time such as 10ms", w.Every)
		}
	}
	switch {
	case len(w.To) == 0:
		return 0, errors.New("to: want one host or more")
	case w.Count < 1 || w.Count > rpcMaxCalls:
		return 0, fmt.Errorf("count: %d: 1 to %d", w.Count, rpcMaxCalls)
	case w.Need < 1 || w.Need > len(w.To):
		return 0, fmt.Errorf("need: %d: 1 to %d", w.Need, len(w.To))
	}
	return every, nil
}

// caller is one phase call at work.
type caller struct {
	conns   []net.Conn
	to      []string
	first   int           // bytes of a request in the first write
	pending []chan sent   // requests that wait for their answers, by server, in their order
	answers chan answered // of all servers
}

// sent is a request, and answered the answer to one.
type sent struct {
	id   uint64
	call int64
}

type answered struct {
	call int64
	err  error
}

// maxPending bounds the requests to a server that are open.
const maxPending = 1 << 16

func (s *rpcHost) call(ctx context.Context, c *protocol.Call) (_ any, err error) {
	with := callWith{Port: rpcPort, Count: 100}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	every, err := with.check()
	if err != nil {
		return nil, err
	}
	r := &caller{to: with.To, first: rpcBytes, answers: make(chan answered, len(with.To))}
	var readers sync.WaitGroup
	ended := make(chan struct{})
	closeAll := func() {
		for _, conn := range r.conns {
			_ = conn.Close()
		}
	}
	defer func() {
		closeAll()
		close(ended)
		readers.Wait()
	}()
	if with.Nagle {
		r.first = tagBytes
	}
	for _, host := range with.To {
		address, err := s.address(host)
		if err != nil {
			return nil, err
		}
		conn, err := dial(ctx, net.JoinHostPort(address, strconv.Itoa(with.Port)))
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.(*net.TCPConn); ok && with.Nagle {
			if err := tcp.SetNoDelay(false); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
		}
		r.conns, r.pending = append(r.conns, conn), append(r.pending, make(chan sent, maxPending))
	}
	for i := range r.conns {
		readers.Go(func() { r.read(i, ended) })
	}
	stop := context.AfterFunc(ctx, closeAll)
	defer stop()
	return r.calls(ctx, &with, every)
}

// read reads the answers of a server.
func (r *caller) read(i int, ended <-chan struct{}) {
	var b [rpcBytes]byte
	for {
		a := answered{}
		if _, err := io.ReadFull(r.conns[i], b[:]); err != nil {
			a.err = fmt.Errorf("%s: %w", r.to[i], err)
		} else {
			var tag sensor.Tag
			a.err = tag.UnmarshalBinary(b[:tagBytes])
			select {
			case request := <-r.pending[i]:
				sensor.Receive(tag.ID())
				rpcAnswer.Emit(request.id, request.call, r.to[i])
				a.call = request.call
			default:
				a.err = fmt.Errorf("%s: an answer without a request", r.to[i])
			}
		}
		select {
		case r.answers <- a:
		case <-ended:
			return
		}
		if a.err != nil {
			return
		}
	}
}

// request sends the requests of a call.
func (r *caller) request(call int64) error {
	for i, conn := range r.conns {
		tag := sensor.NewTag()
		var b [rpcBytes]byte
		if _, err := tag.AppendBinary(b[:0]); err != nil {
			return err
		}
		binary.BigEndian.PutUint64(b[tagBytes:], uint64(call))
		select {
		case r.pending[i] <- sent{tag.ID(), call}:
		default:
			return fmt.Errorf("%s: %d requests without an answer", r.to[i], maxPending)
		}
		rpcRequest.Emit(tag.ID(), call, r.to[i])
		sensor.Send(tag.ID())
		for _, part := range [][]byte{b[:r.first], b[r.first:]} {
			if len(part) == 0 {
				continue
			}
			if _, err := conn.Write(part); err != nil {
				return fmt.Errorf("%s: %w", r.to[i], err)
			}
		}
	}
	return nil
}

// called is the result of call.
type called struct {
	Calls int   `json:"calls"`
	P50Ns int64 `json:"p50_ns"`
	P99Ns int64 `json:"p99_ns"`
	MaxNs int64 `json:"max_ns"`
}

func (r *caller) calls(ctx context.Context, with *callWith, every time.Duration) (*called, error) {
	var took []int64
	open := 0 // requests without an answer
	next := time.Now()
	for n := int64(1); n <= int64(with.Count); n++ {
		if wait := time.Until(next); wait > 0 {
			time.Sleep(wait)
		}
		next = next.Add(every)
		began := time.Now()
		rpcCall.Emit(n, int64(len(with.To)))
		if err := r.request(n); err != nil {
			return nil, err
		}
		open += len(with.To)
		for have := 0; have < with.Need; {
			a, err := r.next(ctx, answerWithin)
			if err != nil {
				return nil, err
			}
			if open--; a.call == n {
				have++
			}
		}
		rpcDone.Emit(n, int64(with.Need))
		took = append(took, int64(time.Since(began)))
	}
	for ; open > 0; open-- { // of those that were not needed
		if _, err := r.next(ctx, answerWithin); err != nil {
			return nil, err
		}
	}
	slices.Sort(took)
	return &called{len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1]}, nil
}

// next returns the next answer.
func (r *caller) next(ctx context.Context, within time.Duration) (answered, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case a := <-r.answers:
		return a, a.err
	case <-ctx.Done():
		return answered{}, ctx.Err()
	case <-timer.C:
		return answered{}, fmt.Errorf("no answer within %v", within)
	}
}
