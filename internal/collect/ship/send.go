package ship

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

// send sends what may be sent now. later is when the rate permits more, 0 where something else is waited for.
func (s *Shipper) send(now time.Time) (later time.Duration, err error) {
	if !s.fits() {
		return 0, s.account.release(now, s.peers)
	}
	if err := s.sendMetadata(); err != nil {
		return 0, err
	}
	if s.o.Rate > 0 {
		if s.spent.IsZero() {
			s.spent = now
		}
		s.budget = min(s.budget+now.Sub(s.spent).Seconds()*float64(s.o.Rate), float64(s.o.Rate)/10)
		s.spent = now
	}
	for n := 0; n < 64; n++ { // acks are read between
		if s.o.Rate > 0 && s.budget < 0 {
			s.isBehind(true)
			return time.Duration(-s.budget/float64(s.o.Rate)*1e9) + time.Millisecond, nil
		}
		x, ok := s.plan.next()
		if !ok {
			s.isBehind(s.plan.waiting())
			return 0, s.account.release(now, s.peers)
		}
		if err := s.sendPiece(x, now); err != nil {
			return 0, err
		}
		s.budget -= float64(x.to - x.from)
	}
	return time.Nanosecond, nil
}

func (s *Shipper) sendPiece(x piece, now time.Time) error {
	c := wire.Chunk{Kind: wire.Data, Session: s.o.Session, File: x.f.name, Offset: x.from}
	n, head := int(x.to-x.from), c.Overhead()
	s.raw = slices.Grow(s.raw[:0], head+n)[:head+n] // the range is read to where it is published from
	c.Data = s.raw[head:]
	from, err := x.f.reader()
	if err != nil {
		x.f.absent = true // the next scan sees why
		s.warn(fmt.Errorf("%s: %w", x.f.name, err))
		return nil
	}
	got, err := from.ReadAt(c.Data, x.from)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", x.f.name, err)
	}
	if got < n { // it was cut off meanwhile; the next scan sees it
		x.f.whole = min(x.f.whole, x.from+int64(got))
		return nil
	}
	if s.z == nil {
		c.Seal(s.raw)
		err = s.publishTo(x.only, s.raw)
	} else {
		err = s.publish(&c, x.only)
	}
	if err == nil {
		s.plan.sentTo(x, now)
	}
	return err
}

// publish sends a chunk to a server, or to all.
func (s *Shipper) publish(c *wire.Chunk, to *peer) error {
	c.Session = s.o.Session
	var z wire.Compressor
	if s.z != nil {
		z = s.z
	}
	s.out = c.Append(s.out[:0], z)
	return s.publishTo(to, s.out)
}

func (s *Shipper) publishTo(to *peer, chunk []byte) error {
	subject := s.data
	if to != nil {
		subject = wire.OfHostServer(s.o.Host, "fill", to.name)
	}
	if err := s.o.Conn.Publish(subject, chunk); !wire.Lost(err) && !errors.Is(err, nats.ErrMaxPayload) {
		return err
	}
	return nil // it is sent again, in smaller pieces if the connection is to another broker now
}
