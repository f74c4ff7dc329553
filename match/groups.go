package match

import "net/netip"

// What goes to many (a multicast group, all hosts of a network) reaches captures beside each other, on paths of their
// own. That one capture saw it earlier, or with more hops left, does not show that the packet went from there to the
// other: its sender may be a third host. So it is a message only where either host sent it itself: the capture says so,
// or the sender's address is the host's own, or its frames carry the host's own link-layer address.

// wayToMany returns a's direction in which a conversation's packets go to a group or to all hosts of a network.
func (u *conversation) wayToMany() (d int, is bool) {
	for d := range 2 {
		// The broadcast address of a network is known by the frame's destination.
		if u.a.Flows[u.flowA].Target[d][0]&1 != 0 || u.b.Flows[u.flowB].Target[u.otherDirection(d)][0]&1 != 0 {
			return d, true
		}
		if at, _ := u.sender(1 - d); at.IsMulticast() || at == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return d, true
		}
	}
	return 0, false
}

// byFlagsOfGroup decides where one capture says that its host sent what goes to many in direction d, and the other does
// not, unless hops contradict. Together says that both saw every packet at once.
func (e *evidence) byFlagsOfGroup(u *conversation, d, nearer int, together bool) {
	flagsA, flagsB := flagsOf(u.a, u.flowA, d), flagsOf(u.b, u.flowB, u.otherDirection(d))
	e.group = flagsA <= 0 || flagsB <= 0
	e.sameHost = flagsA != 0 && flagsA == flagsB || together && flagsA*flagsB == 0
	if e.sameHost || flagsA <= 0 && flagsB <= 0 {
		return
	}
	near := -1
	if (flagsA > 0) == (d == 0) {
		near = 1
	}
	if nearer != -near {
		e.near = near
	}
}

// ofGroup decides by whose own address the sender's is, or the link-layer address of its frames.
func (r *orientation) ofGroup(u *conversation) int {
	near := r.fromOwn(u)
	if near == 0 {
		near = r.fromMAC(u)
	}
	return near
}
