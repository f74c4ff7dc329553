package match

import "meridian/trace"

// Linux and others give every packet of a connection the next IPv4 identification, whether it is new or sent again. Where a capture
// has them without a gap, it missed no packet between the first and the last of them. So it has every copy that was sent, whatever the
// other end recorded of identifications: kernel tracers of old record none, and some routers rewrite them.
//
// A segment that the interface divides takes one identification per part. The size of the parts is not known, but one size must
// explain all steps: with n the payload's bytes and k the step to the next packet's identification,
//
//	k = max(1, ceil(n / size)),  that is  n/k <= size < n/(k-1)
//
// A packet that was missed behind another makes k greater, and so the size smaller than the parts that all others allow.

// unbroken follows the identifications of one direction of a connection in file order.
type unbroken struct {
	packets, divided int
	least, most      int64 // bytes that a part may have as far as all steps tell; most is 0 without a limit
	id               uint16
	bytes            uint32
	gap              bool
}

// see takes the next packet. One without an identification may stand between others: kernels answer so for sockets that have none.
func (u *unbroken) see(p *trace.Packet) {
	step := int64(p.ID - u.id)
	switch {
	case p.ID == 0 && (u.packets == 0 || step > u.parts()):
		return
	case u.packets > 0:
		u.explain(int64(u.bytes), step)
	}
	u.id, u.bytes = p.ID, p.Length
	u.packets++
}

// parts returns the most identifications that the last packet takes as far as all steps before tell.
func (u *unbroken) parts() int64 {
	return max(1, (int64(u.bytes)+u.least-1)/max(1, u.least))
}

// explain narrows the sizes of a part to those by which so many payload bytes take so many identifications.
func (u *unbroken) explain(bytes, step int64) {
	switch {
	case step == 0 || step > max(1, bytes):
		u.gap = true
		return
	case step > 1:
		u.divided++
		most := (bytes - 1) / (step - 1)
		if u.most == 0 || most < u.most {
			u.most = most
		}
	}
	u.least = max(u.least, (bytes+step-1)/step)
}

// whole reports whether no packet between the first and the last is missing. A few packets do not show that the sender counts, nor
// a few divided ones the size of the parts.
func (u *unbroken) whole() bool {
	return !u.gap && u.packets >= minNumbered && (u.divided == 0 || u.divided >= minNumbered) && (u.most == 0 || u.least <= u.most)
}
