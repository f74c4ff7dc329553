package testtrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"strings"
)

// Where a packet's numbers stand: sensor's traceFile draws the layout.
const (
	atContentSize = 48
	atPacketSize  = 56
	atSequence    = 64
	atDiscarded   = 72
	atChecksum    = 80
	atRow         = 84
)

// addStream adds the events of a file, packet by packet.
func (all *Trace) addStream(path string, m *metadata) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var sequence, discarded uint64
	for number := 0; len(b) > 0; number++ {
		le := binary.LittleEndian
		if len(b) < atRow || le.Uint32(b) != 0xc1fc1fc1 {
			return fmt.Errorf("packet %d is torn or has no magic", number)
		}
		size := le.Uint64(b[atPacketSize:]) / 8
		if size > uint64(len(b)) || size < atRow || le.Uint64(b[atContentSize:]) != 8*size {
			return fmt.Errorf("packet %d has a size of %d bytes, and %d are left", number, size, len(b))
		}
		events, err := behindRow(b[atRow:size])
		if err != nil {
			return fmt.Errorf("packet %d: %w", number, err)
		}
		if sum := crc32.Checksum(events, crc32.MakeTable(crc32.Castagnoli)); sum != le.Uint32(b[atChecksum:]) {
			return fmt.Errorf("packet %d has the checksum %x, not %x", number, sum, le.Uint32(b[atChecksum:]))
		}
		if n := le.Uint64(b[atSequence:]); n < sequence {
			return fmt.Errorf("packet %d has the number %d, and %d was next", number, n, sequence)
		} else {
			all.Missing += int(n - sequence)
			sequence = n + 1
		}
		if discarded = le.Uint64(b[atDiscarded:]); discarded > math.MaxInt32 {
			return fmt.Errorf("packet %d says that %d events were discarded", number, discarded)
		}
		for len(events) > 0 {
			e, rest, err := m.event(events)
			if err != nil {
				return fmt.Errorf("packet %d: %w", number, err)
			}
			all.Events = append(all.Events, e)
			events = rest
		}
		b = b[size:]
	}
	all.Discarded += int(discarded)
	return nil
}

var errShort = errors.New("an event reaches beyond its packet")

// behindRow returns what is behind the row of a packet: two texts and a number.
func behindRow(b []byte) ([]byte, error) {
	for range 2 {
		end := bytes.IndexByte(b, 0)
		if end < 0 {
			return nil, errors.New("the row's text has no end")
		}
		b = b[end+1:]
	}
	if len(b) < 8 {
		return nil, errShort
	}
	return b[8:], nil
}

// event decodes the first of events.
func (m *metadata) event(b []byte) (e Event, rest []byte, err error) {
	if len(b) < 10 {
		return e, nil, errShort
	}
	id := binary.LittleEndian.Uint16(b[8:])
	c := m.classes[id]
	if c == nil {
		return e, nil, fmt.Errorf("an event of class %d, which is not declared", id)
	}
	e = Event{Category: c.category, Name: c.name, Phase: c.phase, Time: m.time(binary.LittleEndian.Uint64(b))}
	b = b[10:]
	var context []any
	if context, b, err = decode(c.context, b); err != nil {
		return e, nil, fmt.Errorf("%s: %w", c.name, err)
	}
	for i, f := range c.context {
		n, _ := context[i].(uint64)
		switch f.name {
		case "_slice":
			e.Slice = n
		case "_flow":
			e.Flow = n
		case "_role":
			e.Role = uint8(n)
		}
	}
	if e.Values, b, err = decode(c.fields, b); err != nil {
		return e, nil, fmt.Errorf("%s: %w", c.name, err)
	}
	e.Values, e.fields = withoutLengths(c.fields, e.Values), c.names
	return e, b, nil
}

// withoutLengths returns the values of the fields that a program declared.
func withoutLengths(fields []field, values []any) []any {
	own := values[:0]
	for i, f := range fields {
		if !f.isLength {
			own = append(own, values[i])
		}
	}
	return own
}

// decode decodes the members of a structure.
func decode(fields []field, b []byte) (values []any, rest []byte, err error) {
	for _, f := range fields {
		var v any
		if f.length == "" {
			v, b, err = one(f.typ, b)
		} else {
			n := uint64(0)
			for i, earlier := range fields[:len(values)] {
				if earlier.name == f.length {
					n, _ = values[i].(uint64)
				}
			}
			v, b, err = sequence(f.typ, n, b)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.name, err)
		}
		values = append(values, v)
	}
	return values, b, nil
}

// one decodes a value that is no sequence.
func one(typ string, b []byte) (any, []byte, error) {
	if typ == "string" {
		end := bytes.IndexByte(b, 0)
		if end < 0 {
			return nil, nil, errShort
		}
		return string(b[:end]), b[end+1:], nil
	}
	var bits int
	var signed bool
	float := strings.HasPrefix(typ, "floating_point")
	switch integer := strings.TrimPrefix(typ, "enum : "); {
	case typ == "floating_point { exp_dig = 8; mant_dig = 24; align = 8; }":
		bits = 32
	case typ == "floating_point { exp_dig = 11; mant_dig = 53; align = 8; }":
		bits = 64
	default:
		if _, err := fmt.Sscanf(integer, "integer { size = %d; align = 8; signed = %t;", &bits, &signed); err != nil {
			return nil, nil, fmt.Errorf("unknown type %q", typ)
		}
	}
	if len(b) < bits/8 {
		return nil, nil, errShort
	}
	var raw [8]byte
	copy(raw[:], b[:bits/8])
	n := binary.LittleEndian.Uint64(raw[:])
	b = b[bits/8:]
	switch {
	case float && bits == 32:
		return float64(math.Float32frombits(uint32(n))), b, nil
	case float:
		return math.Float64frombits(n), b, nil
	case strings.Contains(typ, `"true" = 1`):
		return n != 0, b, nil
	case signed:
		return int64(n<<(64-bits)) >> (64 - bits), b, nil
	}
	return n, b, nil
}

// sequence decodes bytes, or a histogram's buckets.
func sequence(typ string, n uint64, b []byte) (any, []byte, error) {
	if n > uint64(len(b)) {
		return nil, nil, errShort
	}
	if !strings.HasPrefix(typ, "struct {") {
		return bytes.Clone(b[:n]), b[n:], nil
	}
	buckets := make([][2]int64, n)
	for i := range buckets {
		for k := range 2 {
			v, rest, err := one("integer { size = 64; align = 8; signed = true; }", b)
			if err != nil {
				return nil, nil, err
			}
			buckets[i][k], b = v.(int64), rest
		}
	}
	return buckets, b, nil
}
