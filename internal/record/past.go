package record

import (
	"bytes"
	"encoding/binary"
	"slices"

	"meridian/clock"
	"meridian/sensor/ring"
)

// past returns the line for the stamps of a ring before the recorder's first reading of the clocks, or nil without such stamps
// or readings. Programs leave readings of their own, an event meridian:clock each second:
//
//	head 12, name of a clock up to a NUL, counter 8, its error 8, ns 8, their error 8
//
// Those of MONOTONIC are used, unless they contradict the recorder's: so invalid readings of a program can misplace its own
// events only, and not by much.
func past(reader *ring.Reader, l *line) *line {
	if l.counter == clock.Monotonic {
		return nil
	}
	number := -1
	for _, c := range reader.Classes() {
		if c.Category == "meridian" && c.Name == "clock" {
			number = int(c.ID)
		}
	}
	first := l.knots[0]
	var found []knot
	le := binary.LittleEndian
	// Damage is reported when the packets are recorded.
	_ = reader.Snapshot(func(p *ring.Packet) error {
		if number < 0 || p.First >= first.counter {
			return nil
		}
		for events := p.Events; len(events) >= eventHead; {
			size := int(le.Uint16(events[10:]))
			if size < eventHead || size > len(events) {
				break
			}
			if int(le.Uint16(events[8:])) == number {
				name, values, ok := bytes.Cut(events[eventHead:size], []byte{0})
				if ok && len(values) == 32 && string(name) == clock.Monotonic.String() {
					found = append(found, knot{le.Uint64(values), int64(le.Uint64(values[16:]))})
				}
			}
			events = events[size:]
		}
		return nil
	})
	slices.SortFunc(found, func(a, b knot) int {
		if a.counter < b.counter {
			return -1
		}
		return 1
	})
	p := &line{counter: l.counter}
	for _, k := range found {
		if k.counter >= first.counter || k.ns >= first.ns || k.ns < 0 {
			continue
		}
		if n := len(p.knots); n > 0 && (k.counter <= p.knots[n-1].counter || k.ns <= p.knots[n-1].ns) {
			continue
		}
		// MONOTONIC is never slewed by more than 0.1%.
		supposed, away := int64(l.at(k.counter)), first.ns-k.ns
		if off := clock.Sub(k.ns, supposed); off > away/1000+1e6 || off < -away/1000-1e6 {
			continue
		}
		p.knots = append(p.knots, k)
	}
	if len(p.knots) == 0 {
		return nil
	}
	p.knots = append(p.knots, first)
	return p
}

// at returns the time of a stamp of the ring.
func (d *drain) at(stamp uint64) uint64 {
	if d.past != nil && stamp < d.line.knots[0].counter {
		return d.past.at(stamp)
	}
	return d.line.at(stamp)
}
