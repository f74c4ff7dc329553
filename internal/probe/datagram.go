package probe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"math/bits"
)

// Size is the length of each datagram, whatever its kind: an answer is never longer than its question.
const Size = 60

// Places in a datagram. docs/clock-protocol.md draws it.
const (
	atKind     = 2
	atStamps   = 3
	atSession  = 4
	atNumber   = 8
	atT2       = 12
	atHeld     = 20
	atT2Error  = 24
	atT3Error  = 26
	atT3Back   = 28
	atBack     = 34
	atStatus   = 35
	atRealtime = 36
	atNonce    = 12
	atCookie   = 28
	atMAC      = 44
)

const (
	magic0, magic1 = 'm', 'C'
	version        = 1
)

// kind is what a datagram is.
type kind byte

const (
	hello    kind = 1 + iota // client: a nonce
	cookie                   // server: the nonce and a cookie
	open                     // client: both
	opened                   // server: the number of the session
	question                 // client: a number
	answer                   // server: the number and its stamps
)

// authCode signs and checks datagrams by one key: HMAC-SHA-256, of which 16 bytes are sent. It allocates nothing after the first use.
type authCode struct {
	h   hash.Hash
	sum [sha256.Size]byte
}

func newAuthCode(key []byte) *authCode { return &authCode{h: hmac.New(sha256.New, key)} }

// of returns the code of parts in a row. It is valid until the next call.
func (a *authCode) of(parts ...[]byte) []byte {
	a.h.Reset()
	for _, p := range parts {
		a.h.Write(p)
	}
	return a.h.Sum(a.sum[:0])
}

func (a *authCode) whole(b []byte) []byte {
	a.h.Reset()
	a.h.Write(b[:atMAC])
	return a.h.Sum(a.sum[:0])[:Size-atMAC]
}

func (a *authCode) sign(b []byte) { copy(b[atMAC:Size], a.whole(b)) }

// signed reports whether a datagram's code is right, in a time that does not depend on where it is wrong.
func (a *authCode) signed(b []byte) bool { return hmac.Equal(a.whole(b), b[atMAC:Size]) }

// begin makes b an empty datagram of a kind.
func begin(b []byte, k kind, session uint32) {
	clear(b[:Size])
	b[0], b[1], b[atKind] = magic0, magic1, version<<4|byte(k)
	binary.BigEndian.PutUint32(b[atSession:], session)
}

// classify returns the kind of a datagram, and why it is not one of the protocol's, if so.
func classify(b []byte) (kind, Cause) {
	switch {
	case len(b) < Size:
		return 0, Short
	case len(b) > Size, b[0] != magic0, b[1] != magic1, b[atKind]>>4 != version:
		return 0, Malformed
	}
	k := kind(b[atKind] & 15)
	if k < hello || k > answer {
		return 0, Malformed
	}
	return k, accepted
}

func sessionOf(b []byte) uint32 { return binary.BigEndian.Uint32(b[atSession:]) }
func numberOf(b []byte) uint32  { return binary.BigEndian.Uint32(b[atNumber:]) }

// reply is what an answer holds.
type reply struct {
	number   uint32
	received Stamp  // T2
	held     uint32 // T3 in user space less T2, ns
	sent     Stamp  // T3 of an earlier answer
	back     uint8  // how many numbers earlier that was; 0: none
	exact    bool   // that T3 is on the free clock by the reading of that exchange's T2: their distance is exact on REALTIME
	status   byte   // Clock.Steering
	realtime int64  // REALTIME less the free clock at T2
}

// byT2 marks an exact T3 among the kinds of stamps.
const byT2 = 0x80

// longestBack is the greatest difference of T2 and an earlier T3 that fits, ns: three days.
const longestBack = 1<<48 - 1

// put writes an answer, unsigned, into b.
func (r *reply) put(b []byte, session uint32) {
	begin(b, answer, session)
	e := binary.BigEndian
	e.PutUint32(b[atNumber:], r.number)
	e.PutUint64(b[atT2:], uint64(r.received.Time))
	e.PutUint32(b[atHeld:], r.held)
	e.PutUint16(b[atT2Error:], shortError(r.received.Error))
	b[atStamps] = byte(r.received.Kind)
	if d := int64(r.received.Time) - int64(r.sent.Time); r.back != 0 && d >= 0 && d <= longestBack {
		b[atStamps] |= byte(r.sent.Kind) << 4
		e.PutUint16(b[atT3Error:], shortError(r.sent.Error))
		e.PutUint16(b[atT3Back:], uint16(d>>32))
		e.PutUint32(b[atT3Back+2:], uint32(d))
		b[atBack] = r.back
		if r.exact {
			b[atStamps] |= byT2
		}
	}
	b[atStatus] = r.status
	e.PutUint64(b[atRealtime:], uint64(r.realtime))
}

// get reads an answer whose code is right; false if its contents are none.
func (r *reply) get(b []byte) bool {
	e := binary.BigEndian
	*r = reply{
		number:   numberOf(b),
		received: Stamp{Time: hostTime(e.Uint64(b[atT2:])), Error: longError(e.Uint16(b[atT2Error:])), Kind: Kind(b[atStamps] & 15)},
		held:     e.Uint32(b[atHeld:]),
		back:     b[atBack],
		status:   b[atStatus],
		realtime: int64(e.Uint64(b[atRealtime:])),
	}
	sent := Kind(b[atStamps] &^ byT2 >> 4)
	if r.received.Kind > Hardware || sent > Hardware || !valid(r.received.Time) || !valid(add(r.received.Time, int64(r.held))) {
		return false
	}
	r.received.Wall = add(r.received.Time, r.realtime)
	if r.back != 0 {
		d := int64(e.Uint16(b[atT3Back:]))<<32 | int64(e.Uint32(b[atT3Back+2:]))
		r.sent = Stamp{Time: r.received.Time - hostTime(d), Error: longError(e.Uint16(b[atT3Error:])), Kind: sent}
		r.exact = b[atStamps]&byT2 != 0
	}
	return r.back == 0 || valid(r.sent.Time)
}

// shortError packs an error of up to 2^31 ns into 16 bits, 11 of them significant, rounded up: m·2^e as e<<11 | m.
func shortError(ns int64) uint16 {
	if ns < 0 || ns > math.MaxInt32 {
		return math.MaxUint16
	}
	shift := max(0, bits.Len64(uint64(ns))-11)
	m := (uint64(ns) + 1<<shift - 1) >> shift
	if m == 1<<11 {
		m, shift = m>>1, shift+1
	}
	return uint16(shift)<<11 | uint16(m)
}

func longError(s uint16) int64 { return int64(s&(1<<11-1)) << (s >> 11) }

func putNumber(b []byte, n uint32) { binary.BigEndian.PutUint32(b[atNumber:], n) }
