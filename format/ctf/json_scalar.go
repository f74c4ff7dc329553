package ctf

import (
	"math/bits"
	"strings"
)

// alignment returns a member that is a power of two, 1 without it.
func (v *jsonValue) alignment(name string) (int, error) {
	a := v.member(name)
	if a == nil {
		return 1, nil
	}
	n, err := a.unsigned(name)
	if err == nil && (bits.OnesCount64(n) != 1 || n > 1<<30) {
		err = a.fail("invalid %s %d (powers of two up to 2^30)", name, n)
	}
	return int(n), err
}

func (s *fieldClass) aligned(v *jsonValue) (err error) {
	s.align, err = v.alignment("minimum-alignment")
	return err
}

func (s *fieldClass) static(v *jsonValue) (err error) {
	s.length, err = v.member("length").unsigned("length")
	return err
}

// fixed reads what all classes of a fixed number of bits have.
func (s *fieldClass) fixed(v *jsonValue) error {
	n, err := v.member("length").unsigned("length")
	if err != nil {
		return err
	}
	if n == 0 || n > 64 && (s.kind != Float || n > 128) {
		return v.fail("invalid length of %d bits (1 to 64, floating-point numbers up to 128)", n)
	}
	s.scalar.size = int(n)
	if s.scalar.align, err = v.alignment("alignment"); err != nil {
		return err
	}
	usual := "first-to-last"
	switch v.member("byte-order").word() {
	case "little-endian":
		s.scalar.order = littleEndian
	case "big-endian":
		s.scalar.order, usual = bigEndian, "last-to-first"
	default:
		return v.fail("invalid or missing byte-order (big-endian, little-endian)")
	}
	switch order := v.member("bit-order"); order.word() {
	case "first-to-last", "last-to-first":
		s.scalar.reversed = order.text != usual
	default:
		if order != nil {
			return order.fail("invalid bit-order (first-to-last, last-to-first)")
		}
	}
	return nil
}

func (s *fieldClass) integer(v *jsonValue) error {
	if b := v.member("preferred-display-base"); b != nil {
		switch n, _ := b.unsigned(""); n {
		case 2, 8, 10, 16:
			s.scalar.base = int(n)
		default:
			return b.fail("invalid preferred-display-base (2, 8, 10, 16)")
		}
	}
	m := v.member("mappings")
	if m == nil || len(m.names) == 0 {
		return nil
	}
	s.labels = make([]Label, 0, len(m.names))
	for i, name := range m.names {
		set, err := m.items[i].ranges()
		if err != nil {
			return err
		}
		s.labels = append(s.labels, Label{name, set})
	}
	return nil
}

func (s *fieldClass) float(v *jsonValue) error {
	switch s.scalar.size {
	case 16:
		s.scalar.exponent = 5
	case 32:
		s.scalar.exponent = 8
	case 64:
		s.scalar.exponent = 11
	case 128:
		s.scalar.exponent = 15
	default:
		return v.fail("unsupported floating-point length of %d bits (16, 32, 64, 128)", s.scalar.size)
	}
	s.scalar.mantissa = s.scalar.size - s.scalar.exponent
	return nil
}

func (s *fieldClass) encoded(v *jsonValue) error {
	c := &s.scalar
	switch e := v.member("encoding"); strings.ToLower(e.word()) {
	case "utf-8", "utf8":
		c.encoding, c.size = UTF8, 8
	case "utf-16be":
		c.encoding, c.size = UTF16BE, 16
	case "utf-16le":
		c.encoding, c.size = UTF16LE, 16
	case "utf-32be":
		c.encoding, c.size = UTF32BE, 32
	case "utf-32le":
		c.encoding, c.size = UTF32LE, 32
	default:
		if e != nil {
			return e.fail("unknown encoding %.40q", e.text)
		}
		c.encoding, c.size = UTF8, 8
	}
	return nil
}
