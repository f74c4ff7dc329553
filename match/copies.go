package match

import (
	"cmp"
	"slices"

	"meridian/clock"
)

// Copies are packets that nothing in a capture tells apart: an application sends a datagram again, a peer repeats a
// segment within one tick of its timestamps, a mirror port delivers every frame twice. One copy seen at each end is not
// enough for a message. The sender's capture may have missed the first copy and the receiver's end the second:
//
//	sent       (c1)       c2            c1 in brackets: the capture missed it
//	received          c1      (c2)      c2 sent, c1 received: false, the reception comes first
//
// No rule on the two packets alone excludes that. It takes three things at once, and each can be measured where it is
// common: a sender that repeats, losses at its capture, and losses behind it. So every flow hands in its candidates together
// with a census of copies, and the flows of one kind between two captures are judged together. The expected number of
// false pairs among those whose copies are not all seen is
//
//	2 * repeats * missedBySender * missedByReceiver
//
// repeats is the number of keys that were sent again: of those that the sender's capture saw often enough, and as many more
// as it must have missed. Copies that only the receiver saw are the network's, which repeats one sending. The share of
// receptions without a sending is missedBySender. The share of sendings without a reception is missedByReceiver, and among
// repeated keys that share may be greater, because protocols repeat what was lost. Candidates are used while the sum stays
// below maxExpectedFalse; all others are dropped and counted.
//
// Where delays tell the copies of repeated keys apart, only those that they do not tell apart count as repeats (paths.go).
//
// A flow without any repeat seen may still hold one of which each end saw one copy. The number of such flows is
// estimated from those with exactly one repeated key (I. J. Good, Biometrika 40, 1953).
//
// Where each end sees a constant number of copies (a mirror port: two at the sender, one at the receiver), that number is
// the unit: a key is a candidate where both ends saw the full number, and the first copies make the message.
//
// Where one sending was seen and several receptions, the network repeated it, or a second sending was missed. The first reception is of
// the sending seen unless that is so. Of these the expected number is
//
//	2 * repeats * missedBySender
//
// since nothing else must be missed. Such keys are used while it stays below maxExpectedFalse. Where the sender gives every
// packet a number (IPv4 identification) and none is repeated, fewer unseen repeats are assumed.
//
// Keys that were sent several times are used only where delays tell the copies apart, however many both ends saw: the network may
// have reordered them.
//
// A sender whose trace is whole ([trace.Capture.Whole]) has no unseen sending, and all candidates of its are used. Where identifications
// of a connection show that its sender's capture missed none of its packets (unbroken.go), only the first and the last copy may be unseen.
//
// The assumption is that the two captures miss packets independently of each other.

const (
	// maxExpectedFalse is the greatest expected number of false messages per kind of flow, pair of captures and direction.
	maxExpectedFalse = 1e-3
	// unseenMiss is the number of packets that a capture may have missed although nothing shows it: most captures miss none.
	unseenMiss = 0.05
	// unseenRepeat is the number of repeated keys that may exist although neither end shows one, per key at most unseenRate.
	unseenRepeat = 0.02
	unseenRate   = 0.001
	// unseenNumber is unseenRepeat where the sender gives each packet a number, as it does where so many packets or more have another
	// number than the one before, and such a share of all.
	unseenNumber  = 0.001
	minNumbered   = 16
	numberedShare = 0.98
	// minBoth is the least share of repeated keys that a sender's capture is taken to show.
	minBoth = 0.01
	// maxCopies is the number of copies of a key that a census counts as this many or more.
	maxCopies = 4
	// maxTimes is the greatest number of copies of which it is kept when each was seen.
	maxTimes = 7
)

// kind divides the conversations of two captures: packets of one kind repeat for the same reasons.
type kind struct {
	from, to *index
	of       uint8
	protocol uint8
	ids      bool   // the packets sent have identifications
	port     uint16 // the lower one of datagrams: that of the service; without ports, their size
}

const (
	kindExact   uint8 = iota // datagrams of one content and length
	kindOpen                 // datagrams whose beginnings are the same
	kindData                 // TCP segments
	kindAck                  // TCP packets without data
	kindOpening              // SYNs, and segments without numbers among others that have some: timers repeat them
)

// census counts keys by the number of copies that the sender's and the receiver's capture saw; the last number stands for more.
// A key that one end alone saw counts only where the other end's capture was running.
type census [maxCopies + 1][maxCopies + 1]int32

func (c *census) add(sent, received int) {
	c[min(sent, maxCopies)][min(received, maxCopies)]++
}

func (c *census) merge(o *census) {
	for i := range c {
		for j := range c[i] {
			c[i][j] += o[i][j]
		}
	}
}

// sum adds up the counts for which f holds.
func (c *census) sum(f func(sent, received int) bool) (n float64) {
	for i := range c {
		for j := range c[i] {
			if c[i][j] != 0 && f(i, j) {
				n += float64(c[i][j])
			}
		}
	}
	return n
}

// common returns the number of keys that both ends saw.
func (c *census) common() int {
	return int(c.sum(func(i, j int) bool { return i > 0 && j > 0 }))
}

// dropLone forgets the keys that one end alone saw.
func (c *census) dropLone() {
	for i := range c {
		c[i][0], c[0][i] = 0, 0
	}
}

// unit is how many copies of everything each end's capture holds.
type unit struct{ sent, received int }

// unit returns the most frequent numbers of copies among keys that both ends saw.
func (c *census) unit() unit {
	best, most := unit{1, 1}, int32(0)
	for i := 1; i < maxCopies; i++ {
		for j := 1; j < maxCopies; j++ {
			if c[i][j] > most {
				best, most = unit{i, j}, c[i][j]
			}
		}
	}
	return best
}

// repeats counts the keys that were sent more than once as far as the sender's capture shows, where u is the full number of
// copies.
func (c *census) repeats(u unit) float64 {
	return c.sum(func(i, _ int) bool { return i > u.sent })
}

// losses are copies that one end's capture lacks, of those that the other end's has.
type losses struct {
	unsent, came float64 // of what came, copies that the sender's capture lacks
	uncome, left float64 // of what left, copies that the receiver's capture lacks
}

// losses counts what is missing where u is the full number of copies.
func (c *census) losses(u unit) (l losses) {
	for i := range c {
		for j, n := range c[i] {
			if j > 0 {
				l.came += float64(n)
				l.unsent += float64(n) * float64(max(0, u.sent-i)) / float64(u.sent)
			}
			if i > 0 {
				l.left += float64(n)
				l.uncome += float64(n) * float64(max(0, u.received-j)) / float64(u.received)
			}
		}
	}
	return l
}

func (l *losses) add(o losses) {
	l.unsent, l.came, l.uncome, l.left = l.unsent+o.unsent, l.came+o.came, l.uncome+o.uncome, l.left+o.left
}

// chance is the expected number of false pairs per repeated key that the sender's capture shows.
type chance struct {
	unseen float64 // of keys that are repeated for reasons that nothing shows
	seen   float64 // of keys that are repeated as others are, which may be because they are lost
	single float64 // of keys of which one sending is seen, and several receptions
}

// chance returns the expected numbers of false pairs. all is the losses of everything between the two captures: what a capture misses
// does not depend on the kind of packets alone.
func (f *finding) chance(c *census, all losses) chance {
	if f.kind.from.Whole {
		return chance{}
	}
	u := f.unit
	own := c.losses(u)
	atSender, behind := (all.unsent+unseenMiss)/(all.came+1), (own.uncome+unseenMiss)/(own.left+1)
	if own.came >= minOwn {
		atSender = max(atSender, own.unsent/own.came)
	}
	afterLoss := behind
	if repeated := c.repeats(u); repeated > 0 {
		fewer := c.sum(func(i, j int) bool {
			return i > u.sent && (i+u.sent-1)/u.sent > (j+u.received-1)/u.received
		})
		afterLoss = max(behind, fewer/repeated)
	}
	both := max(minBoth, (1-atSender)*(1-atSender)) // the share of repeated keys of which both sendings are seen
	ends := f.atEnds()
	return chance{ends * 2 * atSender * behind / both, ends * 2 * atSender * afterLoss / both, ends * 2 * atSender / both}
}

// atEnds returns the share of repeated keys of which a sending can be unseen.
func (f *finding) atEnds() float64 {
	if !f.unbroken || f.census.losses(f.unit).unsent > 0 {
		return 1
	}
	return min(1, 2/f.census.sum(func(int, int) bool { return true }))
}

// several is a key of which both ends saw at least one copy, and one end more.
type several struct {
	time     [2][maxTimes]clock.HostTime // of the first copies at each end
	count    [2]uint8                    // up to maxTimes
	received uint32                      // copies at the receiver, however many
	mixed    bool                        // TCP segments of different lengths
}

func (s *several) first(end int) clock.HostTime { return s.time[end][0] }
func (s *several) last(end int) clock.HostTime  { return s.time[end][s.count[end]-1] }

// finding is what one direction of a conversation offers: messages of keys that both ends saw once, in the link, and
// those seen more often.
type finding struct {
	kind
	link     *link
	from, to int // places of the candidates in the link
	census   census
	several  []several
	dropped  int64 // receptions that could be of one of several sendings, whatever the census
	unit     unit
	accepted bool
	path     *path // of the captures, if deviations decide
	unbroken bool  // the sender's capture has all packets of the connection from its first to its last
	once     bool  // of keys of which one sending was seen there was no other: the first reception is of it
	numbers  numbering
	singles  *deviationSpan // deviations that candidates may have, nil for any
	apart    *deviationSpan // deviations that tell copies apart, nil if they do not
	certain  bool           // its packets cannot repeat
	follows  founders       // what cannot repeat between the hosts, where its packets can; else nil
}

// restart takes back what was offered so far.
func (f *finding) restart() {
	f.link.truncate(f.from)
	f.census, f.several, f.dropped, f.numbers = census{}, nil, 0, numbering{}
}

// minOwn is the number of keys from which on a flow's own losses count, and not those of its kind.
const minOwn = 100

func (f *finding) own(all *census) *census {
	if f.census.sum(func(int, int) bool { return true }) >= minOwn {
		return &f.census
	}
	return all
}

// acceptKind decides on the findings of one kind, of which all is the census, between captures that miss so much.
func acceptKind(findings []*finding, all *census, missing losses, pathOf func() *path) {
	keys := all.sum(func(int, int) bool { return true })
	flows := make([]judged, 0, len(findings))
	for _, f := range findings {
		repeats := f.census.repeats(f.unit)
		flows = append(flows, judged{f, repeats, repeats, f.chance(f.own(all), missing)})
	}
	unseen := min(unseenRepeat, unseenRate*keys)
	n, candidates := acceptable(flows, 0, unseen)
	for _, f := range flows[:n] {
		f.accepted = true
	}
	if flows[0].kind.of == kindOpen {
		return // copies of divided datagrams are not kept
	}
	whole := flows[0].kind.from.Whole
	unsure := n < len(flows) || missing.unsent > 0 && !whole
	lossy := missing.uncome > 0 && !whole
	if !unsure && !lossy && !slices.ContainsFunc(flows, func(f judged) bool { return len(f.several) > 0 }) {
		return
	}
	strange := unseen
	if numbered(flows) {
		strange = min(strange, unseenNumber)
	}
	p := pathOf()
	var t *trial
	switch {
	case p == nil:
	case unsure:
		t = p.accept(flows, unseen, candidates)
	default:
		t = p.tellApart(flows, unseen)
	}
	if keys >= minOwn {
		findOnce(flows, strange, 0, nil)
		if t != nil {
			findOnce(t.tried, strange, t.alike, t.span)
		}
	}
	if p != nil && (unsure || lossy) {
		p.dropFar(flows)
	}
}

// findOnce notes the flows of which a key with one sending seen had no other, as far as is expected: those that a span of deviations
// filters, or those that none filters. So many repeated keys are taken to be unseen.
func findOnce(flows []judged, strange, alike float64, s *deviationSpan) {
	tried := slices.Clone(flows)
	for i := range tried {
		if s != nil { // what took longer than others may seem to be of another sending
			tried[i].repeats = max(tried[i].repeats, s.outside*tried[i].all)
		}
		tried[i].chance.unseen, tried[i].chance.seen = tried[i].chance.single, tried[i].chance.single
	}
	n, _ := acceptable(tried, strange, alike)
	for _, f := range tried[:n] {
		if (f.singles != nil || f.apart != nil) == (s != nil) {
			f.once = f.unit == unit{1, 1}
		}
	}
}

// numbering counts the packets sent that have an identification other than the one before.
type numbering struct {
	packets, varied int
	first, last     uint16
}

func (n *numbering) note(id uint16) {
	switch {
	case n.packets == 0:
		n.first = id
	case id != 0 && id != n.last:
		n.varied++
	}
	n.last = id
	n.packets++
}

// numbered reports whether the sender gives each packet a number of its own, so that what is sent again has another.
func numbered(flows []judged) bool {
	var all numbering
	for _, f := range flows {
		n := &f.numbers
		if n.packets == 0 {
			if f.from < f.to || len(f.several) > 0 {
				return false
			}
			continue
		}
		all.note(n.first)
		all.packets += n.packets - 1
		all.varied += n.varied
		all.last = n.last
	}
	return all.packets > minNumbered && float64(all.varied) >= numberedShare*float64(all.packets-1)
}

// judged is a finding as it is judged: how many of its keys were sent again so that false pairs may come of it.
type judged struct {
	*finding
	repeats float64
	all     float64 // the repeats before deviations told some apart
	chance  chance
}

// acceptable sorts the flows and returns how many of them may be used, and the number of their candidates. So many repeated keys are
// taken to be unseen: for reasons that nothing shows, and as others.
func acceptable(flows []judged, strange, alike float64) (n, candidates int) {
	// Flows with one repeated key are as many as those with one that is not seen.
	var quiet chance // the greatest of flows without repeats
	for _, f := range flows {
		switch {
		case f.repeats < 0.5:
			quiet.unseen, quiet.seen = max(quiet.unseen, f.chance.unseen), max(quiet.seen, f.chance.seen)
		case f.repeats < 1.5:
			alike++
		}
	}
	slices.SortStableFunc(flows, func(a, b judged) int { return cmp.Compare(a.repeats, b.repeats) })
	expected := strange*quiet.unseen + alike*quiet.seen
	for i, f := range flows {
		more := f.repeats * f.chance.seen
		if expected+more > maxExpectedFalse {
			return i, candidates
		}
		expected += more
		candidates += f.to - f.from
	}
	return len(flows), candidates
}

// addSeveral adds the message of a key with several copies, or returns how many receptions it drops.
func (f *finding) addSeveral(s *several) (dropped int64) {
	if f.apart != nil {
		return int64(s.received) - f.addApart(s)
	}
	if from, to := f.kind.from.Whole, f.kind.to.Whole; from && to && s.count[0] == s.count[1] && f.of == kindAck {
		// Both ends saw all copies. The network may have reordered them: none was received before as many were sent.
		added := f.put(0, 0, s)
		if s.count[0] > 1 {
			added += f.put(int(s.count[0])-1, int(s.count[1])-1, s)
		}
		if added == 0 {
			return int64(s.received)
		}
		return max(0, int64(s.received)-2)
	}
	if f.once && s.count[0] == 1 && !s.mixed && (f.singles == nil || f.path.distance(f.singles, s.first(0), s.first(1)) == 0) {
		return int64(s.received) * (1 - f.put(0, 0, s))
	}
	if !f.accepted || !f.whole(s) || f.singles != nil && f.path.distance(f.singles, s.first(0), s.first(1)) > 0 {
		return int64(s.received)
	}
	return int64(s.received) * (1 - f.put(0, 0, s))
}

// whole reports whether each end saw of a key as many copies as of everything, and soon one after the other.
func (f *finding) whole(s *several) bool {
	return !s.mixed && f.unit == unit{int(s.count[0]), int(s.count[1])} &&
		within(s.first(0), s.last(0), repeatWithin) && within(s.first(1), s.last(1), repeatWithin)
}
