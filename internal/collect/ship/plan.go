package ship

import (
	"time"
)

// piece is what is sent next: a range of a file to the servers that have all before it.
type piece struct {
	f        *file
	from, to int64
	only     *peer // the server it is for; nil for all that store the host
}

// plan decides what is sent next.
type plan struct {
	d      *directory
	peers  []*peer // that store this host, or were asked to
	window int64   // bytes on the way to each
	chunk  int64   // of a piece at most
	turn   int     // of the files of a class
	behind bool    // the turn of servers that have less than others
}

// next returns a piece; false if there is nothing to send, or no room for it. Within a class files take turns. Servers that have less than
// the others get every second piece.
func (p *plan) next() (piece, bool) {
	for class := 0; class < len(p.d.classes); class++ {
		p.behind = !p.behind
		first, second := p.ahead, p.lagging
		if p.behind {
			first, second = second, first
		}
		for _, find := range []func(int) (piece, bool){first, second} {
			if x, ok := find(class); ok {
				return x, true
			}
		}
		if p.waits(class) {
			return piece{}, false // room is for this class, not for those behind it
		}
	}
	return piece{}, false
}

// inTurn calls f for the files of a class, from the one whose turn it is on, until f is true.
func (p *plan) inTurn(class int, f func(*file) bool) {
	n := len(p.d.order)
	for i := range n {
		if x := p.d.order[(p.turn+i)%n]; x.class == class && !x.absent && !x.unreadable() && f(x) {
			p.turn = (p.turn + i + 1) % n
			return
		}
	}
}

// ahead returns a piece for the servers that have most of a file.
func (p *plan) ahead(class int) (x piece, ok bool) {
	p.inTurn(class, func(f *file) bool {
		most := int64(-1)
		for _, s := range p.peers {
			if s.state == open {
				most = max(most, s.of(f.name).sent)
			}
		}
		if most < 0 || most >= f.whole {
			return false
		}
		to := min(f.whole, most+p.chunk)
		for _, s := range p.peers {
			if at := s.of(f.name); s.state == open && at.sent == most && (!p.room(s, to-most) || !at.cutting.IsZero()) {
				return false
			}
		}
		x, ok = piece{f: f, from: most, to: to}, true
		return true
	})
	return x, ok
}

// lagging returns a piece for a server that has less of a file than another.
func (p *plan) lagging(class int) (x piece, ok bool) {
	p.inTurn(class, func(f *file) bool {
		most := int64(-1)
		var least *peer
		for _, s := range p.peers {
			if s.state != open {
				continue
			}
			at := s.of(f.name)
			if least == nil || at.sent < least.of(f.name).sent {
				least = s
			}
			most = max(most, at.sent)
		}
		if least == nil {
			return false
		}
		most = min(most, f.whole) // a server may have what a power cut has taken from the host
		at := least.of(f.name).sent
		to := min(most, at+p.chunk)
		if at >= most || !p.room(least, to-at) || !least.of(f.name).cutting.IsZero() {
			return false
		}
		x, ok = piece{f: f, from: at, to: to, only: least}, true
		return true
	})
	return x, ok
}

// waits reports whether something of a class is to be sent.
func (p *plan) waits(class int) bool {
	for _, f := range p.d.order {
		if f.class != class || f.absent || f.unreadable() {
			continue
		}
		for _, s := range p.peers {
			if s.state == open && s.of(f.name).sent < f.whole {
				return true
			}
		}
	}
	return false
}

// waiting reports whether something of any class is to be sent.
func (p *plan) waiting() bool {
	for class := range p.d.classes {
		if p.waits(class) {
			return true
		}
	}
	return false
}

// room reports whether so much more may be on the way to a server.
func (p *plan) room(s *peer, bytes int64) bool {
	return s.onWay == 0 || s.onWay+bytes <= p.window
}

// sentTo notes that a piece was sent.
func (p *plan) sentTo(x piece, now time.Time) {
	way := wayData
	if x.only != nil {
		way = wayFill
	}
	for _, s := range p.peers {
		if s.state != open || x.only != nil && s != x.only {
			continue
		}
		if at := s.of(x.f.name); at.sent == x.from {
			s.sent(at, x.to, way, now)
		}
	}
}

// acknowledged returns up to where as many servers as are wanted have a file on their disks.
func (p *plan) acknowledged(name string, replicas int) int64 {
	var have []int64
	for _, s := range p.peers {
		if s.state == open {
			have = append(have, s.of(name).right())
		}
	}
	if len(have) < replicas {
		return 0
	}
	least := have[0]
	for _, h := range have {
		least = min(least, h)
	}
	return least
}

// opened reports whether as many servers as are wanted have said what they have.
func (p *plan) opened(replicas int) bool {
	n := 0
	for _, s := range p.peers {
		if s.state == open {
			n++
		}
	}
	return n >= replicas
}

// documented reports whether all wanted servers have the metadata as it is.
func (p *plan) documented(replicas int) bool {
	n := 0
	for _, s := range p.peers {
		if s.state == open && s.document == p.d.metadata.sum {
			n++
		}
	}
	return n >= replicas && p.d.metadata.data != nil
}
