package ship

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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

// mostAtOnce bounds the messages in which metadata is sent: what has been sent stays in buffers that are as long, and metadata grows with each
// program that is recorded.
const mostAtOnce = 256 << 10

// sendDocument sends the metadata in one message, or in as many as it needs.
func (s *Shipper) sendDocument(data []byte, to *peer) error {
	size, message := int64(len(data)), min(s.message, mostAtOnce)
	if size <= message {
		return s.publish(&wire.Chunk{Kind: wire.Document, File: wire.Metadata, Data: data}, to)
	}
	var part []byte
	for at := int64(0); at < size; {
		b := data[at:min(at+message-wire.PartHead, size)]
		part = (&wire.DocumentPart{Sum: s.d.metadata.sum, Size: size, Data: b}).Append(part[:0])
		if err := s.publish(&wire.Chunk{Kind: wire.Part, File: wire.Metadata, Offset: at, Data: part}, to); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

// described reports whether servers that have files of this host and are not asked to store it have the metadata as it is.
func (s *Shipper) described() bool {
	for _, p := range s.peers {
		if s.undescribed(p) {
			return false
		}
	}
	return true
}

func (s *Shipper) undescribed(p *peer) bool {
	return p.state == idle && p.holds && p.document != s.d.metadata.sum && s.d.metadata.data != nil
}

// describe sends the metadata to servers that have files of this host and are not asked to store it: an earlier agent had them store it, and what all
// servers get they still get. One that does not listen any more is asked to, one after the other.
func (s *Shipper) describe(ctx context.Context, all *errgroup.Group, now time.Time) error {
	if !s.fits() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.peers)) {
		p := s.peers[name]
		if !s.undescribed(p) || now.Before(p.describe) {
			continue
		}
		if p.heard {
			p.heard, p.describe = false, now.Add(retryAfter)
			if err := s.sendDocument(s.d.metadata.data, p); err != nil {
				return err
			}
			continue
		}
		if s.asking || s.copying {
			continue
		}
		p.describe, s.asking = now.Add(retryAfter), true
		request := wire.Open{Version: wire.Version, Session: s.o.Session, Trace: s.d.trace, After: afterAll}
		all.Go(func() error {
			a := s.ask(ctx, p.name, request)
			a.listen = true
			select {
			case s.opened <- a:
			case <-ctx.Done():
			}
			return nil
		})
	}
	return nil
}

// afterAll is behind the names of all files: the answer has none of them.
const afterAll = "\U0010ffff"

// listens takes a server's answer: it takes the metadata now.
func (s *Shipper) listens(a answer) error {
	s.asking = false
	p := s.peers[a.from]
	if p == nil || a.err != nil || a.opened.Error != "" || !s.undescribed(p) || !s.fits() {
		return nil // it is asked again
	}
	return s.sendDocument(s.d.metadata.data, p)
}
