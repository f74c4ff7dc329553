package match

import (
	"unsafe"

	"meridian/trace"
)

// Identifications tell packets of a connection apart where the network keeps them. Network address translators and firewalls may
// rewrite them, and kernel tracers of old record none. So they are compared first: of segments that begin alike, and of equal packets
// without bytes. One received with an identification that no such packet sent has speaks against them. It may also be of a sending
// that the sender's capture missed:
//
//	sent       (id 7)        id 8      id 7 in brackets: the capture missed it
//	received          id 7             with id 8: false, the reception comes first
//
// A few such packets do not show that the network rewrites. What does is that most packets have others. Where a direction has only a
// few, all with others, the other direction decides: what rewrites mostly does it both ways.

const (
	// minRewritten is the number of packets with other identifications, and none with the same, that show by themselves that the
	// network rewrites those of a direction.
	minRewritten = 3
	// maxCompared is the number of segments sent that begin alike with which one received is compared.
	maxCompared = 64
)

// idVotes is how many packets received have an identification of those sent that are like them, and how many have none of these.
type idVotes struct{ same, other int }

func (v *idVotes) note(same bool) {
	if same {
		v.same++
	} else {
		v.other++
	}
}

// kept reports whether the network keeps identifications. A rewritten one is the same by chance once in 65,536 times.
func (v *idVotes) kept() bool { return v.same > 0 && v.same >= v.other }

// few reports whether the votes against identifications may all be of sendings that were missed.
func (v *idVotes) few() bool { return v.same == 0 && v.other < minRewritten }

// judgeIDs decides for each of a's directions whether identifications tell its segments and acknowledgements apart, and clears those
// that do not.
func (m *tcpMatcher) judgeIDs(u *conversation) (kept [2]bool) {
	var votes [2]idVotes
	for d := range 2 {
		up, down, _, _ := m.way(u, d)
		votes[d].compareSegments(up, down)
		if !votes[d].kept() {
			votes[d].compareAcknowledgements(up, down)
		}
	}
	for d := range 2 {
		kept[d] = votes[d].kept() || votes[d].few() && votes[1-d].kept()
		up, down, _, _ := m.way(u, d)
		for _, h := range []*half{up, down} {
			if kept[d] {
				h.numberAcknowledgements()
			} else {
				clearIDs(h)
			}
		}
	}
	return kept
}

// compareSegments notes of the segments received whether one that begins alike was sent with the same identification. Those with
// other timestamps were sent at other times.
func (v *idVotes) compareSegments(up, down *half) {
	i := 0
	for j := range down.segments {
		if j%stretch == stretch-1 {
			trace.TouchedIn(up.memory, 2*stretch*int(unsafe.Sizeof(segment{})))
		}
		r := &down.segments[j]
		for i < len(up.segments) && up.segments[i].start < r.start {
			i++
		}
		compared, same := 0, false
		for k := i; k < len(up.segments) && up.segments[k].start == r.start && compared < maxCompared && !same; k++ {
			if s := &up.segments[k]; s.stamp == r.stamp || s.stamp == 0 || r.stamp == 0 {
				compared++
				same = s.id == r.id && s.id != 0
			}
		}
		if same || compared > 0 && compared < maxCompared {
			v.note(same)
		}
	}
}

// compareAcknowledgements notes of the first packets without bytes received whether an equal one was sent with the same
// identification.
func (v *idVotes) compareAcknowledgements(up, down *half) {
	sent := make(map[uint64]struct{})
	numbered := func(key uint64, id uint16) uint64 { return mix(key, uint64(id)) }
	for i, a := range up.acknowledgements[:min(len(up.acknowledgements), firstPackets)] {
		sent[a.key], sent[numbered(a.key, up.ids[i])] = struct{}{}, struct{}{}
	}
	for i, a := range down.acknowledgements[:min(len(down.acknowledgements), firstPackets)] {
		if _, equal := sent[a.key]; equal {
			_, same := sent[numbered(a.key, down.ids[i])]
			v.note(same && down.ids[i] != 0)
		}
	}
}

// numberAcknowledgements makes identifications part of what packets without bytes are recognised by.
func (h *half) numberAcknowledgements() {
	for from, to := range stretches(h.acknowledgements, h.memory) {
		for i := from; i < to; i++ {
			h.acknowledgements[i].key = mix(h.acknowledgements[i].key, uint64(h.ids[i]))
		}
	}
}
