package match

import "meridian/trace"

// Round trips tell the sender's side where each capture is on one side of the other, as the captures of two hosts that
// talk are. Of two taps that packets pass in one order both ways, they tell the difference of two delays instead, which
// proves nothing:
//
//	host 3 --> tap a -- 50 us --> tap b --> host 4
//	host 4 --> tap a -- 500 us -> tap b --> host 3
//
// What tells a tap from a host is how soon answers follow. A kernel answers a SYN, and the answer to its own, within
// some 10 us. A tap sees the answer only after the way to the host and back. So where nothing but round trips says
// which capture is nearer, the answers of handshakes at the ends that they imply are looked at: if they are all slow,
// the captures are not at the ends.

const (
	// maxAnswer is the time within which kernels answer, ns.
	maxAnswer = 100_000
	// quickShare is the least share of a kernel's answers that are that quick.
	quickShare = 0.5
	// someAnswers is how many answers are looked at between two captures.
	someAnswers = 4096
)

// answers counts how soon handshakes were answered.
type answers struct{ quick, slow int }

func (n *answers) note(took int64) {
	switch {
	case took < 0: // out of order
	case took <= maxAnswer:
		n.quick++
	default:
		n.slow++
	}
}

// ofTaps reports whether so few answers are quick that they cannot be those of kernels.
func (n *answers) ofTaps() bool {
	all := n.quick + n.slow
	if float64(n.quick) >= quickShare*float64(all) {
		return false
	}
	return trace.BinomialTail(int64(all), int64(all-n.quick), 1-quickShare) < maxError
}

// ofHosts reports whether some answers are so quick that only a kernel beside the capture can have given them.
func (n *answers) ofHosts() bool { return 4*n.quick >= n.quick+n.slow && n.quick >= 3 }

// distrustTaps takes back what nothing but round trips says between captures that seem to be taps. Where the addresses
// of both hosts are given and a conversation has none of them, it takes it back unless quick answers show that a
// capture is at an end.
func distrustTaps(conversations []conversation, found []evidence) {
	between := make(map[[2]*index]*[2]answers) // at a and at b
	for i := range found {
		u := &conversations[i]
		if !found[i].timed || u.connA == nil {
			continue
		}
		key := [2]*index{u.a, u.b}
		n := between[key]
		if n == nil {
			n = &[2]answers{}
			between[key] = n
		}
		if n[0].quick+n[0].slow+n[1].quick+n[1].slow > someAnswers {
			continue
		}
		// Direction 0 is sent by the host at a if a is nearer, else by the one at b.
		atA := 0
		if found[i].near < 0 {
			atA = 1
		}
		n[0].ofHandshake(u.a, u.a.members(u.connA), atA)
		n[1].ofHandshake(u.b, u.b.members(u.connB), u.otherDirection(1-atA))
	}
	for i := range found {
		u, e := &conversations[i], &found[i]
		if !e.timed {
			continue
		}
		n := between[[2]*index{u.a, u.b}]
		taps := n != nil && n[0].ofTaps() && n[1].ofTaps()
		hosts := n != nil && (n[0].ofHosts() || n[1].ofHosts())
		if taps || e.foreign && !hosts {
			e.near, e.contested = 0, true
		}
	}
}

// ofHandshake notes how soon the host that sends direction d answered the other's SYN, or the answer to its own.
func (n *answers) ofHandshake(x *index, members []uint32, d int) {
	var asked *trace.Packet
	for _, place := range head(members, firstPackets) {
		p := x.at(place)
		switch {
		case p.Kind != trace.TCP:
		case direction(p) != d && p.Flags&trace.SYN != 0:
			asked = p
		case direction(p) == d && asked != nil && p.Flags&trace.ACK != 0 && p.Ack == asked.Seq+1+asked.Length &&
			(p.Flags^asked.Flags)&(trace.SYN|trace.ACK) != 0:
			n.note(int64(p.Time - asked.Time))
			asked = nil
		}
	}
}

// foreign reports whether the user, or recorders, named addresses of both hosts and a conversation has none of them.
func (r *orientation) foreign(u *conversation) bool {
	if !r.named[u.a.host] || !r.named[u.b.host] {
		return false
	}
	for d := range 2 {
		atA, atB := u.sender(d)
		_, knownA := r.given[atA]
		_, knownB := r.given[atB]
		if knownA || knownB {
			return false
		}
	}
	return true
}
