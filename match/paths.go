package match

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"meridian/clock"
	"meridian/trace"
)

// Delays tell copies apart that nothing in the packets does. A packet received that is paired with another copy's sending seems to
// have taken the time between the two sendings more, or less:
//
//	sent       (c1)           c2           c1 in brackets: the capture missed it
//	received        c1            (c2)     c1 with c2: received before it was sent; c1 took what others took
//
// What packets seem to take from one capture to another, by two clocks of any offset and rate, is known from all candidates
// together: a median for every 64 in the order of time, straight lines between. A false candidate does not move a median. The deviation
// of a candidate is what it took less that. Where a clock was set the times before and behind have medians of their own (levels.go). Where
// medians leap otherwise (a clock was slewed), nothing is known.
//
// A span of deviations is a filter: candidates inside are used. Whether it tells copies apart is not assumed but measured, on the
// keys of which the sender's capture saw several sendings. Such a key is apart where at most one sending explains each reception:
// all others lie outside by more than a width of the span. Those that are not apart are counted as repeats (copies.go), and so the
// census judges what the filter leaves. It needs no bound on delays, and clocks that wander make it refuse more.
//
// If all of n keys are apart, the next may not be. Half a key is assumed that is not (Jeffreys), less the further the nearest of
// the n lies from the span: by the square of its distance in widths. Seven spans are tried. The narrowest that leaves nearly as many
// candidates as any is used: what is outside of it is dropped, 1 or 2 in a hundred.
//
// Keys with several copies give messages too, where a reception lies in the span with one sending, and that with one reception.
//
// Whatever the census says, a candidate far from the usual deviations is dropped where packets were missed. Where a capture holds a few
// flows, nothing else shows that a segment was lost and sent again after a timeout, and that each capture saw one of the two.
//
// The cost is that of a sort of at most 32,768 candidates, and a look-up for each. It is paid only where packets are repeated or the
// sender's capture misses some.

const (
	// maxSample is about how many candidates a path is known by.
	maxSample = 1 << 15
	// knotOf is how many candidates make a knot of a path.
	knotOf = 64
	// minKnown is the least number of candidates by which it is known what packets usually take.
	minKnown = 8
	// farTimes is how far from the middle four fifths of all a candidate may lie, in widths of these; minFar the least such distance, ns.
	farTimes = 10
	minFar   = 1_000_000
	// minWidth is the least width of a span of deviations, ns.
	minWidth = 1000
	// minMargin is how far beyond the span the other sendings of a key must lie, in widths of the span.
	minMargin = 1.0
	// minLeft is the least share of the most candidates that a narrower span leaves.
	minLeft = 0.98
	// unseenClose is the number of repeated keys not apart that may exist although all that are seen are apart.
	unseenClose = 0.5
)

// outside are the shares of candidates outside of the spans that are tried.
var outside = []float64{0.0002, 0.002, 0.01, 0.03, 0.06, 0.1, 0.2}

// path is how long packets seem to take from one capture to another, by their two clocks.
type path struct {
	parts []pathPart      // by time: between them a clock was set
	usual deviationSpan   // far wider than most deviations
	spans []deviationSpan // ever narrower, within the usual; none where few candidates are known
	now   int             // the part that was asked for last
}

// pathPart is a path over a time in which no clock was set.
type pathPart struct {
	from, to int64  // of the first and the last message
	knots    []knot // by time
	next     int    // the knot behind the message that was asked for last
}

// deviationSpan is a span of deviations, and the share of candidates outside.
type deviationSpan struct {
	span
	outside float64
}

// knot is the median of what candidates near an instant took.
type knot struct{ at, took, leap int64 }

// newPath returns the path of the findings' candidates, nil where they are too few to tell.
func newPath(findings []*finding) *path {
	n := 0
	for _, f := range findings {
		n += f.to - f.from
	}
	step, skip := max(1, n/maxSample), 0
	sample := make([]knot, 0, n/step+1)
	for _, f := range findings {
		place := f.from + skip
		for ; place < f.to; place += step {
			m := f.link.at(place)
			sample = append(sample, knot{at: int64(m.Sent), took: int64(m.Received - m.Sent)})
		}
		skip = place - f.to
		for i := 0; f.unit != (unit{1, 1}) && i < len(f.several); i += step {
			if k := &f.several[i]; f.whole(k) {
				sample = append(sample, knot{at: int64(k.first(0)), took: int64(k.first(1) - k.first(0))})
			}
		}
	}
	if len(sample) < minKnown {
		return nil
	}
	slices.SortFunc(sample, func(a, b knot) int { return cmp.Compare(a.at, b.at) })
	p := &path{}
	begin := 0
	for _, end := range cutAtLevels(sample) {
		p.parts = append(p.parts, newPart(sample[begin:end]))
		begin = end
	}
	deviations := p.deviations(sample, math.MaxInt64)
	half := deviations[len(deviations)*3/4] - deviations[len(deviations)/4]
	if steady := p.deviations(sample, 4*max(minWidth, half)); len(steady) > 0 {
		deviations = steady
	}
	p.usual = usualOf(deviations)
	if len(sample) < knotOf {
		return p
	}
	for _, share := range outside {
		cut := int(math.Round(share / 2 * float64(len(deviations))))
		low, high := max(deviations[cut], p.usual.low), min(deviations[len(deviations)-1-cut], p.usual.high)
		p.spans = append(p.spans, deviationSpan{span{low, high}, share})
	}
	return p
}

// newPart returns the path of a sample in which no clock was set.
func newPart(sample []knot) pathPart {
	p := pathPart{from: sample[0].at, to: sample[len(sample)-1].at}
	var took []int64
	for from := 0; from < len(sample); from += knotOf {
		to := from + knotOf
		if to+knotOf > len(sample) {
			to = len(sample)
		}
		took = took[:0]
		for _, k := range sample[from:to] {
			took = append(took, k.took)
		}
		slices.Sort(took)
		p.knots = append(p.knots, knot{at: sample[(from+to)/2].at, took: took[len(took)/2]})
		if to == len(sample) {
			break
		}
	}
	p.findLeaps()
	return p
}

// usualOf returns a span far wider than the middle four fifths of some deviations.
func usualOf(deviations []int64) deviationSpan {
	cut := max(1, len(deviations)/10)
	low, high := deviations[cut], deviations[len(deviations)-1-cut]
	far := max(minFar, farTimes*(high-low))
	return deviationSpan{span: span{low - far, high + far}}
}

// deviations returns those of a sample, ascending, but where the usual time leaps by more than so much.
func (p *path) deviations(sample []knot, most int64) (list []int64) {
	list = make([]int64, 0, len(sample))
	for _, k := range sample {
		if d, leap := p.deviation(clock.HostTime(k.at), clock.HostTime(k.at+k.took)); leap <= most {
			list = append(list, d)
		}
	}
	slices.Sort(list)
	return list
}

// deviation returns how much longer than usual a message would have taken, and how surely that is known: the greatest error at a
// place where the usual time changes by leaps, as it does where a clock is slewed. Between two parts nothing is known.
func (p *path) deviation(sent, received clock.HostTime) (deviation, leap int64) {
	at, took := int64(sent), int64(received-sent)
	if x := &p.parts[p.now]; at < x.from || at > x.to { // messages mostly come in the order of time
		p.now = min(sort.Search(len(p.parts), func(i int) bool { return p.parts[i].to >= at }), len(p.parts)-1)
	}
	deviation, leap = p.parts[p.now].deviation(at, took)
	if p.now > 0 && at < p.parts[p.now].from {
		leap = math.MaxInt64
	}
	return deviation, leap
}

func (p *pathPart) deviation(at, took int64) (deviation, leap int64) {
	i := p.next
	if !(i > 0 && i < len(p.knots) && p.knots[i-1].at < at && at <= p.knots[i].at) {
		i = sort.Search(len(p.knots), func(i int) bool { return p.knots[i].at >= at })
		p.next = i
	}
	if len(p.knots) == 1 {
		return took - p.knots[0].took, 0
	}
	i = min(max(i, 1), len(p.knots)-1)
	a, b := &p.knots[i-1], &p.knots[i]
	return took - a.took - int64(float64(b.took-a.took)*float64(at-a.at)/float64(max(1, b.at-a.at))), a.leap
}

// findLeaps notes by how much each knot differs from what the rate of a neighbouring interval makes of the knot before it.
func (p *pathPart) findLeaps() {
	rate := func(i int) float64 {
		a, b := p.knots[i], p.knots[i+1]
		return float64(b.took-a.took) / float64(max(1, b.at-a.at))
	}
	intervals := len(p.knots) - 1
	for i := range intervals {
		a, b := &p.knots[i], &p.knots[i+1]
		least := math.Inf(1)
		for _, k := range []int{i - 1, i + 1} {
			if k >= 0 && k < intervals {
				least = min(least, math.Abs(float64(b.took-a.took)-rate(k)*float64(b.at-a.at)))
			}
		}
		if intervals > 1 {
			a.leap = int64(least)
		}
	}
}

// width returns the width of a span.
func (s *deviationSpan) width() float64 { return float64(max(minWidth, s.high-s.low)) }

// distance returns how far outside of a span a message's deviation lies, in widths; +Inf where it is not known as closely as that.
func (p *path) distance(s *deviationSpan, sent, received clock.HostTime) float64 {
	deviation, leap := p.deviation(sent, received)
	switch {
	case float64(leap) > s.width():
		return math.Inf(1)
	case deviation < s.low:
		return float64(s.low-deviation) / s.width()
	case deviation > s.high:
		return float64(deviation-s.high) / s.width()
	}
	return 0
}

// tellApart tries spans of deviations by which the copies of accepted flows are told apart, whatever deviations single copies have.
//
// It returns what it chose, nil for nothing.
func (p *path) tellApart(flows []judged, unseen float64) *trial {
	var best trial
	for i := range p.spans {
		if t := p.try(flows, &p.spans[i], unseen); len(t.apart) > len(best.apart) {
			best = t
		}
	}
	for _, f := range best.apart {
		f.path, f.apart = p, best.span
	}
	if best.span == nil {
		return nil
	}
	return &best
}

// dropFar leaves of the accepted flows the candidates that are not far from the usual.
func (p *path) dropFar(flows []judged) {
	for _, f := range flows {
		if f.accepted && f.singles == nil {
			f.path, f.singles = p, &p.usual
		}
	}
}

// accept tries spans of deviations, of which narrow ones tell more copies apart, and accepts flows by the narrowest that leaves nearly
// as many candidates as any. So many candidates are left without. It returns what it chose, nil for nothing.
func (p *path) accept(flows []judged, unseen float64, candidates int) *trial {
	most := float64(candidates)
	tried := make([]trial, len(p.spans))
	for i := range p.spans {
		tried[i] = p.try(flows, &p.spans[i], unseen)
		most = max(most, tried[i].candidates)
	}
	for i := len(tried) - 1; i >= 0; i-- {
		t := &tried[i]
		if t.candidates < minLeft*most || t.candidates == 0 {
			continue
		}
		for _, f := range flows {
			f.accepted = false
		}
		for _, f := range t.accepted {
			f.accepted, f.path, f.singles = true, p, t.span
		}
		for _, f := range t.apart {
			f.path, f.apart = p, t.span
		}
		return t
	}
	return nil
}

// trial is what one span of deviations leaves.
type trial struct {
	span       *deviationSpan
	accepted   []judged
	apart      []*finding // those whose copies are told apart
	tried      []judged   // the flows, with the repeats that are left
	alike      float64    // unseen repeats that are not apart
	candidates float64
}

// try judges the flows by what a span leaves of their repeats.
func (p *path) try(flows []judged, s *deviationSpan, unseen float64) trial {
	t := trial{span: s}
	tried := slices.Clone(flows)
	nearest, apart, came := math.Inf(1), 0.0, 0.0 // repeated keys told apart, of those that came
	for n, f := range flows {
		if (f.unit != unit{1, 1}) || f.repeats == 0 {
			continue
		}
		separate, near := p.separate(f.finding, s)
		if own := f.sentAgain(); own > 0 {
			apart, came = apart+separate, came+own
			nearest = min(nearest, near)
			tried[n].repeats *= 1 - separate/own
		}
	}
	for n, f := range flows { // those of which nothing came are as the others
		if came > 0 && (f.unit == unit{1, 1}) && f.repeats > 0 && f.sentAgain() == 0 {
			tried[n].repeats *= 1 - apart/came
		}
	}
	alike := 0.0
	if apart > 0 {
		alike = unseenClose / ((1 + nearest) * (1 + nearest))
	}
	n, candidates := acceptable(tried, unseen, alike)
	t.tried, t.alike = tried, alike
	t.accepted, t.candidates = tried[:n], float64(candidates)*(1-s.outside)
	for _, f := range t.accepted {
		l := f.census.losses(f.unit)
		if len(f.several) > 0 && (f.unit == unit{1, 1}) && f.repeats < 0.5 && alike*((l.uncome+unseenMiss)/(l.left+1)+s.outside) <= maxExpectedFalse {
			t.apart = append(t.apart, f.finding)
			t.candidates += float64(len(f.several))
		}
	}
	return t
}

// sentAgain counts the keys that were sent several times and came.
func (f *finding) sentAgain() float64 {
	return f.census.sum(func(i, j int) bool { return i > 1 && j > 0 })
}

// separate counts the repeated keys whose receptions at most one sending explains, and returns how near another comes to that.
func (p *path) separate(f *finding, s *deviationSpan) (n, nearest float64) {
	nearest = math.Inf(1)
	for i := range f.several {
		k := &f.several[i]
		if k.count[0] < 2 {
			continue
		}
		key := math.Inf(1)
		for _, r := range k.time[1][:k.count[1]] {
			least, next := math.Inf(1), math.Inf(1)
			vague := false
			for _, sent := range k.time[0][:k.count[0]] {
				d := p.distance(s, sent, r)
				vague = vague || math.IsInf(d, 1)
				if d < least {
					least, next = d, least
				} else {
					next = min(next, d)
				}
			}
			if vague && least <= minMargin {
				next = 0
			}
			key = min(key, next)
		}
		if key > minMargin {
			n++
			nearest = min(nearest, key)
		}
	}
	return n, nearest
}

// likely reports whether a candidate of a finding that some are taken out of may be used.
func (f *finding) likely(m trace.Message) bool {
	if !f.accepted || !f.fits(m) {
		return false
	}
	if f.singles == nil {
		return f.unit == unit{1, 1}
	}
	return f.path.distance(f.singles, m.Sent, m.Received) == 0
}

// addApart adds the messages of a key with several copies that deviations tell apart, and returns how many they are.
func (f *finding) addApart(k *several) (added int64) {
	received := k.time[1][:k.count[1]]
	for _, sent := range k.time[0][:k.count[0]] {
		var of clock.HostTime
		n := 0
		for _, r := range received {
			if d := f.path.distance(f.apart, sent, r); d == 0 && (n == 0 || !f.once || k.count[0] > 1) {
				of = r
				n++
			} else if d == 0 {
				continue // the network repeated it
			} else if d <= minMargin {
				n += 2
			}
		}
		for _, other := range k.time[0][:k.count[0]] {
			if d := f.path.distance(f.apart, other, of); n == 1 && other != sent && (d <= minMargin || math.IsInf(d, 1)) {
				n = 2
			}
		}
		if m := (trace.Message{Sent: sent, Received: of}); n == 1 && f.fits(m) {
			f.link.add(m)
			added++
		}
	}
	return added
}
