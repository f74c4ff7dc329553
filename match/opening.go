package match

import (
	"time"

	"meridian/trace"
)

// A connection's first SYN has one number of its own, of 32 bits: too little to recognise it by without addresses. But its answer has
// two, and names that number. So where the answer was matched, the SYN of that number is the one answered, if either host saw
// only one: sent by the host that received the answer, received by the host that sent it.

// opening is a SYN or its answer.
type opening struct {
	number uint32 // the SYN's sequence number
	answer bool
	event  int // index into the times of its way
}

// maxOpening is how long before its answer a SYN may have been sent: Linux gives up after 127 s (tcp_syn_retries).
const maxOpening = int64(130 * time.Second)

// addOpening notes a SYN or an answer that is about to be added.
func (k *packetKeys) addOpening(way int, p *trace.Packet) {
	switch p.Flags & (trace.SYN | trace.ACK | trace.RST) {
	case trace.SYN:
		number := p.Seq
		if p.Length > 0 {
			number-- // fast open: Seq is the first byte's
		}
		k.openings[way] = append(k.openings[way], opening{number, false, len(k.times[way])})
	case trace.SYN | trace.ACK:
		k.openings[way] = append(k.openings[way], opening{p.Ack - 1, true, len(k.times[way])})
	}
}

// single returns the SYNs that went one way by their number, the index of each into the times; -1 for a number of several.
func (k *packetKeys) single(way int) map[uint32]int {
	events := make(map[uint32]int)
	for _, o := range k.openings[way] {
		if o.answer {
			continue
		}
		if _, known := events[o.number]; known {
			o.event = -1
		}
		events[o.number] = o.event
	}
	return events
}

// matchOpenings matches the SYNs that one capture sent and another received whose answers were matched, and that were not matched
// themselves.
func (j *keyJoin) matchOpenings(from, to *packetKeys, back *keyJoin) {
	var sent, came map[uint32]int
	for _, o := range from.openings[receivedWay] {
		if !o.answer || back.state[o.event] != done {
			continue
		}
		if sent == nil {
			sent, came = from.single(sentWay), to.single(receivedWay)
		}
		s, sentOnce := sent[o.number]
		r, cameOnce := came[o.number]
		if !sentOnce || !cameOnce || s < 0 || r < 0 || j.used[s] || j.state[r] == done {
			continue
		}
		if waited := int64(back.received[o.event] - j.sent[s]); waited < 0 || waited > maxOpening {
			continue
		}
		j.used[s], j.state[r] = true, done
		j.link.add(trace.Message{Sent: j.sent[s], Received: j.received[r]})
	}
}
