package packet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Headers are what is known of a packet of which only the headers are there, as of the kernel's network events.
type Headers struct {
	Network   []byte // the first 20 bytes of IPv4, 40 of IPv6; none where it is another protocol, or not known
	Transport []byte // at least the first 4 bytes of TCP or UDP; none where it is another protocol, a later fragment, or not known
	Outgoing  bool
}

// HeaderFilter decides by headers what a capture's filter decides by packets.
type HeaderFilter struct{ of filter }

var errLength = errors.New("less and greater select by the length on the wire, which kernel events do not have")

// NewHeaderFilter reads an expression as for Options.Filter. Tests that headers cannot answer for any packet are an error.
func NewHeaderFilter(expression string) (*HeaderFilter, error) {
	f, err := parseFilter(expression)
	if err == nil && asksLength(f) {
		err = fmt.Errorf("filter %q: %w", expression, errLength)
	}
	if err != nil {
		return nil, err
	}
	return &HeaderFilter{f}, nil
}

func asksLength(f filter) bool {
	switch f := f.(type) {
	case not:
		return asksLength(f.of)
	case both:
		return asksLength(f.a) || asksLength(f.b)
	case either:
		return asksLength(f.a) || asksLength(f.b)
	case length:
		return true
	}
	return false
}

// Excludes says whether a packet certainly does not match. One whose headers do not tell is not excluded.
func (f *HeaderFilter) Excludes(h *Headers) bool { return f.of.decide(h) == rejected }

// verdict is a truth value of Kleene's three-valued logic: "and" is the least of its operands, "or" the greatest.
type verdict int8

const (
	rejected  verdict = -1
	undecided verdict = 0
	accepted  verdict = 1
)

func decided(yes bool) verdict {
	if yes {
		return accepted
	}
	return rejected
}

func (f not) decide(h *Headers) verdict    { return -f.of.decide(h) }
func (f both) decide(h *Headers) verdict   { return min(f.a.decide(h), f.b.decide(h)) }
func (f either) decide(h *Headers) verdict { return max(f.a.decide(h), f.b.decide(h)) }

// version returns that of IP, 0 where it is not known.
func (h *Headers) version() int {
	switch {
	case len(h.Network) >= 40 && h.Network[0]>>4 == 6:
		return 6
	case len(h.Network) >= 20 && h.Network[0]>>4 == 4:
		return 4
	}
	return 0
}

func (f network) decide(h *Headers) verdict {
	switch h.version() {
	case 4:
		return decided(f == typeIPv4)
	case 6:
		return decided(f == typeIPv6)
	}
	return undecided
}

func (f carries) decide(h *Headers) verdict {
	switch h.version() {
	case 4:
		return decided(f.v4 && h.Network[9] == f.protocol)
	case 6:
		switch next := h.Network[6]; {
		case !f.v6:
			return rejected
		case next == f.protocol:
			return accepted
		case next != protoFragment:
			return rejected
		case len(h.Transport) > 0:
			return decided(h.Transport[0] == f.protocol)
		}
	}
	return undecided
}

func (f addresses) decide(h *Headers) verdict {
	at := func(source, destination int) verdict {
		return way(f.direction, masked{f.prefix, uint32(source)}, masked{f.prefix, uint32(destination)}).decide(h)
	}
	switch v := h.version(); {
	case v == 0: // ARP has addresses too
		return undecided
	case f.prefix.Addr().Is6() != (v == 6):
		return rejected
	case v == 6:
		return at(8, 24)
	}
	return at(12, 16)
}

func (f masked) decide(h *Headers) verdict {
	address := f.prefix.Addr().AsSlice()
	for i, rest := 0, f.prefix.Bits(); rest > 0; i, rest = i+1, rest-8 {
		mask := byte(0xff)
		if rest < 8 {
			mask <<= 8 - rest
		}
		if (h.Network[int(f.at)+i]^address[i])&mask != 0 {
			return rejected
		}
	}
	return accepted
}

func (f ports) decide(h *Headers) verdict {
	switch h.version() {
	case 4:
		if !slices.Contains(f.protocols, h.Network[9]) || binary.BigEndian.Uint16(h.Network[6:])&0x1fff != 0 {
			return rejected
		}
	case 6:
		if !slices.Contains(f.protocols, h.Network[6]) {
			return rejected
		}
	default:
		return undecided
	}
	if len(h.Transport) < 4 {
		return undecided
	}
	return way(f.direction, port{f.low, f.high, 0}, port{f.low, f.high, 2}).decide(h)
}

func (f port) decide(h *Headers) verdict {
	n := binary.BigEndian.Uint16(h.Transport[f.at:])
	return decided(n >= f.low && n <= f.high)
}

func (f length) decide(*Headers) verdict { return undecided }

func (f outbound) decide(h *Headers) verdict { return decided(bool(f) == h.Outgoing) }
