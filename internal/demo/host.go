package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"meridian/clock"
	"meridian/format/messages"
	"meridian/internal/sim"
	"meridian/trace"
)

// errDemoAbandoned ends a host whose demo has ended, in whatever way.
var errDemoAbandoned = errors.New("the demo that this host belongs to has ended")

// actor is one of the demo's hosts, in a process of its own.
type actor struct {
	name  string
	order orders
	clock sim.Clock
	base  clock.HostTime // no stamp is before it

	mu       sync.Mutex
	received map[string][]trace.Message // by sender
	diaries  []*diary
}

// Host reads the order from in, says on out where it listens, and at last that it is done. If in ends before,
// the demo has ended and so does the host.
func Host(ctx context.Context, in io.Reader, out io.Writer) error {
	const longestOrder = 64 << 10
	line, err := bufio.NewReader(io.LimitReader(in, longestOrder)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no order on stdin (%w); it is 'meridian demo' that starts hosts", err)
	}
	h := &actor{received: make(map[string][]trace.Message)}
	if err := json.Unmarshal(line, &h.order); err != nil {
		return fmt.Errorf("order on stdin: %w", err)
	}
	h.name, h.clock = h.order.Clock.Name, h.order.Clock.sim()
	if err := h.clock.Check(); err != nil {
		return err
	}
	h.base = h.now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	abandoned := make(chan struct{})
	go func() {
		defer close(abandoned)
		_, _ = io.Copy(io.Discard, in) // however it ends, the demo is gone
		cancel(errDemoAbandoned)
	}()
	if err := h.play(ctx, out); err != nil {
		// The demo may still be there and in open, so the goroutine ends with the process.
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	if err := errors.Join(h.writeList(), h.writeTrace()); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "done"); err != nil {
		return err
	}
	<-abandoned
	return nil
}

// play plays the part of the host until its callers have ended.
func (h *actor) play(ctx context.Context, out io.Writer) error {
	switch h.name {
	case "web":
		return h.web(ctx)
	case "app":
		return h.serve(ctx, out, "web", h.app)
	case "db":
		return h.serve(ctx, out, "app", h.db)
	}
	return fmt.Errorf("unknown host %q", h.name)
}

// now reads the host's clock: the only time it knows.
func (h *actor) now() clock.HostTime { return h.clock.At(machineNow(h.order.Origin)) }

// note keeps a received message.
func (h *actor) note(from string, m trace.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.received[from] = append(h.received[from], m)
}

// writeList writes what the host received. A sender's half of a message came in the message itself.
func (h *actor) writeList() (err error) {
	l := trace.List{Hosts: demoHosts}
	for to, name := range l.Hosts {
		if name != h.name {
			continue
		}
		for from, sender := range l.Hosts {
			if received := h.received[sender]; len(received) > 0 {
				l.Channels = append(l.Channels, trace.Channel{From: from, To: to, Messages: received})
			}
		}
	}
	file, err := os.Create(filepath.Join(h.order.Dir, h.name+".txt"))
	if err != nil {
		return err
	}
	defer func() {
		if closing := file.Close(); err == nil {
			err = closing
		}
	}()
	if _, err := fmt.Fprintf(file, "# what %s received: FROM TO SENT (by the sender's clock) RECEIVED (by the clock of %s)\n", h.name, h.name); err != nil {
		return err
	}
	return messages.Write(file, &l)
}

// call connects to the host that this one asks. The connection closes when ctx ends; its messages are in the diary.
func (h *actor) call(ctx context.Context, peer string, d *diary) (*conn, error) {
	dialer := net.Dialer{Timeout: demoPatience}
	raw, err := dialer.DialContext(ctx, "tcp", h.order.Dial)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { raw.Close() })
	c := newConn(h, peer, raw)
	c.diary = d
	if err := c.hello(h.order.Token); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}

// serve lets as many callers in as the order says and answers each until it has ended.
func (h *actor) serve(ctx context.Context, out io.Writer, caller string, answer func(context.Context, *conn, uint64) error) error {
	listener, err := listenLoopback(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	if _, err := fmt.Fprintln(out, "listening", listener.Addr()); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	group.SetLimit(h.order.Callers + 16) // some of them may be strangers, which are disconnected
	var mu sync.Mutex
	callers := 0
	full := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return callers >= h.order.Callers
	}
	for !full() {
		raw, err := listener.Accept()
		if full() || ctx.Err() != nil {
			if err == nil {
				raw.Close()
			}
			break
		}
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		group.Go(func() error {
			defer raw.Close()
			defer context.AfterFunc(ctx, func() { raw.Close() })()
			c := newConn(h, caller, raw)
			if c.welcome(h.order.Token) != nil {
				return nil
			}
			mu.Lock()
			callers++
			number := callers
			mu.Unlock()
			if number > h.order.Callers {
				return nil
			}
			if number == h.order.Callers {
				listener.Close()
			}
			c.diary = h.newDiary("worker", number)
			return answer(ctx, c, uint64(number))
		})
	}
	return group.Wait()
}

// listenLoopback listens where only this machine can connect, on a port that is free.
func listenLoopback(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err == nil {
		return l, nil
	}
	if six, errSix := config.Listen(ctx, "tcp", "[::1]:0"); errSix == nil {
		return six, nil
	}
	return nil, err
}
