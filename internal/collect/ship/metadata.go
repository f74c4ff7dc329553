package ship

import (
	"fmt"
	"time"

	"meridian/internal/collect/wire"
)

// leastMessage is what a broker must permit besides the head of a chunk.
const leastMessage = 4096

// fits takes over the size of messages that the broker permits, which is known once there is a connection, and may be another's with each. It is false
// while nothing can be sent.
func (s *Shipper) fits() bool {
	s.message = s.o.Conn.MaxPayload() - int64(wire.MaxOverhead)
	if s.message < leastMessage {
		if s.o.Conn.IsConnected() {
			s.account.warn(fmt.Errorf("the broker permits messages of %d bytes: set its max_payload to 64 KiB or more", s.o.Conn.MaxPayload()))
		}
		return false
	}
	s.plan.chunk = min(s.o.Chunk, s.message)
	return true
}

// sendMetadata sends the metadata to servers that do not have it as it is, before the packets that need it.
func (s *Shipper) sendMetadata() error {
	for _, p := range s.plan.peers {
		if p.state != open || s.d.metadata.data == nil || p.documentSent == s.d.metadata.sum {
			continue
		}
		if err := s.sendDocument(s.d.metadata.data, p); err != nil {
			return err
		}
		p.documentSent, p.sentAt = s.d.metadata.sum, time.Now()
	}
	return nil
}

// sendDocument sends the metadata in one message, or in as many as it needs.
func (s *Shipper) sendDocument(data []byte, to *peer) error {
	size := int64(len(data))
	if size <= s.message {
		return s.publish(&wire.Chunk{Kind: wire.Document, File: wire.Metadata, Data: data}, to)
	}
	var part []byte
	for at := int64(0); at < size; {
		b := data[at:min(at+s.message-wire.PartHead, size)]
		part = (&wire.DocumentPart{Sum: s.d.metadata.sum, Size: size, Data: b}).Append(part[:0])
		if err := s.publish(&wire.Chunk{Kind: wire.Part, File: wire.Metadata, Offset: at, Data: part}, to); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}
