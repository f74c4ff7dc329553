package ship

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/wire"
)

// A server that has less than another, such as one with a new disk, gets from the directory what that still has (plan.lagging). Of files that
// are gone the agent has the server with the most send the rest: it asks for a range after the other, and the acks say how far they are.

// copied is the answer to a request to send something to a server.
type copied struct {
	from, to *peer
	name     string
	at, n    int64
	err      error
}

// lacking returns how many bytes of files that the directory has no more are on one server and not on another.
func (p *plan) lacking() (total int64) {
	p.eachLacking(func(_, to *peer, name string, most int64) bool {
		total += most - to.of(name).have
		return true
	})
	p.eachUnsure(func(_, to *peer, name string) {
		total += to.of(name).have
	})
	return total
}

// eachLacking calls f for servers that lack something of a file that is gone, and the one that has most of it, until f is false.
func (p *plan) eachLacking(f func(from, to *peer, name string, most int64) bool) {
	if len(p.peers) < 2 {
		return
	}
	for _, from := range p.peers {
		if from.state != open {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(from.files)) {
			at := from.files[name]
			if p.d.files[name] != nil || !p.hasMost(from, name, at.have) {
				continue
			}
			for _, to := range p.peers {
				if to.state == open && to.of(name).have < at.have && !f(from, to, name, at.have) {
					return
				}
			}
		}
	}
}

// eachUnsure calls f for servers of which it is not known whether they have the bytes of a file that is gone, and one that has them.
func (p *plan) eachUnsure(f func(from, to *peer, name string)) {
	for _, to := range p.peers {
		if to.state != open || len(p.peers) < 2 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(to.files)) {
			at := to.files[name]
			if !at.unsure || p.d.files[name] != nil {
				continue
			}
			for _, from := range p.peers {
				if x := from.files[name]; from.state == open && x != nil && !x.unsure && x.cutting.IsZero() && x.have >= at.have {
					f(from, to, name)
					break
				}
			}
		}
	}
}

// whole returns the servers that have all there is of files that are gone, in the order of names.
func (p *plan) whole() (names []string) {
	less := make(map[*peer]bool)
	p.eachLacking(func(_, to *peer, _ string, _ int64) bool {
		less[to] = true
		return true
	})
	for _, s := range p.peers {
		for name, at := range s.files {
			less[s] = less[s] || p.d.files[name] == nil && (at.unsure || !at.cutting.IsZero())
		}
		if s.state == open && !less[s] {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return names
}

// settle compares what servers have that may be other bytes with one that has the right ones. asks is that one, if its checksums are not known.
func (p *plan) settle(now time.Time) (asks *peer) {
	p.eachUnsure(func(from, to *peer, name string) {
		more, known := from.gone[name]
		if !known {
			asks = from
			return
		}
		less, at := to.gone[name], to.of(name)
		delete(to.gone, name)
		if at.unsure = false; at.have != less.Have {
			return // it was filled since
		}
		if same := samePrefix(more, less); same < less.Have {
			to.cut(at, same, now.Add(-stuckAfter))
		}
	})
	return asks
}

// hasMost reports whether no server has more of a file, nor one that comes before in the list as much.
func (p *plan) hasMost(from *peer, name string, have int64) bool {
	before := true
	for _, o := range p.peers {
		switch at := o.files[name]; {
		case o == from:
			before = false
		case o.state != open || at == nil:
		case at.have > have || before && at.have == have:
			return false
		}
	}
	return true
}

// comparable reports whether a server has the right bytes of a file of which others may have wrong ones: these are going to be compared.
func (p *plan) comparable(name string) (is bool) {
	p.eachUnsure(func(_, _ *peer, of string) { is = is || of == name })
	return is
}

// even reports whether all servers have as much of a file that is gone, and nothing of it is going to be compared.
func (p *plan) even(name string) bool {
	least, most := int64(math.MaxInt64), int64(0)
	for _, s := range p.peers {
		if s.state == open {
			least, most = min(least, s.of(name).have), max(most, s.of(name).have)
		}
	}
	return least >= most && !p.comparable(name)
}

// fill asks servers to send others what these lack.
func (s *Shipper) fill(ctx context.Context, all *errgroup.Group) (err error) {
	if s.level {
		return nil
	}
	now := time.Now()
	s.level = true
	unsettled := s.plan.settle(now)
	if unsettled != nil {
		s.level = false
		s.askSums(ctx, all, unsettled, now)
	}
	s.plan.eachLacking(func(from, to *peer, name string, most int64) bool {
		s.level = false
		at := to.of(name)
		if s.copying || now.Before(s.copyAfter) {
			return false // one at a time: a server remembers one request of a host
		}
		if at.sent >= most || !s.plan.room(to, 1) || !at.cutting.IsZero() || at.unsure && unsettled != nil {
			return true
		}
		if s.compare(from, to, name) {
			return true
		}
		c := copied{from: from, to: to, name: name, at: at.sent, n: min(most-at.sent, s.o.Window, wire.MaxCopy)}
		s.copying = true
		all.Go(func() error {
			c.n, c.err = s.askToCopy(ctx, &c)
			select {
			case s.copies <- c:
			case <-ctx.Done():
			}
			return nil
		})
		return true
	})
	return err
}

func (s *Shipper) askToCopy(ctx context.Context, c *copied) (int64, error) {
	asked, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	request := wire.Encode(wire.Open{Version: wire.Version, Session: s.o.Session, Trace: s.d.trace,
		Copy: &wire.Copy{To: c.to.name, File: c.name, From: c.at, Bytes: c.n}})
	b, err := s.o.Conn.Request(asked, wire.OfHostServer(s.o.Host, "open", c.from.name), request)
	if err != nil {
		return 0, err
	}
	opened, err := wire.Decode[wire.Opened](b)
	if err == nil && opened.Error != "" {
		err = errors.New(opened.Error)
	}
	return opened.Copied, err
}

// copied takes the answer: so much is on its way.
func (s *Shipper) copied(c copied, now time.Time) {
	s.copying = false
	if c.err == nil && c.n == 0 {
		c.err = fmt.Errorf("it has less of %s than it said", c.name)
	}
	if c.err != nil {
		s.copyAfter = now.Add(retryAfter)
		if !errors.Is(c.err, context.DeadlineExceeded) && c.from.state == open { // else another request may have taken its place
			s.failed(c.from, c.err.Error(), now) // it is asked again what it has
		}
		return
	}
	at, end := c.to.of(c.name), c.at+c.n
	if c.to.state != open || at.sent < c.at || at.sent >= end { // acks may have come before the answer
		return
	}
	c.to.sent(at, end, wayFill, now)
}

// compare has a server drop the end of a file, if that is not what the one that is to fill it up has there: what a server wrote before a power
// cut and did not acknowledge may be other bytes. What cannot be compared counts as different. It reports whether something is to be dropped.
func (s *Shipper) compare(from, to *peer, name string) bool {
	less, unknown := to.gone[name]
	delete(to.gone, name)
	at := to.of(name)
	if !unknown || at.have != less.Have {
		return false // nothing was there, or it has grown by what was acknowledged since
	}
	same := samePrefix(from.gone[name], less)
	if same >= less.Have {
		return false
	}
	to.cut(at, same, time.Now().Add(-stuckAfter))
	return true
}

// samePrefix returns up to where the checksums of two files say that they are the same. What lies before the checksums is the same: it was
// acknowledged.
func samePrefix(more, less wire.State) int64 {
	at := less.Checked
	for _, sum := range less.Tail {
		k := (at - more.Checked) / wire.BlockSize
		n := min(less.Have-at, wire.BlockSize)
		if at < more.Checked || k >= int64(len(more.Tail)) || more.Tail[k] != sum || n < wire.BlockSize && more.Have != less.Have {
			return at
		}
		at += n
	}
	return less.Have
}
