package pipeline

import "meridian/trace"

// A host may have recorded its packets twice: as events of its kernel and in a capture, which a recorder puts beside them. Each
// pair of recordings would make a message of its own of one packet. So the kernel's packets are left out of matching where
// a capture of the same host has them: it knows more of each, TCP's options and what datagrams hold. They stay among the
// kernel's events.

// With what delay a packet that a capture has may be among the kernel's, before or behind the capture's extent, ns.
const twiceWithin = 1_000_000_000

// share is how small a part of the kernel's packets of a flow's direction may be in a capture that is still taken for having
// them. Captures have fewer where a filter chose them by size, or where the kernel's are of several namespaces.
const share = 8

// side is one direction of a flow in any capture.
type side struct {
	low, high trace.Endpoint
	protocol  uint8
	direction uint32
}

// leaveOutTwice removes what captures have from the packets of the kernels' events of the same hosts.
func leaveOutTwice(captures []*trace.Capture, recorded []*recording) {
	for _, x := range recorded {
		if x == nil || x.capture == nil {
			continue
		}
		for _, c := range captures {
			if c != nil && c.Host == x.capture.Host {
				x.leaveOut(c)
			}
		}
		if x.capture.Packets.Len() == 0 {
			x.capture = nil
		}
	}
}

// leaveOut removes the packets that a capture has too.
func (x *recording) leaveOut(c *trace.Capture) {
	first, last, ok := c.Extent()
	if !ok {
		return
	}
	first, last = first-twiceWithin, last+twiceWithin
	beside := func(p *trace.Packet) bool { return p.Flow != trace.NoFlow && p.Time >= first && p.Time <= last }
	there, ours := sides(c, nil), sides(x.capture, beside)
	has := make([]bool, 2*len(x.capture.Flows)) // by flow and direction
	any := false
	for i := range has {
		s := sideOf(x.capture, uint32(i))
		has[i] = ours[s] > 0 && share*there[s] >= ours[s]
		any = any || has[i]
	}
	if !any {
		return
	}
	var kept trace.Log
	for _, chunk := range x.capture.Packets.Chunks() {
		for i := range chunk {
			if p := &chunk[i]; !beside(p) || !has[p.Flow] {
				*kept.Append() = *p
			}
		}
	}
	x.capture.Packets = kept
}

// sideOf returns the direction of a flow that packets name by a number.
func sideOf(c *trace.Capture, flow uint32) side {
	f := &c.Flows[flow>>1]
	return side{f.Low, f.High, f.Protocol, flow & 1}
}

// sides counts the packets of each direction of each flow, those that only accepts if it is not nil.
func sides(c *trace.Capture, only func(*trace.Packet) bool) map[side]int {
	counts := make([]int, 2*len(c.Flows))
	for _, chunk := range c.Packets.Chunks() {
		for i := range chunk {
			if p := &chunk[i]; p.Flow != trace.NoFlow && (only == nil || only(p)) {
				counts[p.Flow]++
			}
		}
	}
	found := make(map[side]int, len(counts))
	for i, n := range counts {
		if n > 0 {
			found[sideOf(c, uint32(i))] += n
		}
	}
	return found
}
