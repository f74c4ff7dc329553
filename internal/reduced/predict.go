package reduced

import (
	"fmt"

	"meridian/clock"
	"meridian/trace"
)

// Columns of a block, in their order.
const (
	timeColumn = iota
	flowColumn
	seqColumn
	ackColumn
	tsvalColumn
	lengthColumn
	digestColumn
	idColumn
	flagsColumn
	kindColumn
	fromColumn
	ttlColumn
	pointColumn
	columns
)

// way is what is known of one direction of a flow.
type way struct {
	last trace.Packet
	next uint32 // behind the last byte that it sent
	ends bool   // its last acknowledgement was the end of what the other direction had sent
}

// predictor expects of each packet what those before it suggest. Writer and reader have one each, which see the same packets.
type predictor struct {
	ways []way // by trace.Packet.Flow; the last is of packets without a flow
	time clock.HostTime
	flow uint32
}

func newPredictor(flows int) *predictor { return &predictor{ways: make([]way, 2*flows+1)} }

// wayOf returns the direction of a flow, the other one, and whether there is such a flow.
func (p *predictor) wayOf(flow uint32) (own, other *way, ok bool) {
	none := len(p.ways) - 1
	if flow == trace.NoFlow {
		return &p.ways[none], &p.ways[none], true
	}
	if int64(flow) >= int64(none) {
		return nil, nil, false
	}
	return &p.ways[flow], &p.ways[flow^1], true
}

// expectedAck returns what a packet of a direction is expected to acknowledge.
func expectedAck(own, other *way) uint32 {
	if own.ends {
		return other.next
	}
	return own.last.Ack
}

// see notes a packet.
func (p *predictor) see(x *trace.Packet, own, other *way) {
	p.time, p.flow = x.Time, x.Flow
	own.ends = x.Ack == other.next
	own.next = x.Seq + x.Length
	if x.Kind == trace.TCP && x.Flags&(trace.SYN|trace.FIN) != 0 {
		own.next++
	}
	own.last = *x
}

// Codes of a flow. Others are two more than its number plus one, so that [trace.NoFlow] is 2.
const (
	sameFlow = iota
	otherWay
	firstFlow
)

func (p *predictor) flowCode(flow uint32) uint64 {
	switch flow {
	case p.flow:
		return sameFlow
	case p.flow ^ 1:
		return otherWay
	}
	return uint64(flow+1) + firstFlow
}

func (p *predictor) flowOf(code uint64) (uint32, bool) {
	switch {
	case code == sameFlow:
		return p.flow, true
	case code == otherWay:
		return p.flow ^ 1, true
	case code-firstFlow > 1<<32-1:
		return 0, false
	}
	return uint32(code-firstFlow) - 1, true
}

// write adds a packet to the columns. The packet's flow is one of the capture.
func (p *predictor) write(planes *[columns]planeWriter, x *trace.Packet) {
	own, other, _ := p.wayOf(x.Flow)
	l := &own.last
	planes[timeColumn].add(fold64(int64(x.Time) - int64(p.time)))
	planes[flowColumn].add(p.flowCode(x.Flow))
	planes[seqColumn].add(fold32(x.Seq - own.next))
	planes[ackColumn].add(fold32(x.Ack - expectedAck(own, other)))
	planes[tsvalColumn].add(fold32(x.TSVal - l.TSVal))
	planes[lengthColumn].add(uint64(x.Length ^ l.Length))
	planes[digestColumn].add(uint64(x.Digest))
	planes[idColumn].add(uint64(x.ID - l.ID))
	planes[flagsColumn].add(uint64(x.Flags ^ l.Flags))
	planes[kindColumn].add(uint64(x.Kind ^ l.Kind))
	planes[fromColumn].add(uint64(x.From ^ l.From))
	planes[ttlColumn].add(uint64(x.TTL ^ l.TTL))
	planes[pointColumn].add(uint64(x.Point ^ l.Point))
	p.see(x, own, other)
}

// read sets a packet from the columns.
func (p *predictor) read(planes *[columns]planeReader, x *trace.Packet) error {
	var v [columns]uint64
	for k := range v {
		var err error
		if v[k], err = planes[k].next(); err != nil {
			return fmt.Errorf("column %d: %w", k, err)
		}
	}
	for k, bits := range widths {
		if v[k]>>bits != 0 {
			return fmt.Errorf("column %d: %d does not fit %d bits", k, v[k], bits)
		}
	}
	flow, ok := p.flowOf(v[flowColumn])
	if !ok {
		return fmt.Errorf("flow code %d", v[flowColumn])
	}
	own, other, ok := p.wayOf(flow)
	if !ok {
		return fmt.Errorf("flow %d of %d", flow>>1, len(p.ways)/2)
	}
	l := &own.last
	*x = trace.Packet{
		Time: clock.HostTime(int64(p.time) + unfold64(v[timeColumn])), Flow: flow,
		Seq: own.next + unfold32(v[seqColumn]), Ack: expectedAck(own, other) + unfold32(v[ackColumn]), TSVal: l.TSVal + unfold32(v[tsvalColumn]),
		Length: l.Length ^ uint32(v[lengthColumn]), Digest: uint32(v[digestColumn]), ID: l.ID + uint16(v[idColumn]),
		Flags: l.Flags ^ uint8(v[flagsColumn]), Kind: l.Kind ^ trace.Kind(v[kindColumn]), From: l.From ^ trace.Direction(v[fromColumn]),
		TTL: l.TTL ^ uint8(v[ttlColumn]), Point: l.Point ^ uint16(v[pointColumn]),
	}
	p.see(x, own, other)
	return nil
}

// widths are how many bits a column's numbers have, for those with fewer than 64 that no other check covers.
var widths = map[int]uint{
	seqColumn: 32, ackColumn: 32, tsvalColumn: 32, lengthColumn: 32, digestColumn: 32, idColumn: 16,
	flagsColumn: 8, kindColumn: 8, fromColumn: 8, ttlColumn: 8, pointColumn: 16,
}

// fold64 makes a number that is near 0 a small one without a sign, and unfold64 undoes it. Both wrap around.
func fold64(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unfold64(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// fold32 and unfold32 are the same for differences of numbers of 32 bits.
func fold32(v uint32) uint64   { return uint64(v<<1 ^ uint32(int32(v)>>31)) }
func unfold32(v uint64) uint32 { return uint32(v)>>1 ^ -(uint32(v) & 1) }
