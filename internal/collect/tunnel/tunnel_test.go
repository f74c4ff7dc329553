package tunnel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/wire"
	"meridian/internal/testseed"
)

// lab is a broker with the agent of a host.
type lab struct {
	t      testing.TB
	b      *broker.Broker
	refuse error
	handle func(ctx context.Context, s *Stream)
	wait   time.Duration
	stop   func()
	end    func() // of the broker
}

func newLab(t testing.TB, handle func(ctx context.Context, s *Stream)) *lab {
	return newLabOf(t, handle, 0)
}

// newImpatientLab has an agent that lets nobody wait.
func newImpatientLab(t testing.TB) *lab { return newLabOf(t, echo, time.Nanosecond) }

func newLabOf(t testing.TB, handle func(ctx context.Context, s *Stream), wait time.Duration) *lab {
	t.Helper()
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, b: b, handle: handle, wait: wait, end: sync.OnceFunc(b.Close)}
	t.Cleanup(l.end)
	l.serve()
	return l
}

func (l *lab) connect(options ...nats.Option) *nats.Conn {
	l.t.Helper()
	c, err := nats.Connect(l.b.URL(), append(options, nats.Timeout(time.Minute))...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// serve runs the agent, and returns when it listens.
func (l *lab) serve() {
	ctx, cancel := context.WithCancel(context.Background())
	c := l.connect(nats.CustomInboxPrefix(wire.OfHost("web", "inbox")))
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, ServeOptions{
			Conn: c, Kind: wire.RunStreams, Host: "web", Refuse: func() error { return l.refuse }, Address: func() string { return "10.0.0.1" },
			Handle: func(ctx context.Context, s *Stream) { l.handle(ctx, s) }, Log: func(string, ...any) {}, wait: l.wait,
		})
	}()
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
	})
	l.t.Cleanup(l.stop)
	for until := time.Now().Add(time.Minute); c.NumSubscriptions() == 0 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if err := c.Flush(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) open() *Stream {
	l.t.Helper()
	s, welcome, err := Open(context.Background(), l.connect(), wire.RunStreams, "web")
	if err != nil {
		l.t.Fatal(err)
	}
	if welcome.Host != "web" || welcome.Address != "10.0.0.1" {
		l.t.Errorf("welcome %+v", welcome)
	}
	l.t.Cleanup(s.Close)
	return s
}

// echo sends back what comes, and ends with a reason.
func echo(_ context.Context, s *Stream) {
	if _, err := io.Copy(s, s); err == nil {
		s.End("done")
		<-s.Over()
	}
}

// Each byte arrives once and in its order, however it is cut into writes and reads, and beyond the window.
func TestBytesArriveOnceInTheirOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t, echo)
	c := l.connect()
	testseed.Check(t, func(t *rapid.T) {
		s, _, err := Open(context.Background(), c, wire.RunStreams, "web")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sizes := rapid.SliceOfN(rapid.IntRange(0, 2*maxData), 0, 12).Draw(t, "sizes")
		reads := rapid.IntRange(1, 2*maxData).Draw(t, "reads")
		var want []byte
		for i, n := range sizes {
			want = append(want, bytes.Repeat([]byte{byte(i), byte(n), byte(i * n)}, n)[:n]...)
		}
		var writer sync.WaitGroup
		writer.Go(func() {
			for at, i := 0, 0; i < len(sizes); i++ {
				if n, err := s.Write(want[at : at+sizes[i]]); err != nil || n != sizes[i] {
					t.Errorf("write of %d: %d, %v", sizes[i], n, err)
				}
				at += sizes[i]
			}
			s.End("")
		})
		var got []byte
		b := make([]byte, reads)
		for err == nil {
			var n int
			n, err = s.Read(b)
			got = append(got, b[:n]...)
		}
		writer.Wait()
		if err != io.EOF || s.Reason() != "done" || s.Err() != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v, %q, %v: %d bytes, want %d", err, s.Reason(), s.Err(), len(got), len(want))
		}
		<-s.Over()
	})
}

func TestAWriterWaitsForItsReader(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	l := newLab(t, func(_ context.Context, s *Stream) {
		<-release
		n, err := io.Copy(io.Discard, s)
		if n != 3*window || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		s.End("")
		<-s.Over()
	})
	s := l.open()
	var wrote sync.WaitGroup
	wrote.Go(func() {
		if _, err := s.Write(make([]byte, 3*window)); err != nil {
			t.Error(err)
		}
		s.End("")
	})
	sent := func() int64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.sent
	}
	for until := time.Now().Add(time.Minute); sent() < window-maxData && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	heard := func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.heard
	}
	for range 2 { // an end that says it is there permits nothing more
		before := heard()
		for until := time.Now().Add(time.Minute); heard().Equal(before) && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
	}
	if n := sent(); n > window || n <= window-maxData {
		t.Errorf("%d bytes were sent to an end that reads nothing", n)
	}
	close(release)
	wrote.Wait()
	<-s.Over()
}

func TestAnEndThatGoesWithoutAWordIsNoticed(t *testing.T) {
	t.Parallel()
	t.Run("operator", func(t *testing.T) {
		t.Parallel()
		broken := make(chan error, 1)
		l := newLab(t, func(_ context.Context, s *Stream) {
			_, err := io.Copy(io.Discard, s)
			broken <- err
		})
		c := l.connect()
		if _, _, err := Open(context.Background(), c, wire.RunStreams, "web"); err != nil {
			t.Fatal(err)
		}
		c.Close() // as if the process were killed
		if err := <-broken; err == nil || !strings.Contains(err.Error(), "the operator has gone") {
			t.Errorf("%v", err)
		}
	})
	t.Run("agent", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, func(ctx context.Context, s *Stream) { <-ctx.Done() })
		s := l.open()
		l.stop() // without an end of the stream
		if _, err := s.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "the agent has gone") || s.Err() == nil {
			t.Errorf("%v, %v", err, s.Err())
		}
		if _, err := s.Write([]byte("x")); err == nil {
			t.Error("a broken stream takes bytes")
		}
	})
	t.Run("broker", func(t *testing.T) {
		t.Parallel()
		broken := make(chan error, 1)
		l := newLab(t, func(_ context.Context, s *Stream) {
			_, err := io.Copy(io.Discard, s)
			broken <- err
		})
		s := l.open()
		l.end()
		if _, err := s.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "broker") {
			t.Errorf("%v", err)
		}
		if err := <-broken; err == nil {
			t.Error("the agent's end noticed nothing")
		}
	})
}

func TestKillIsHeard(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(_ context.Context, s *Stream) {
		<-s.Killed()
		s.End("killed")
		<-s.Over()
	})
	s := l.open()
	s.Kill()
	if _, err := s.Read(make([]byte, 1)); err != io.EOF || s.Reason() != "killed" {
		t.Errorf("%v, %q", err, s.Reason())
	}
	s.End("")
	<-s.Over()
}

func TestNoStreamIsRefusedWithAReason(t *testing.T) {
	t.Parallel()
	l := newLabOf(t, echo, time.Minute)
	c := l.connect()
	want := func(host, text string) {
		t.Helper()
		s, _, err := Open(context.Background(), c, wire.RunStreams, host)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
	want("db", "no agent of \"db\" takes experiments")
	s := l.open()
	s.Close()
	s = l.open() // the agent notices within a moment, for which it lets others wait
	s.End("")
	<-s.Over()
	s.Close()
	l.refuse = errors.New("not today")
	want("web", "refused: not today")
	l = newImpatientLab(t)
	c = l.connect()
	l.open()
	want("web", "refused: it serves another operator (run)")
}

// What an end that is hostile or of another version sends breaks the stream, and nothing else.
func TestWrongFramesBreakTheStream(t *testing.T) {
	t.Parallel()
	c := newLab(t, echo).connect()
	for name, f := range map[string]struct {
		bytes []byte
		want  string
	}{
		"short":          {[]byte("d123"), "header"},
		"gap":            {(&frame{kind: kindData, offset: 5, data: []byte("x")}).encode(), "bytes were lost on the way"},
		"again":          {(&frame{kind: kindData, offset: -1}).encode(), "damaged"},
		"end in a gap":   {(&frame{kind: kindEnd, offset: 1}).encode(), "bytes were lost on the way"},
		"taken too much": {(&frame{kind: kindAlive, taken: 1}).encode(), "has read 1 bytes of the 0"},
		"long":           {(&frame{kind: kindData, data: make([]byte, maxData+1)}).encode(), "damaged"},
	} {
		s := newStream(c, "x", "agent")
		s.take(f.bytes)
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v, want %s", name, err, f.want)
		}
		s.Close()
	}
	s := newStream(c, "x", "agent")
	for i := int64(0); s.Err() == nil && i <= window/maxData; i++ {
		s.take((&frame{kind: kindData, offset: i * maxData, data: make([]byte, maxData)}).encode())
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "more than it may") {
		t.Errorf("beyond the window: %v", err)
	}
	s.Close()
}

func FuzzParseFrame(f *testing.F) {
	f.Add((&frame{kind: kindData, offset: 7, taken: 9, data: []byte("data")}).encode())
	f.Add([]byte{})
	testseed.Fuzz(f, func(t *testing.T, b []byte) {
		x, err := parseFrame(b)
		if err == nil && !bytes.Equal(x.encode(), b) {
			t.Errorf("%x is read as %+v", b, x)
		}
	})
}
