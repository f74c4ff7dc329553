// Package redact takes out of packets and events what must not leave those who recorded them, so that a timeline can be shared.
//
//	packet   headers with other addresses; payload is cut off, checksums are 0
//	event    other addresses; texts become tokens, bytes zeros
//
// An address becomes another by a key that is made for a run and forgotten: within a run, of all hosts and outputs, it is the same one,
// and messages can still be followed. IPv4 addresses are permuted, so two never become one; IPv6 and MAC addresses are hashed with
// HMAC-SHA256 to 64 bits or more, and 46. Ports, sequence numbers, times, lengths, numbers, and names of hosts, programs, rows and events
// stay. What a header of unknown kind holds is cut off with all that follows.
package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"regexp"
	"strings"
)

// Redactor replaces addresses and texts by one key. It is used by one goroutine at a time.
type Redactor struct {
	key   [32]byte
	known map[netip.Addr]netip.Addr
}

// maxKnown bounds the addresses that are remembered, to be computed once.
const maxKnown = 1 << 16

// New returns a Redactor with a new key.
func New() *Redactor {
	r := &Redactor{known: make(map[netip.Addr]netip.Addr)}
	_, _ = rand.Read(r.key[:]) // it never fails
	return r
}

// hash returns a code of data. What tells apart what the data is.
func (r *Redactor) hash(what string, data []byte) [sha256.Size]byte {
	h := hmac.New(sha256.New, r.key[:])
	h.Write([]byte(what))
	h.Write([]byte{0})
	h.Write(data)
	return [sha256.Size]byte(h.Sum(nil))
}

// Addr returns the address in whose place another stands. Those that name no host stay: loopback, unspecified, multicast.
func (r *Redactor) Addr(a netip.Addr) netip.Addr {
	a = a.WithZone("")
	if known, ok := r.known[a]; ok {
		return known
	}
	out := a
	switch {
	case a.Is4():
		out = r.four(a)
	case a.Is4In6():
		out = netip.AddrFrom16(r.four(a.Unmap()).As16())
	case a.IsValid():
		out = r.six(a)
	}
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[a] = out
	return out
}

// four permutes the IPv4 addresses that name hosts: where the permutation of all leads to one that does not, it is taken again.
func (r *Redactor) four(a netip.Addr) netip.Addr {
	if !names4(a) {
		return a
	}
	for {
		if a = r.permuted(a); names4(a) {
			return a
		}
	}
}

// permuted is a Feistel network of four rounds (Luby and Rackoff, 1988).
func (r *Redactor) permuted(a netip.Addr) netip.Addr {
	b := a.As4()
	left, right := binary.BigEndian.Uint16(b[:]), binary.BigEndian.Uint16(b[2:])
	for round := range byte(4) {
		h := r.hash("IPv4", []byte{round, byte(right >> 8), byte(right)})
		left, right = right, left^binary.BigEndian.Uint16(h[:])
	}
	binary.BigEndian.PutUint16(b[:], left)
	binary.BigEndian.PutUint16(b[2:], right)
	return netip.AddrFrom4(b)
}

// names4 reports whether an IPv4 address may be that of a host beyond this one.
func names4(a netip.Addr) bool {
	b := a.As4()
	return b[0] != 0 && b[0] != 127 && (b[0] < 224 || b[0] >= 240) && b != [4]byte{255, 255, 255, 255}
}

// six hashes an IPv6 address: link-local ones stay so, others become unique local ones (fd00::/8).
func (r *Redactor) six(a netip.Addr) netip.Addr {
	b := a.As16()
	h := r.hash("IPv6", b[:])
	switch {
	case a.IsUnspecified() || a.IsLoopback():
	case a.IsMulticast():
		if [9]byte(b[2:11]) != [9]byte{} { // a group that has a network's prefix in it (RFC 3306)
			copy(b[2:], h[:14])
		} else if b[11] == 1 && b[12] == 0xff { // solicited-node: the end of a host's address (RFC 4291)
			r.ending(b[13:16])
		}
	case a.IsLinkLocalUnicast():
		copy(b[8:], h[:8])
	default:
		b[0] = 0xfd
		copy(b[1:], h[:15])
	}
	return netip.AddrFrom16(b)
}

// ending replaces the last three bytes of an address that stand alone.
func (r *Redactor) ending(b []byte) {
	h := r.hash("ending", b[:3])
	copy(b, h[:3])
}

// hardware replaces a MAC address in its place. That of a group stays, but for what it has of a host's address.
func (r *Redactor) hardware(b []byte) {
	switch m := [6]byte(b); {
	case m == [6]byte{}:
	case m[0] == 0x33 && m[1] == 0x33 && m[2] == 0xff:
		r.ending(b[3:6])
	case m[0]&1 == 1:
	default:
		h := r.hash("MAC", b[:6])
		copy(b, h[:6])
		b[0] = b[0]&^3 | 2 // locally administered, of one
	}
}

var (
	words  = regexp.MustCompile(`[0-9A-Za-z_.:-]+`)
	within = regexp.MustCompile(`[0-9]{1,3}(\.[0-9]{1,3}){3}|([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}`)
)

// leastSix is how many characters an IPv6 address has at least that is told from words such as a::b.
const leastSix = 7

// Name replaces addresses within a name.
func (r *Redactor) Name(name string) string {
	return words.ReplaceAllStringFunc(name, func(word string) string {
		bare := strings.Trim(word, ".:")
		if len(bare) >= leastSix && strings.ContainsAny(bare, "0123456789") {
			if out, ok := r.literal(bare); ok {
				return strings.Replace(word, bare, out, 1)
			}
		}
		return within.ReplaceAllStringFunc(word, func(text string) string {
			if out, ok := r.literal(text); ok {
				return out
			}
			return text
		})
	})
}

// literal replaces a text that is an address.
func (r *Redactor) literal(text string) (string, bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		return r.Addr(a).String(), true
	}
	if p, err := netip.ParseAddrPort(text); err == nil {
		return netip.AddrPortFrom(r.Addr(p.Addr()), p.Port()).String(), true
	}
	if m, err := net.ParseMAC(text); err == nil && len(m) == 6 {
		r.hardware(m)
		return m.String(), true
	}
	return "", false
}

// Text returns an address in place of one, and a token such as ~1f0c29ab in place of any other text: equal ones have equal tokens.
func (r *Redactor) Text(text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	if out, ok := r.literal(string(text)); ok {
		return []byte(out)
	}
	h := r.hash("text", text)
	return append([]byte{'~'}, hex.EncodeToString(h[:4])...)
}
