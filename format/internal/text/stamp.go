package text

import (
	"errors"
	"strconv"

	"meridian/clock"
)

// Why a stamp cannot be taken.
var (
	ErrNumber = errors.New("a time is not a decimal number of seconds")
	ErrRange  = errors.New("a time is out of range")
)

// maxExponent is where exponents stop to grow while they are read: far above what any stamp needs, far below what
// would overflow when the length of the digits is added.
const maxExponent = 1 << 40

// number is a decimal number taken apart: the digits of its text, and how many of them stand before the point once the
// exponent has moved it.
type number struct {
	negative bool
	text     []byte // digits with at most one point
	whole    int
}

// Seconds turns decimal seconds into nanoseconds by their digits alone, never through a float; exact is false where they
// had to be rounded, as r says (Down or Up). It fails with [ErrNumber] or [ErrRange].
func Seconds(b []byte, r clock.Rounding) (ns clock.HostTime, exact bool, err error) {
	n, ok := split(b)
	if !ok {
		return 0, false, ErrNumber
	}
	const digits = 19 // of clock.Limit
	magnitude, position, rest, significant := uint64(0), 0, false, false
	whole := n.whole + 9 // from seconds to nanoseconds
	for _, c := range n.text {
		if c == '.' {
			continue
		}
		if c != '0' || significant {
			if position-whole < 0 {
				// Leading zeros are no digits of the value; any other pushes it up by its place.
				if whole-position > digits {
					return 0, false, ErrRange
				}
				magnitude = magnitude*10 + uint64(c-'0')
				significant = true
			} else if c != '0' {
				rest = true
			}
		}
		position++
	}
	if magnitude > 0 {
		for ; position < whole; position++ {
			if magnitude > uint64(clock.Limit) {
				return 0, false, ErrRange
			}
			magnitude *= 10
		}
	}
	if rest && (r == clock.Up) != n.negative {
		magnitude++
	}
	if magnitude >= uint64(clock.Limit) {
		return 0, false, ErrRange
	}
	if n.negative {
		return -clock.HostTime(magnitude), !rest, nil
	}
	return clock.HostTime(magnitude), !rest, nil
}

// Interval turns two texts into the interval from one to the other as [Seconds] does. Its beginning is rounded down and its
// end up, so that it holds all that the texts leave open.
func Interval(from, to []byte) (begin, end clock.HostTime, exact bool, err error) {
	begin, exactBegin, err := Seconds(from, clock.Down)
	if err != nil {
		return 0, 0, false, err
	}
	end, exactEnd, err := Seconds(to, clock.Up)
	return begin, end, exactBegin && exactEnd, err
}

// split takes [+-]digits[.digits][(e|E)[+-]digits] apart; one side of the point may be empty, not both.
func split(b []byte) (n number, ok bool) {
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		n.negative = b[0] == '-'
		b = b[1:]
	}
	end, digits, point := 0, 0, -1
scan:
	for ; end < len(b); end++ {
		switch c := b[end]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && point < 0:
			point = end
		default:
			break scan
		}
	}
	if digits == 0 {
		return n, false
	}
	n.text, n.whole = b[:end], digits
	if point >= 0 {
		n.whole = point
	}
	if end == len(b) {
		return n, true
	}
	exponent, ok := parseExponent(b[end:])
	n.whole += exponent
	return n, ok
}

func parseExponent(b []byte) (int, bool) {
	if b[0] != 'e' && b[0] != 'E' {
		return 0, false
	}
	b = b[1:]
	negative := false
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		negative = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	e := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		e = min(e*10+int(c-'0'), maxExponent)
	}
	if negative {
		e = -e
	}
	return e, true
}

// AppendSeconds writes nanoseconds as decimal seconds with no more decimals than they have, such that [Seconds] brings
// them back exactly.
func AppendSeconds(b []byte, ns clock.HostTime) []byte {
	u := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/1e9, 10)
	fraction := u % 1e9
	if fraction == 0 {
		return b
	}
	b = append(b, '.')
	for unit := uint64(1e8); fraction > 0; unit /= 10 {
		b = append(b, byte('0'+fraction/unit))
		fraction %= unit
	}
	return b
}
