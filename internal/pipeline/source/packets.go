package source

import (
	"io"

	"meridian/trace"
)

// packetSource is the packets of a capture as events.
type packetSource struct {
	row
	capture *trace.Capture
	pass    func(number int) (pass, more bool)
	n       int
	packet  *trace.Packet
	values  PacketValues
}

// Packets returns the packets of a capture as events on a row. Where pass is not nil it chooses them by number, and says
// whether any later one may pass.
func Packets(name string, capture *trace.Capture, pass func(number int) (pass, more bool)) trace.Source {
	return &packetSource{row: newRow(name, trace.Device, packetClasses), capture: capture, pass: pass}
}

var packetClasses = []trace.Class{{Name: "packet", Category: "packets", Fields: []trace.Field{
	{Name: "protocol", Type: trace.Type{Kind: trace.Text}},
	{Name: "source", Type: trace.Type{Kind: trace.Text}},
	{Name: "source_port", Type: trace.Type{Kind: trace.Uint, Bits: 16}},
	{Name: "destination", Type: trace.Type{Kind: trace.Text}},
	{Name: "destination_port", Type: trace.Type{Kind: trace.Uint, Bits: 16}},
	{Name: "length", Type: trace.Type{Kind: trace.Uint, Bits: 32}},
	{Name: "seq", Type: trace.Type{Kind: trace.Uint, Bits: 32}},
	{Name: "ack", Type: trace.Type{Kind: trace.Uint, Bits: 32}},
	{Name: "flags", Type: trace.Type{Kind: trace.Text}},
	{Name: "number", Type: trace.Type{Kind: trace.Uint, Bits: 32}},
}}}

func (x *packetSource) Next(e *trace.Event) error {
	for ; x.n < x.capture.Packets.Len(); x.n++ {
		if x.pass != nil {
			pass, more := x.pass(x.n)
			if !pass && !more {
				break
			}
			if !pass {
				continue
			}
		}
		x.packet = x.capture.Packets.At(x.n)
		x.n++
		*e = trace.Event{Time: x.packet.Time}
		return nil
	}
	return io.EOF
}

// Values returns what is known of the packet.
func (x *packetSource) Values() []trace.Value { return x.values.Of(x.packet, x.capture.Flows, x.n) }

// PacketClasses returns the classes of events that packets make.
func PacketClasses() []trace.Class { return packetClasses }

// PacketValues makes the values of such events.
type PacketValues struct {
	values [10]trace.Value
	text   []byte
}

// Of returns what is known of a packet with a number, whose flow is one of those given. The values are valid until the next call.
func (x *PacketValues) Of(p *trace.Packet, flows []trace.Flow, number int) []trace.Value {
	v := &x.values
	for i := range v {
		v[i].Kind = trace.None
	}
	set := func(i int, n uint64) { v[i].Kind, v[i].Bits = trace.Uint, n }
	text := func(i int, s string) { v[i].Kind, v[i].Data = trace.Text, append(v[i].Data[:0], s...) }
	set(9, uint64(number))
	if p.Flow == trace.NoFlow {
		return v[:]
	}
	flow := &flows[p.Flow>>1]
	from, to := flow.Ends(int(p.Flow & 1))
	text(0, trace.ProtocolName(flow.Protocol))
	text(1, from.Addr.String())
	text(3, to.Addr.String())
	if from.Port != 0 || to.Port != 0 {
		set(2, uint64(from.Port))
		set(4, uint64(to.Port))
	}
	set(5, uint64(p.Length))
	if p.Kind == trace.TCP {
		set(6, uint64(p.Seq))
		set(7, uint64(p.Ack))
		x.text = flags(x.text[:0], p.Flags)
		v[8].Kind, v[8].Data = trace.Text, x.text
	}
	return v[:]
}

// flags appends TCP's flags as tcpdump writes them.
func flags(b []byte, f uint8) []byte {
	for i, letter := range []byte("FSRP.U") {
		if f&(1<<i) != 0 {
			b = append(b, letter)
		}
	}
	return b
}
