package match

import "meridian/trace"

// A host whose tracer recorded no addresses (unaddressed.go) may stand beside one that was captured with them. Both captures
// hold a packet's sequence and acknowledgement numbers and its flags. The one without addresses says whether it sent the
// packet; what the other one did follows from that.
//
// They are matched by the rules of unaddressed.go, but without window and checksum, which an addressed capture does not
// keep separately: first with all flags, which tell an acknowledgement from the answer that follows it, then without PSH
// and FIN. A packet of an addressed capture that begins within what its sender sent before is a part sent again, and is
// never used as a sending. Since lengths are known there, that covers the last segment too.

// addRough notes a packet that went one way by what both kinds of captures know of it.
func (k *packetKeys) addRough(way int, p *trace.Packet, resent bool) {
	if p.Ack == 0 {
		k.add(way, p, resent) // a first SYN says too little of itself
		return
	}
	numbers := plainPrint(p)
	k.add(way, p, resent, mix(numbers, uint64(p.Flags)), numbers)
}

// unaddressedKeysBesideAddresses lists the packets without addresses as [addressedKeys] does those with.
func unaddressedKeysBesideAddresses(x *index) *packetKeys {
	k := &packetKeys{index: x}
	x.eachUnaddressed(k.addRough)
	return k.dropDuplicates()
}

// addressedKeys lists the packets with addresses: both ways where the capture does not say which way they went.
func addressedKeys(x *index) *packetKeys {
	k := &packetKeys{index: x}
	type reach struct {
		to    uint32 // behind the last byte
		known bool
	}
	reached := make([][2]reach, len(x.Flows))
	each(&x.Packets, func(_ uint32, p *trace.Packet) {
		if p.Kind != trace.TCP {
			return
		}
		r := &reached[p.Flow>>1][direction(p)]
		end := p.Seq + p.Length
		if p.Flags&(trace.SYN|trace.FIN) != 0 {
			end++
		}
		resent := r.known && int32(p.Seq-r.to) < 0
		if p.Flags&trace.SYN != 0 {
			resent = r.known && end == r.to // or a new connection
		}
		if !r.known || p.Flags&trace.SYN != 0 || int32(end-r.to) > 0 {
			*r = reach{end, true}
		}
		if p.From != trace.Received {
			k.addRough(sentWay, p, resent)
		}
		if p.From != trace.Sent {
			k.addRough(receivedWay, p, false)
		}
	}, nil)
	return k.dropDuplicates()
}
