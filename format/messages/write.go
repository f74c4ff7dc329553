package messages

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/format/internal/text"
	"meridian/trace"
)

// Write writes a list in the format that [Read] reads, channel by channel, then collectives and broadcasts, beginning with
// the number of hosts that occur. Every message comes back exactly; hosts come back in the order in which lines name
// them. Broadcasts have no names in a list and get their number for one.
//
// It fails, before anything is written, on what [Read] would not bring back: hosts and collectives with names that cannot
// stand in a line or occur twice, stamps beyond clock.Limit, a host twice in one broadcast.
func Write(w io.Writer, l *trace.List) error {
	hosts, err := check(l)
	if err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(out, "%d\n", hosts)
	var line []byte
	for _, c := range l.Channels {
		for _, m := range c.Messages {
			line = append(line[:0], l.Hosts[c.From]...)
			line = append(line, ' ')
			line = append(line, l.Hosts[c.To]...)
			line = appendStamp(line, m.Sent)
			line = appendStamp(line, m.Received)
			out.Write(append(line, '\n')) // an error stays with the writer until Flush
		}
	}
	for _, c := range l.Collectives {
		for _, m := range c.Members {
			line = fmt.Appendf(line[:0], "%s %s %s", wordCollective, c.Name, l.Hosts[m.Clock])
			line = appendStamp(line, m.Entered)
			line = appendStamp(line, m.Left)
			out.Write(append(line, '\n'))
		}
	}
	for i, b := range l.Broadcasts {
		for _, r := range b.Receptions {
			line = fmt.Appendf(line[:0], "%s %d %s", wordBroadcast, i, l.Hosts[r.Clock])
			line = appendStamp(line, r.Time)
			out.Write(append(line, '\n'))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	return nil
}

func appendStamp(line []byte, t clock.HostTime) []byte {
	return text.AppendSeconds(append(line, ' '), t)
}

// check says what of a list could not be read back, and else returns how many hosts occur in it.
func check(l *trace.List) (hosts int, err error) {
	if l == nil {
		return 0, errors.New("messages: the list is nil")
	}
	c := checker{list: l, met: make(map[string]int)}
	for _, ch := range l.Channels {
		if len(ch.Messages) == 0 {
			continue
		}
		c.host(ch.From)
		c.host(ch.To)
		if c.err == nil && ch.From == ch.To {
			return 0, fmt.Errorf("a channel from %q to itself", l.Hosts[ch.From])
		}
		for _, m := range ch.Messages {
			c.stamp(m.Sent)
			c.stamp(m.Received)
		}
	}
	names := make(map[string]bool)
	for _, co := range l.Collectives {
		if len(co.Members) == 0 {
			continue
		}
		if !text.ValidName([]byte(co.Name)) || names[co.Name] {
			return 0, fmt.Errorf("the collective's name %q cannot be written: it occurs twice, is empty, not UTF-8, "+
				"or holds a blank, a control character or a #", co.Name)
		}
		names[co.Name] = true
		for _, m := range co.Members {
			c.host(m.Clock)
			c.stamp(m.Entered)
			c.stamp(m.Left)
			if c.err == nil && m.Left < m.Entered {
				return 0, fmt.Errorf("%q left the collective %q before it entered", l.Hosts[m.Clock], co.Name)
			}
		}
	}
	for i, b := range l.Broadcasts {
		heard := make(map[int]bool)
		for _, r := range b.Receptions {
			c.host(r.Clock)
			c.stamp(r.Time)
			if c.err == nil && heard[r.Clock] {
				return 0, fmt.Errorf("%q received broadcast %d twice", l.Hosts[r.Clock], i)
			}
			heard[r.Clock] = true
		}
	}
	return len(c.met), c.err
}

// checker remembers the hosts that occurred and the first thing that was wrong.
type checker struct {
	list *trace.List
	met  map[string]int
	err  error
}

func (c *checker) host(h int) {
	if c.err != nil {
		return
	}
	if h < 0 || h >= len(c.list.Hosts) {
		c.err = fmt.Errorf("host %d out of range (%d hosts)", h, len(c.list.Hosts))
		return
	}
	name := c.list.Hosts[h]
	other, ok := c.met[name]
	switch {
	case ok && other == h:
	case ok:
		c.err = fmt.Errorf("two hosts are named %q", name)
	case !text.ValidName([]byte(name)):
		c.err = fmt.Errorf("the host name %q cannot be written: "+
			"it is empty, not UTF-8, or holds a blank, a control character or a #", name)
	default:
		c.met[name] = h
		c.err = checkHost([]byte(name))
	}
}

func (c *checker) stamp(t clock.HostTime) {
	if c.err == nil && !clock.Valid(t) {
		c.err = fmt.Errorf("time %d ns is out of range", t)
	}
}
