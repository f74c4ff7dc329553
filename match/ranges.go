package match

import (
	"unsafe"

	"meridian/trace"
)

// A range received is the message of the one segment that sent its last byte, where one segment sent all of it. Where
// the receiver merged several segments (GRO, LRO), its timestamp may be that of the first of them, when the last was
// not even sent: an adapter stamps each frame as it comes in, and the first frame's timestamp becomes that of the
// merged one. So a merged range is the message of the segment that sent its first byte, unless the capture's timestamps
// are known to be taken after merging ([trace.Capture.WholeStamps]).
//
//	sent      |-- t1 --|-- t2 --|-- t3 --|
//	received  |------------ t ----------|        t1 before t; t3 before t only if t is that of the whole
//
// Segments that carry the same bytes are told
// apart by the sender's timestamp, where it ticked between them, and by the IPv4 identification, which Linux and others
// count up with every packet of a connection. A divided super-segment takes one identification per part:
//
//	sent      id 100, bytes 0..4344                    (three parts of 1448 bytes)
//	received  id 100, 0..1448   id 101, 1448..2896   id 102, 2896..4344
//
// so that distance in bytes / distance in identifications is the size of a part. It is the same throughout a direction,
// and a range of which it differs is of another sending.

// clearIDs leaves the identifications of segments aside.
func clearIDs(h *half) {
	for from, to := range stretches(h.segments, h.memory) {
		for i := from; i < to; i++ {
			h.segments[i].id = 0
		}
	}
	h.dropCopies() // those that only identifications told apart
}

// segmentMatcher holds the buffers of one worker.
type segmentMatcher struct {
	rooms       *rooms // of the conversation
	parts       []part
	up, down    *half
	numbered    bool // segments have identifications
	wholeStamps bool // the receiver's, see trace.Capture.WholeStamps
	opening     []part
	openingLost census
}

// part is a candidate whose range begins elsewhere than the segment that sent its last byte.
type part struct {
	sent, came uint32 // places of the segments
	size       int64  // bytes per identification
}

// match offers a finding the message of every range received whose last byte one segment sent and no other range brought.
func (m *segmentMatcher) match(up, down *half, f *finding) {
	m.opening, m.openingLost = m.opening[:0], census{}
	if len(up.segments) == 0 || len(down.segments) == 0 {
		return
	}
	m.up, m.down = up, down
	m.numbered = f.ids
	m.parts = room(m.rooms, &m.parts, len(down.segments))
	if !m.matchBy(f) { // identifications are not those of parts
		f.restart()
		m.numbered = false
		clearIDs(up)
		clearIDs(down)
		m.matchBy(f)
	}
}

// matchBy reports whether the identifications of divided segments show one size of the parts.
func (m *segmentMatcher) matchBy(f *finding) bool {
	m.parts = m.parts[:0]
	m.opening, m.openingLost = m.opening[:0], census{}
	up, down := m.up.segments, m.down.segments
	var cu, cd cover
	var firstUp, firstDown cover // of the first bytes of merged ranges
	for i := range down {
		if i%stretch == stretch-1 {
			trace.TouchedIn(m.down.memory, 2*stretch*int(unsafe.Sizeof(segment{})))
		}
		s := &down[i]
		last := s.end() - 1
		sent, at := cu.find(up, last, s)
		if sent == 0 {
			if last < up[len(up)-1].reach && last >= up[0].start {
				f.census.add(0, 1)
			}
			continue
		}
		received, _ := cd.find(down, last, s)
		if sent > 1 || received > 1 {
			f.census.add(sent, received)
			m.offerCovering(up[:at+1], s, f)
			continue
		}
		if up[at].start > s.start && !m.wholeStamps { // the receiver merged several segments
			sent, at = firstUp.find(up, s.start, s)
			received, _ = firstDown.find(down, s.start, s)
			if sent != 1 || received != 1 {
				f.census.add(sent, max(received, 1))
				if sent > 0 {
					f.dropped += int64(s.copies)
				}
				continue
			}
		}
		o := &up[at]
		if size, divided := partSize(o, s); divided {
			m.parts = append(m.parts, part{uint32(at), uint32(i), size})
			continue
		}
		if m.isOpening(o) || m.isOpening(s) {
			m.opening = append(m.opening, part{sent: uint32(at), came: uint32(i)})
			continue
		}
		m.offer(o, s, f)
	}
	m.countUncovered(f)
	for from, to := range stretches(up, m.up.memory) {
		for i := from; i < to; i++ {
			if id := up[i].id; id != 0 {
				f.numbers.note(id)
			}
		}
	}
	return m.offerParts(f)
}

// isOpening reports whether a segment is a SYN, or has no number while others have: kernels answer so for a port that listens.
func (m *segmentMatcher) isOpening(s *segment) bool { return s.syn || m.numbered && s.id == 0 }

// offerOpening offers a finding the segments that open a connection.
func (m *segmentMatcher) offerOpening(f *finding) {
	f.census.merge(&m.openingLost)
	for _, p := range m.opening {
		m.offer(&m.up.segments[p.sent], &m.down.segments[p.came], f)
	}
}

// offer hands a finding a segment sent and a range received that are of one sending or of copies.
func (m *segmentMatcher) offer(sent, came *segment, f *finding) {
	f.census.add(sent.number(), came.number())
	switch {
	case sent.number() == 1 && came.number() == 1:
		f.link.add(trace.Message{Sent: sent.time, Received: came.time})
	case sent.copies > maxTimes || came.copies > maxTimes:
		f.dropped += int64(came.copies)
	default:
		s := several{received: uint32(came.copies)}
		for end, x := range []*segment{sent, came} {
			s.time[end], _ = []*half{m.up, m.down}[end].times(x)
			s.count[end] = x.copies
		}
		f.several = append(f.several, s)
	}
}

// offerCovering hands a finding a range received whose last byte several segments sent, or several ranges brought. The last of those
// sent is the last of up.
func (m *segmentMatcher) offerCovering(up []segment, came *segment, f *finding) {
	s := several{received: uint32(came.copies), mixed: true}
	last := came.end() - 1
	for i := len(up) - 1; i >= 0 && up[i].reach > last; i-- {
		if !up[i].mayBe(last, came) {
			continue
		}
		times, n := m.up.times(&up[i])
		if int(s.count[0])+n > maxTimes || int(up[i].copies) > n {
			f.dropped += int64(came.copies)
			return
		}
		s.count[0] += uint8(copy(s.time[0][s.count[0]:], times[:n]))
	}
	if came.copies > maxTimes {
		f.dropped += int64(came.copies)
		return
	}
	s.time[1], _ = m.down.times(came)
	s.count[1] = came.copies
	f.several = append(f.several, s)
}

// number returns how many copies of a segment there are, as a census counts them: of copies far apart there may be any number.
func (s *segment) number() int {
	if s.apart {
		return maxCopies
	}
	return min(int(s.copies), maxCopies)
}

// minEqualParts is the least share of candidates whose parts are equal, per cent.
const minEqualParts = 75

// offerParts offers the candidates whose parts are as large as those of most, and reports whether there is such a size.
func (m *segmentMatcher) offerParts(f *finding) bool {
	var size, votes int64 // majority vote (R. S. Boyer and J. S. Moore, 1981)
	for i := range m.parts {
		switch {
		case votes == 0:
			size, votes = m.parts[i].size, 1
		case m.parts[i].size == size:
			votes++
		default:
			votes--
		}
	}
	equal := 0
	for i := range m.parts {
		if m.parts[i].size == size {
			equal++
		}
	}
	if len(m.parts) > 0 && (size == 0 || 100*equal < minEqualParts*len(m.parts)) {
		return false
	}
	for i := range m.parts {
		if p := &m.parts[i]; p.size == size {
			m.offer(&m.up.segments[p.sent], &m.down.segments[p.came], f)
		} else {
			f.census.add(0, 1)
			f.dropped += int64(m.down.segments[p.came].copies)
		}
	}
	return true
}

// countUncovered adds to the census the segments whose last byte no range received covers, among those between the first and
// the last byte received.
func (m *segmentMatcher) countUncovered(f *finding) {
	up, down := m.up.segments, m.down.segments
	j := 0
	for i := range up {
		if i%stretch == stretch-1 {
			trace.TouchedIn(m.up.memory, 2*stretch*int(unsafe.Sizeof(segment{})))
		}
		last := up[i].end() - 1
		for j < len(down) && down[j].start <= last {
			j++
		}
		if j > 0 && down[j-1].reach <= last && last < down[len(down)-1].reach {
			c := &f.census
			if m.isOpening(&up[i]) {
				c = &m.openingLost
			}
			c.add(up[i].number(), 0)
		}
	}
}

// partSize returns the size of the parts into which a super-segment was divided, or of which a range received was put together, as
// the identifications of both show it; divided is false where both begin with the same byte or identifications say nothing. The
// size is 0 where it is none.
func partSize(sent, came *segment) (size int64, divided bool) {
	if sent.id == 0 || came.id == 0 || sent.start == came.start {
		return 0, false
	}
	bytes, parts := came.start-sent.start, int64(came.id-sent.id)
	if bytes < 0 {
		bytes, parts = -bytes, int64(sent.id-came.id)
	}
	if parts == 0 || bytes%parts != 0 {
		return 0, true
	}
	return bytes / parts, true
}

// cover looks up the segments over a byte; it remembers its place, since the bytes asked for mostly ascend.
type cover struct{ after int }

// find returns how many segments (2 stands for more) cover byte b and may be the same sending as the segment of, and the last of
// them.
func (c *cover) find(segments []segment, b int64, of *segment) (count, at int) {
	for c.after < len(segments) && segments[c.after].start <= b {
		c.after++
	}
	for c.after > 0 && segments[c.after-1].start > b {
		c.after--
	}
	for i := c.after - 1; i >= 0 && segments[i].reach > b; i-- {
		if !segments[i].mayBe(b, of) {
			continue
		}
		if count++; count > 1 {
			return count, at
		}
		at = i
	}
	return count, at
}

// mayBe reports whether a segment covers byte b and may be the same sending as the segment of.
func (s *segment) mayBe(b int64, of *segment) bool {
	if s.end() <= b || s.stamp != of.stamp && s.stamp != 0 && of.stamp != 0 {
		return false
	}
	return s.start != of.start || s.id == of.id || s.id == 0 || of.id == 0
}
