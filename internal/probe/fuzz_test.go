package probe

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"meridian/internal/testseed"
)

// seeds are genuine datagrams of one session and the keys of it.
func seeds(f *testing.F) (all [][]byte) {
	key, code := newAuthCode(make([]byte, 32)), newAuthCode([]byte("of another"))
	for k := hello; k <= answer; k++ {
		var b [Size]byte
		begin(b[:], k, 7)
		putNumber(b[:], 1)
		if k == question || k == answer {
			code.sign(b[:])
		} else {
			key.sign(b[:])
		}
		all = append(all, b[:])
	}
	return append(all, nil, all[0][:20], append(all[0], 0))
}

var peerOfFuzz = netip.MustParseAddrPort("127.0.0.1:9")

// FuzzServer has a server with one session take any datagram. Without the key none is answered.
func FuzzServer(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	s, err := Listen(context.Background(), "127.0.0.1:0", Options{Key: NewKey()})
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	s.sessions[7] = &session{id: 7, from: peerOfFuzz, code: newAuthCode([]byte("another session")), bucket: newBucket(1, time.Now())}
	now := s.clocks.read()
	testseed.Fuzz(f, func(t *testing.T, b []byte) {
		n := copy(s.in[:], b)
		if cause := s.take(arrival{n: n, from: peerOfFuzz}, now); cause == accepted || cause >= causes || s.counts.sent.Load() > 0 || len(s.sessions) != 1 {
			t.Errorf("%x is taken as %d", b, cause)
		}
	})
}

// FuzzClient has a client take any datagram: as it comes, and signed by the server's own key.
func FuzzClient(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b, false)
		f.Add(b, true)
	}
	c, err := Dial(context.Background(), Options{Key: NewKey()}, peerOfFuzz.String())
	if err != nil {
		f.Fatal(err)
	}
	defer c.Close()
	h := c.hosts[0]
	c.each = func(s Sample) {
		if !valid(s.T2.Time) || !valid(s.T3.Time) {
			f.Errorf("a sample of %+v", s)
		}
	}
	now := c.clocks.read()
	testseed.Fuzz(f, func(t *testing.T, b []byte, signed bool) {
		h.state, h.session, h.code = opened, 7, newAuthCode([]byte("session"))
		for i := range h.pending {
			h.pending[i] = pending{asked: true, sample: Sample{Number: uint64(i), T1: now.stamp()}}
		}
		n := copy(c.in[:], b)
		if signed && n >= Size {
			h.code.sign(c.in[:])
		}
		before := c.counts.exchanges.Load()
		cause := c.take(arrival{n: n, from: peerOfFuzz}, now)
		if took := c.counts.exchanges.Load() > before; cause >= causes || took && !signed || took != (cause == accepted) {
			t.Errorf("%x is taken as %d", b, cause)
		}
	})
}
