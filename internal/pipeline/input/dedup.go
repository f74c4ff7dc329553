package input

import (
	"meridian/clock"
	"meridian/trace"
)

// A host may have recorded a packet twice: as an event of its kernel, and in a capture beside the kernel's trace. Each
// pair of recordings of one packet would make a message. So packets of the kernel are dropped before matching where a
// capture of the same host has them. The capture knows more of each packet: TCP's options, the content of datagrams. The
// events themselves stay in the timeline.
//
// Packets are not compared one by one. A direction of a flow is dropped as a whole, within the time of the capture.

// dedupMargin is how long before the first and after the last packet of a capture, in ns, a packet of the kernel may be
// stamped that the capture has.
const dedupMargin = 1_000_000_000

// minCapturedShare is the least share of the kernel's packets in a direction of a flow, 1/minCapturedShare, that must be in
// the capture for the direction to be dropped. Captures have fewer where a filter chose packets by size, or where the
// kernel's are of several network namespaces.
const minCapturedShare = 8

// direction is one direction of a flow, whatever its number in a capture.
type direction struct {
	low, high trace.Endpoint
	protocol  uint8
	way       uint32
}

// dropDuplicates removes from the kernels' packets those that captures of the same hosts have.
func dropDuplicates(contents []content) {
	for i := range contents {
		x := contents[i].recording
		if x == nil || x.Capture == nil {
			continue
		}
		for _, c := range contents {
			if c.capture == nil || c.capture.Host != x.Capture.Host {
				continue
			}
			if first, last, ok := c.capture.Extent(); ok {
				DropCaptured(x.Capture, c.capture, first, last)
			}
		}
		if x.Capture.Packets.Len() == 0 {
			x.Capture = nil
		}
	}
}

// DropCaptured removes the packets of a kernel that a capture of the same host has, which is from first to last. That may be longer than
// the packets of it that are there: of a capture that grows a part may do.
func DropCaptured(kernel, capture *trace.Capture, first, last clock.HostTime) {
	first, last = clock.Add(first, -dedupMargin), clock.Add(last, dedupMargin)
	within := func(p *trace.Packet) bool { return p.Flow != trace.NoFlow && p.Time >= first && p.Time <= last }
	captured, all := countDirections(capture, nil), countDirections(kernel, within)
	drop := make([]bool, 2*len(kernel.Flows)) // by flow and direction
	any := false
	for i := range drop {
		d := directionOf(kernel, uint32(i))
		drop[i] = all[d] > 0 && minCapturedShare*captured[d] >= all[d]
		any = any || drop[i]
	}
	if !any {
		return
	}
	left := trace.NewLog(kernel.Packets.Memory())
	for chunk := range kernel.Packets.Chunks() {
		for i := range chunk {
			if p := &chunk[i]; !within(p) || !drop[p.Flow] {
				*left.Append() = *p
			}
		}
	}
	left.Finish()
	kernel.Packets = left
}

// directionOf returns the direction of a flow to which packets refer by a number.
func directionOf(c *trace.Capture, flow uint32) direction {
	f := &c.Flows[flow>>1]
	return direction{f.Low, f.High, f.Protocol, flow & 1}
}

// countDirections counts the packets in each direction of each flow, only those that pass if pass is not nil.
func countDirections(c *trace.Capture, pass func(*trace.Packet) bool) map[direction]int {
	counts := make([]int, 2*len(c.Flows))
	for chunk := range c.Packets.Chunks() {
		for i := range chunk {
			if p := &chunk[i]; p.Flow != trace.NoFlow && (pass == nil || pass(p)) {
				counts[p.Flow]++
			}
		}
	}
	found := make(map[direction]int, len(counts))
	for i, n := range counts {
		if n > 0 {
			found[directionOf(c, uint32(i))] += n
		}
	}
	return found
}
