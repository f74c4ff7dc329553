package show

import (
	"meridian/clock"
	"meridian/trace"
)

// arrowStore finds the two ends of messages and keeps what a picture shows of them.
type arrowStore struct {
	known    map[uint64]arrowEnd
	ring     []uint64 // flows in known, the oldest at next once it is full
	next     int
	index    map[arrowKey]int
	all      []pictureArrow
	coarse   int32 // columns that are one
	messages int64
	inverted int64
}

// arrowEnd is one end of a message.
type arrowEnd struct {
	at, low, high clock.TimelineTime
	stream        int
	sends         bool
}

// pictureArrow stands for messages between the same two rows and columns.
type pictureArrow struct {
	from, to arrowEnd
	count    int64
}

func (a *pictureArrow) inverted() bool { return a.to.at < a.from.at }

type arrowKey struct {
	from, to    int
	left, right int32
	inverted    bool
}

const (
	mostEnds   = 65_536 // that wait for the other
	mostArrows = 20_000 // kept
	mostDrawn  = 2_000
)

func newArrowStore() arrowStore {
	return arrowStore{known: make(map[uint64]arrowEnd), index: make(map[arrowKey]int), coarse: 1}
}

// meet takes an end of a message, and adds the arrow if it is the second one.
func (s *arrowStore) meet(p *Picture, r *trace.TimelineEvent) {
	if r.Flow == 0 {
		return
	}
	e := arrowEnd{r.Time, r.Low, r.High, r.Stream, r.Role == trace.Sends}
	other, ok := s.known[r.Flow]
	if !ok {
		s.remember(r.Flow, e)
		return
	}
	if other.sends == e.sends {
		return
	}
	a := pictureArrow{other, e, 1}
	if e.sends {
		a = pictureArrow{e, other, 1}
	}
	s.messages++
	if a.inverted() {
		s.inverted++
		p.rows[a.from.stream].inverted = true
		p.rows[a.to.stream].inverted = true
	}
	if !p.shown(a.from.at) || !p.shown(a.to.at) {
		return
	}
	s.add(p, a)
	for len(s.all) > mostArrows {
		s.coarsen(p)
	}
}

func (s *arrowStore) remember(flow uint64, e arrowEnd) {
	if len(s.ring) < mostEnds {
		s.ring = append(s.ring, flow)
	} else {
		delete(s.known, s.ring[s.next])
		s.ring[s.next] = flow
		s.next = (s.next + 1) % mostEnds
	}
	s.known[flow] = e
}

func (s *arrowStore) add(p *Picture, a pictureArrow) {
	key := arrowKey{a.from.stream, a.to.stream, p.column(a.from.at) / s.coarse, p.column(a.to.at) / s.coarse, a.inverted()}
	i, ok := s.index[key]
	if !ok {
		s.index[key] = len(s.all)
		s.all = append(s.all, a)
		return
	}
	k := &s.all[i]
	count := k.count + a.count
	if a.inverted() && clock.Sub(a.to.at, a.from.at) < clock.Sub(k.to.at, k.from.at) {
		*k = a // the worst one is shown
	}
	k.count = count
}

// coarsen makes one of arrows whose ends are near each other.
func (s *arrowStore) coarsen(p *Picture) {
	all := s.all
	s.all, s.index, s.coarse = nil, make(map[arrowKey]int), s.coarse*2
	for _, a := range all {
		s.add(p, a)
	}
	if float64(s.coarse) > p.columns && len(s.all) > mostArrows { // between too many rows for any step
		s.all = s.all[:mostArrows]
	}
}
