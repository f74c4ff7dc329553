package pipeline

import (
	"context"
	"fmt"
	"io"
	"strings"

	"meridian/show"
	"meridian/trace"
)

// writePage writes the timeline page: a row per clock, its packets as marks, the messages as arrows.
func (r *run) writePage(_ context.Context, w io.Writer) error {
	if len(r.recordings) > 0 {
		r.warnings.Add("the page", "it shows packets and ends of messages, not the rows of recordings; .pftrace, .json, .svg and .png do", "")
	}
	r.report.Warnings = r.warnings.Lines()
	t := show.Timeline{Title: "Timeline of " + r.hostNames(), Report: r.report, Channels: r.matched.Channels}
	for i := range r.matched.Clocks {
		c := &r.matched.Clocks[i]
		row := show.Row{Map: &r.solution.Maps[i], Granularity: c.Granularity, First: c.First, Last: c.Last}
		if r.listed[i] != nil || r.isRecorded(i) {
			row.Events, row.Describe = r.listedEvents(i)
		}
		if captures := r.capturesOf(i); len(captures) > 0 {
			row.Events, row.Describe = r.packets(i, captures)
		}
		t.Rows = append(t.Rows, row)
	}
	return t.WritePage(w)
}

func (r *run) hostNames() string {
	var names []string
	for _, c := range r.matched.Clocks {
		names = append(names, c.Name)
	}
	return fewOf(names)
}

// capturesOf returns the captures that hold stamps of a clock.
func (r *run) capturesOf(clock int) []int {
	var found []int
	for n, c := range r.matched.Captures {
		if c.Sent == clock || c.Received == clock {
			found = append(found, n)
		}
	}
	return found
}

// packets yields the packets of a clock over all its captures, numbered through.
func (r *run) packets(clock int, captures []int) (func(func(int, int64) bool), func(int) string) {
	events := func(yield func(int, int64) bool) {
		base := 0
		for _, n := range captures {
			clocks, c := &r.matched.Captures[n], r.captures[n]
			i := 0
			for _, chunk := range c.Packets.Chunks() {
				for j := range chunk {
					if clocks.Of(i) == clock && !yield(base+i, chunk[j].Time) {
						return
					}
					i++
				}
			}
			base += i
		}
	}
	describe := func(number int) string {
		for _, n := range captures {
			c := r.captures[n]
			if number < c.Packets.Len() {
				return describePacket(c, number)
			}
			number -= c.Packets.Len()
		}
		return ""
	}
	return events, describe
}

// describePacket says what a packet is as tcpdump's readers know it.
func describePacket(c *trace.Capture, number int) string {
	p := c.Packets.At(number)
	if p.Flow == trace.NoFlow {
		return fmt.Sprintf("packet %d", number+1)
	}
	flow := &c.Flows[p.Flow>>1]
	from, to := flow.Ends(int(p.Flow & 1))
	var b strings.Builder
	fmt.Fprintf(&b, "packet %d  %s %s > %s", number+1, trace.ProtocolName(flow.Protocol), from, to)
	if p.Kind == trace.TCP {
		fmt.Fprintf(&b, " [%s] seq %d ack %d", flags(nil, p.Flags), p.Seq, p.Ack)
	}
	fmt.Fprintf(&b, " length %d", p.Length)
	return b.String()
}
