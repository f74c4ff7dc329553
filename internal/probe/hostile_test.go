package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"meridian/internal/testseed"
)

// relay stands between a client and a server and keeps what the client sent.
type relay struct {
	*net.UDPConn
	server netip.AddrPort
	sent   [][]byte
	done   chan struct{}
}

func newRelay(t *testing.T, server netip.AddrPort) *relay {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{c, server, nil, make(chan struct{})}
	go func() {
		defer close(r.done)
		var client netip.AddrPort
		var b [2048]byte
		for {
			n, from, err := c.ReadFromUDPAddrPort(b[:])
			if err != nil {
				return
			}
			to := client
			if from != server {
				client, to = from, server
				r.sent = append(r.sent, append([]byte(nil), b[:n]...))
			}
			_, _ = c.WriteToUDPAddrPort(b[:n], to)
		}
	}()
	t.Cleanup(func() { c.Close(); <-r.done })
	return r
}

func (r *relay) addr() netip.AddrPort { return r.LocalAddr().(*net.UDPAddr).AddrPort() }

// stop ends the relaying; the socket stays.
func (r *relay) stop(t *testing.T) {
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	<-r.done
}

var forged = flag.Int("forged", 20_000, "how many hostile datagrams are sent")

func TestHostileDatagramsGetNoAnswerAndLeaveNoState(t *testing.T) {
	rng := testseed.New(t)
	key := NewKey()
	s, err := Listen(t.Context(), "127.0.0.1:0", Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	r := newRelay(t, s.Addr())
	talk(t, key, r.addr(), 20)
	r.stop(t)
	stranger, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()

	// The client ends with its last question under way.
	for n := uint64(len(r.sent)); s.Stats().Received < n || s.Stats().Sent < n; {
		if t.Context().Err() != nil {
			t.Fatal("the server did not answer")
		}
		time.Sleep(time.Millisecond)
	}
	before := s.Stats()
	var want [causes]uint64
	session := sessionOf(r.sent[len(r.sent)-1])
	total, start := *forged, time.Now()
	for i := range total {
		b, here, there := hostile(rng, r.sent, session)
		if rng.IntN(2) == 0 {
			want[here]++
			_, err = r.WriteToUDPAddrPort(b, s.Addr())
		} else {
			want[there]++
			_, err = stranger.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i%64 == 63 && s.Stats().Received < before.Received+uint64(i)+1 && ctx.Err() == nil { // lest the socket's buffer overflows
			runtime.Gosched()
		}
	}
	for deadline := time.Now().Add(time.Minute); s.Stats().Received < before.Received+uint64(total) && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	got := s.Stats()
	if time.Since(start) > cookieInterval { // cookies may have expired meanwhile
		for _, counts := range []*[causes]uint64{&want, &before.Dropped, &got.Dropped} {
			counts[Replayed], counts[BadCookie] = counts[Replayed]+counts[BadCookie], 0
		}
	}
	for c := range want {
		if n := got.Dropped[c] - before.Dropped[c]; n != want[c] {
			t.Errorf("%s: %d datagrams, want %d", Cause(c), n, want[c])
		}
	}
	if got.Sent != before.Sent || got.Sessions != before.Sessions || got.Opened != before.Opened {
		t.Errorf("before: %+v\nafter: %+v", before, got)
	}
	if len(s.sessions) != 1 || len(s.hellos.known) != 1 || len(s.cookies.used[0])+len(s.cookies.used[1]) != 1 {
		t.Errorf("%d sessions, %d hellos, %d cookies, want 1 of each", len(s.sessions), len(s.hellos.known), len(s.cookies.used[0]))
	}
	for _, c := range []*net.UDPConn{stranger, r.UDPConn} {
		_ = c.SetReadDeadline(time.Now())
		var b [2048]byte
		if n, err := c.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("an answer of %d bytes, %v", n, err)
		}
	}
	t.Logf("%d datagrams: %v", total, want)
}

// talk exchanges with a server.
func talk(t *testing.T, key Key, server netip.AddrPort, exchanges int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c, err := Dial(ctx, Options{Key: key, Rate: 1000}, server.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(ctx, func(s Sample) {
		if int(s.Number) >= exchanges && int(c.Stats().Exchanges) >= exchanges {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if int(c.Stats().Exchanges) < exchanges {
		t.Fatalf("%+v", c.Stats())
	}
}

// hostile returns a datagram as somebody without the key sends it, and for what the server drops it: from the address of a client
// that has a session, and from another one.
func hostile(rng *rand.Rand, sent [][]byte, session uint32) (b []byte, here, there Cause) {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	switch rng.IntN(7) {
	case 0:
		b = random(rng.IntN(Size))
		if rng.IntN(2) == 0 {
			copy(b, sent[rng.IntN(len(sent))])
		}
		return b, Short, Short
	case 1: // too long, though its beginning be genuine
		return append(append([]byte(nil), sent[rng.IntN(len(sent))]...), random(1+rng.IntN(1000))...), Malformed, Malformed
	case 2:
		b = random(Size)
		b[0] = magic0 + 1 + byte(rng.IntN(255))
		return b, Malformed, Malformed
	case 3: // of a server
		b = random(Size)
		begin(b, []kind{0, cookie, opened, answer, 7, 15}[rng.IntN(6)], session)
		copy(b[atMAC:], random(16))
		return b, Malformed, Malformed
	case 4: // forged from nothing
		b = make([]byte, Size)
		k := []kind{hello, open, question}[rng.IntN(3)]
		begin(b, k, 0)
		copy(b[atNumber:], random(Size-atNumber))
		if k != question {
			return b, BadMAC, BadMAC
		}
		binary.BigEndian.PutUint32(b[atSession:], session)
		return b, BadMAC, Unknown
	case 5: // genuine but for one bit
		b = append([]byte(nil), sent[rng.IntN(len(sent))]...)
		bit := rng.IntN(8 * (Size - atNumber))
		b[atNumber+bit/8] ^= 1 << (bit % 8)
		if b[atKind]&15 == byte(question) {
			return b, BadMAC, Unknown
		}
		return b, BadMAC, BadMAC
	}
	b = sent[rng.IntN(len(sent))]
	switch kind(b[atKind] & 15) {
	case hello:
		return b, Replayed, Replayed
	case open:
		return b, Replayed, BadCookie
	}
	return b, Replayed, Unknown
}
