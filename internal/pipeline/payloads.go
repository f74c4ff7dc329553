package pipeline

import (
	"io"

	"meridian/format/pcap"
	"meridian/internal/plainhttp"
	"meridian/trace"
)

// payloads notes what of HTTP is in the packets of a capture. It reads the file a second time, since memory holds no payloads.
type payloads struct {
	file        string
	reader      *pcap.Reader // nil before the first packet, and where the file cannot be read again
	decoder     *pcap.Decoder
	connections plainhttp.Connections
	frame       trace.Frame
	packet      trace.Packet
	at          int // frames read
	ended       bool
	text        []byte
}

// newPayloads returns the notes of a capture, which must be a file.
func newPayloads(c *trace.Capture) *payloads { return &payloads{file: c.File} }

// Of returns the note of a packet. A file that cannot be read a second time, as a pipe, has none.
func (x *payloads) Of(number int, p *trace.Packet) ([]byte, error) {
	x.text = x.text[:0]
	if x.ended {
		return nil, nil
	}
	if x.reader == nil {
		r, err := pcap.Open(x.file, nil)
		if err != nil {
			x.ended = true
			return nil, nil
		}
		x.reader, x.decoder = r, pcap.NewDecoder(x.file, nil)
	}
	for ; x.at <= number; x.at++ {
		if err := x.reader.Next(&x.frame); err == io.EOF {
			x.ended = true
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	if p.Kind != trace.TCP || p.Flow == trace.NoFlow || p.Length == 0 && p.Flags&trace.SYN == 0 {
		return nil, nil
	}
	x.decoder.Decode(x.reader.Interfaces()[x.frame.Interface].LinkType, &x.frame, &x.packet)
	if x.packet.Kind != trace.TCP || x.packet.Seq != p.Seq || x.packet.Length != p.Length {
		x.ended = true // the file is another by now
		return nil, nil
	}
	items := x.connections.Add(p.Flow>>1, int(p.Flow&1), plainhttp.Segment{Seq: p.Seq, Length: p.Length, Opens: p.Flags&trace.SYN != 0, Data: x.decoder.Payload()})
	x.text = plainhttp.Append(x.text, items)
	return x.text, nil
}

// Close closes the file.
func (x *payloads) Close() error {
	if x.reader == nil {
		return nil
	}
	return x.reader.Close()
}
