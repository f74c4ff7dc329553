package messages

import (
	"bufio"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/trace"
)

// Write writes a list in the format that [Read] reads, channel by channel, beginning with the number of hosts that
// have messages. Every message comes back exactly; hosts come back in the order in which messages name them.
func Write(w io.Writer, l *trace.List) error {
	met := make(map[string]int)
	for _, c := range l.Channels {
		if len(c.Messages) == 0 {
			continue
		}
		for _, h := range []int{c.From, c.To} {
			if h < 0 || h >= len(l.Hosts) {
				return fmt.Errorf("messages: host %d is none of %d", h, len(l.Hosts))
			}
			if !validName([]byte(l.Hosts[h])) {
				return fmt.Errorf("messages: the host name %q cannot be written: "+
					"it is empty, no UTF-8, or holds a blank, a control character or a #", l.Hosts[h])
			}
			if other, ok := met[l.Hosts[h]]; ok && other != h {
				return fmt.Errorf("messages: two hosts are named %q", l.Hosts[h])
			}
			met[l.Hosts[h]] = h
		}
		if c.From == c.To {
			return fmt.Errorf("messages: a channel from %q to itself", l.Hosts[c.From])
		}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(out, "%d\n", len(met))
	var line []byte
	for _, c := range l.Channels {
		for _, m := range c.Messages {
			if !within(m.Sent) || !within(m.Received) {
				return fmt.Errorf("messages: a stamp of %d ns is beyond what a clock can show", max(m.Sent, m.Received))
			}
			line = append(line[:0], l.Hosts[c.From]...)
			line = append(line, ' ')
			line = append(line, l.Hosts[c.To]...)
			line = append(line, ' ')
			line = appendStamp(line, m.Sent)
			line = append(line, ' ')
			line = appendStamp(line, m.Received)
			line = append(line, '\n')
			if _, err := out.Write(line); err != nil {
				return fmt.Errorf("messages: %w", err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	return nil
}

func within(t int64) bool { return t >= -clock.Limit && t <= clock.Limit }
