package probe

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"time"
)

// cookies makes cookies: codes of a client's nonce and address by a secret of the server's own. A client that sends one back has
// shown that it receives at its address, and the server had to remember nothing until then.
//
// A secret is renewed at intervals; the cookies of the one before stay good. Nonces that were used are kept as long as their
// secret: there are only as many as clients with the key have opened sessions.
type cookies struct {
	secrets [2]*authCode
	used    [2]map[[16]byte]struct{}
	renewed time.Time
	address [18]byte
}

// cookieInterval is the least time for which a cookie is good; the greatest is twice as much.
const cookieInterval = time.Minute

func newCookies(now time.Time) (c cookies) {
	c.renewed = now
	for i := range c.secrets {
		c.secrets[i], c.used[i] = newSecret(), map[[16]byte]struct{}{}
	}
	return c
}

func newSecret() *authCode {
	k := NewKey()
	return newAuthCode(k[:])
}

func (c *cookies) renew(now time.Time) {
	for range 2 {
		if now.Sub(c.renewed) < cookieInterval {
			return
		}
		c.secrets[1], c.used[1] = c.secrets[0], c.used[0]
		c.secrets[0], c.used[0] = newSecret(), map[[16]byte]struct{}{}
		if c.renewed = c.renewed.Add(cookieInterval); now.Sub(c.renewed) >= 2*cookieInterval {
			c.renewed = now.Add(-cookieInterval)
		}
	}
}

func (c *cookies) by(secret *authCode, nonce []byte, from netip.AddrPort) []byte {
	a := from.Addr().As16()
	copy(c.address[:], a[:])
	binary.BigEndian.PutUint16(c.address[16:], from.Port())
	return secret.of(nonce, c.address[:])[:atMAC-atCookie]
}

// of returns the cookie of a nonce and an address. It is valid until the next call.
func (c *cookies) of(now time.Time, nonce []byte, from netip.AddrPort) []byte {
	c.renew(now)
	return c.by(c.secrets[0], nonce, from)
}

// valid reports whether a cookie is the server's own.
func (c *cookies) valid(now time.Time, nonce []byte, from netip.AddrPort, cookie []byte) bool {
	c.renew(now)
	for _, s := range c.secrets {
		if hmac.Equal(c.by(s, nonce, from), cookie) {
			return true
		}
	}
	return false
}

// use marks a nonce as used; false if it was.
func (c *cookies) use(nonce []byte) bool {
	n := [16]byte(nonce)
	for _, u := range c.used {
		if _, ok := u[n]; ok {
			return false
		}
	}
	c.used[0][n] = struct{}{}
	return true
}

// maxSeen is how many nonces are remembered: 1 MB of them, once so many clients have come.
const maxSeen = 1 << 16

// seen remembers the latest nonces of hellos. Only those whose code was right come here.
type seen struct {
	known map[[16]byte]struct{}
	order [][16]byte
	next  int
}

// add remembers a nonce; false if it was known.
func (s *seen) add(nonce []byte) bool {
	n := [16]byte(nonce)
	if _, ok := s.known[n]; ok {
		return false
	}
	if s.known == nil {
		s.known = map[[16]byte]struct{}{}
	}
	if len(s.order) < maxSeen {
		s.order = append(s.order, n)
	} else {
		delete(s.known, s.order[s.next])
		s.order[s.next] = n
		s.next = (s.next + 1) % maxSeen
	}
	s.known[n] = struct{}{}
	return true
}

// window tells numbers that come for the first time from those that come again: the greatest one, and which of the 64 up to
// it have come. Numbers before those count as known.
type window struct {
	greatest uint32
	came     uint64 // bit i: greatest - i
}

func (w *window) add(n uint32) bool {
	switch {
	case n > w.greatest:
		if shift := n - w.greatest; shift < 64 {
			w.came = w.came<<shift | 1
		} else {
			w.came = 1
		}
		w.greatest = n
		return true
	case n == 0 || w.greatest-n >= 64 || w.came>>(w.greatest-n)&1 == 1:
		return false
	}
	w.came |= 1 << (w.greatest - n)
	return true
}

// bucket limits a rate: it fills with tokens up to those of a second.
type bucket struct {
	rate, tokens float64
	at           time.Time
}

func newBucket(rate float64, now time.Time) bucket { return bucket{rate, rate, now} }

func (b *bucket) take(now time.Time) bool {
	b.tokens = min(b.rate, b.tokens+now.Sub(b.at).Seconds()*b.rate)
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// sources limits the handshakes of each address: sourceRate a second. Addresses share a table of fixed size, so that many of them
// make no state; two that fall on one place share its rate.
type sources struct {
	seed    maphash.Seed
	buckets [1024]bucket
}

const sourceRate = 8

func newSources() sources { return sources{seed: maphash.MakeSeed()} }

func (s *sources) take(from netip.Addr, now time.Time) bool {
	b := &s.buckets[maphash.Comparable(s.seed, from)%uint64(len(s.buckets))]
	b.rate = sourceRate
	return b.take(now)
}

func newNonce(b []byte) { _, _ = rand.Read(b) }
