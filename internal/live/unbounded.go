package live

import (
	"fmt"
	"slices"
	"strings"
)

// bounding counts events with and without bounds by host, and notes which way messages went.
type bounding struct {
	counts map[string]*boundedCount
	sent   map[[2]int]bool // by the clocks of the sender and the receiver
}

type boundedCount struct{ events, unbounded int64 }

// see counts an event of a host that shares its component with others.
func (b *bounding) see(host string, bounded bool) {
	c := b.counts[host]
	if c == nil {
		if b.counts == nil {
			b.counts = make(map[string]*boundedCount)
		}
		c = new(boundedCount)
		b.counts[host] = c
	}
	c.events++
	if !bounded {
		c.unbounded++
	}
}

// message notes that a clock's host sent a message to another's.
func (b *bounding) message(from, to int) {
	if b.sent == nil {
		b.sent = make(map[[2]int]bool)
	}
	b.sent[[2]int{from, to}] = true
}

// told says which hosts had no bounds for most of their events, and why where the messages tell.
func (b *bounding) told(s *Session) (lines []string) {
	var names []string
	for _, in := range s.inputs {
		if slices.Contains(names, in.name) {
			continue
		}
		names = append(names, in.name)
		c := b.counts[in.name]
		if c == nil || 2*c.unbounded <= c.events {
			continue
		}
		line := fmt.Sprintf("%d of %d events of %s have no bounds", c.unbounded, c.events, in.name)
		if why := b.oneWay(s, in.number); why != "" {
			line += ": its messages go one way only (" + why + "), so its clock is bounded on one side only"
		} else if b.talks(in.number) {
			line += ": they were shown before its clock was known; 'meridian convert' has the bounds of what is recorded"
		}
		lines = append(lines, line)
	}
	return lines
}

// talks reports whether a clock's host sent or received messages.
func (b *bounding) talks(number int) bool {
	for pair := range b.sent {
		if slices.Contains(pair[:], number) {
			return true
		}
	}
	return false
}

// oneWay says from and to whom the messages of a clock's host go, "" if there are none or some are answered.
func (b *bounding) oneWay(s *Session, number int) string {
	var from, to []int
	for pair := range b.sent {
		if b.sent[[2]int{pair[1], pair[0]}] && slices.Contains(pair[:], number) {
			return ""
		}
		switch number {
		case pair[0]:
			to = append(to, pair[1])
		case pair[1]:
			from = append(from, pair[0])
		}
	}
	var parts []string
	if names := s.names(from...); len(names) > 0 {
		parts = append(parts, "from "+strings.Join(names, ", "))
	}
	if names := s.names(to...); len(names) > 0 {
		parts = append(parts, "to "+strings.Join(names, ", "))
	}
	return strings.Join(parts, "; ")
}
