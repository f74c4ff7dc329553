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
	notes   Notes
	note    []byte
}

// Notes says what is known of packets beyond what a capture in memory holds: what of HTTP begins or ends in each.
type Notes interface {
	// Of returns the note of a packet by its number, counted from 0, empty for none. It is asked for all packets, in their order.
	Of(number int, p *trace.Packet) ([]byte, error)
	Close() error
}

// Packets returns the packets of a capture as events on a row. Where pass is not nil it chooses them by number, and says
// whether any later one may pass. Notes may be nil; the source closes them.
func Packets(name string, capture *trace.Capture, pass func(number int) (pass, more bool), notes Notes) trace.Source {
	return &packetSource{row: newRow(name, trace.Device, packetClasses), capture: capture, pass: pass, notes: notes}
}

func (x *packetSource) Close() error {
	if x.notes == nil {
		return nil
	}
	return x.notes.Close()
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
	{Name: "id", Type: trace.Type{Kind: trace.Uint, Bits: 16}},
	{Name: "http", Type: trace.Type{Kind: trace.Text}},
}}}

func (x *packetSource) Next(e *trace.Event) error {
	for ; x.n < x.capture.Packets.Len(); x.n++ {
		if x.notes != nil {
			var err error
			if x.note, err = x.notes.Of(x.n, x.capture.Packets.At(x.n)); err != nil {
				return err
			}
		}
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
		*e = trace.Event{Time: x.packet.Time, Untimed: x.packet.Kind == trace.Untimed}
		return nil
	}
	return io.EOF
}

// Values returns what is known of the packet.
func (x *packetSource) Values() []trace.Value {
	v := x.values.Of(x.packet, x.capture.Flows, x.n)
	if len(x.note) > 0 {
		v[noteField] = trace.Value{Kind: trace.Text, Data: x.note}
	}
	return v
}

// PacketClasses returns the classes of events that packets make.
func PacketClasses() []trace.Class { return packetClasses }

// PacketValues makes the values of such events.
type PacketValues struct {
	values [packetFields]trace.Value
	text   []byte
}

// Fields of packets.
const (
	identityField = 10
	noteField     = 11
	packetFields  = 12
)

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
	if p.ID != 0 {
		set(identityField, uint64(p.ID))
	}
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
