package match

import (
	"cmp"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// identifying are attributes that may identify a host, best first: what tells two processes apart that cannot share a
// clock is looked for here.
var identifying = []string{"host.name", "k8s.node.name", "host.id", "hostname", "k8s.pod.name", "k8s.pod.uid", "container.id", "ip",
	"service.instance.id", "process.pid", "service.name"}

// spanNames is what is known of the name of one clock.
type spanNames struct {
	NamePremise
	contradicting [][2]int32 // parents and children that no single clock explains
	calls         []sidedCall
}

// names tests whether the spans of each host are of one clock.
func (r *SpanResult) names(j *spanJoin) {
	of := make(map[int]*spanNames)
	get := func(c int) *spanNames {
		if of[c] == nil {
			of[c] = &spanNames{NamePremise: NamePremise{Clock: c}}
		}
		return of[c]
	}
	for _, f := range j.files {
		for _, x := range f.Resources {
			if x.Host < 0 || x.Host >= len(f.Clocks) || f.Clocks[x.Host] < 0 {
				continue
			}
			p := get(f.Clocks[x.Host])
			if p.NamedBy == "" || x.NamedBy != trace.ServiceName {
				p.NamedBy = x.NamedBy
			}
			if x.Service != "" && !slices.Contains(p.Services, x.Service) {
				p.Services = append(p.Services, x.Service)
			}
		}
	}
	for _, p := range j.sameClock {
		n := get(j.clockOf(p[0]))
		n.Pairs++
		if j.contradictOneClock(p[0], p[1]) {
			n.Contradicted++
			n.contradicting = append(n.contradicting, p)
		}
	}
	r.sides(j, get)
	for _, p := range of {
		p.Refuted = p.Contradicted > 0 && (2*p.Contradicted > p.Pairs || refuted(int(p.Contradicted), int(p.Pairs)))
		if p.NamedBy == trace.ServiceName {
			p.Apart = apart(p.calls)
		}
		switch {
		case p.Refuted:
			p.Attribute = j.tellsApart(p.NamedBy, p.contradicting)
		case p.Apart:
			p.Attribute = j.tellsCallsApart(p.NamedBy, p.calls)
		}
		slices.Sort(p.Services)
		r.Names = append(r.Names, p.NamePremise)
	}
	slices.SortFunc(r.Names, func(a, b NamePremise) int { return cmp.Compare(a.Clock, b.Clock) })
}

// contradictOneClock reports whether no single clock explains a parent and its child: the child began before its
// parent, a consumer ended before its producer began, or a server of a client that waits began after the client had
// ended.
func (j *spanJoin) contradictOneClock(parent, child int32) bool {
	p, c := j.at(parent), j.at(child)
	if c.Kind == trace.ConsumerSpan {
		return clock.Add(c.End, c.EndStep) <= p.Start
	}
	if clock.Add(c.Start, c.StartStep) <= p.Start {
		return true
	}
	waits := p.Kind == trace.ClientSpan && c.Kind == trace.ServerSpan && p.Ended && !p.Failed && c.Ended &&
		clock.Sub(c.End, c.Start) <= clock.Sub(p.End, p.Start)
	return waits && c.Start >= clock.Add(p.End, p.EndStep)
}

// tellsApart returns the attribute in which the resources of nearly all pairs of spans differ.
func (j *spanJoin) tellsApart(namedBy string, pairs [][2]int32) string {
	for _, a := range identifying {
		n := 0
		for _, p := range pairs {
			x, y := j.resource(p[0]), j.resource(p[1])
			if x != nil && y != nil && x.Attributes[a] != "" && y.Attributes[a] != "" && x.Attributes[a] != y.Attributes[a] {
				n++
			}
		}
		if a != namedBy && 10*n >= 9*len(pairs) {
			return a
		}
	}
	return ""
}

// sidedCall is a call as one of its two sides sees it: the resource of that side, and how far the middle of the server
// is from the middle of the client. That is the difference of the clocks, but for what the two ways differ in.
type sidedCall struct {
	span   int32 // of that side
	entry  int64 // its file and resource
	other  int   // the clock of the other side
	name   uint32
	at     clock.HostTime // by the other side's clock
	middle int64
}

// sides gives each clock that a service names the calls of which it has a side.
func (r *SpanResult) sides(j *spanJoin, get func(int) *spanNames) {
	for _, p := range j.servers {
		c, s := j.at(p[0]), j.at(p[1])
		from, to := j.clockOf(p[0]), j.clockOf(p[1])
		if from == to || !c.Ended || c.Failed || !s.Ended || clock.Sub(s.End, s.Start) > clock.Sub(c.End, c.Start) {
			continue
		}
		x := sidedCall{name: c.Name, middle: clock.Sub(s.Start, c.Start)/2 + clock.Sub(s.End, c.End)/2}
		entry := func(n int32) int64 { return int64(j.spans[n].file)<<32 | int64(j.at(n).Resource) }
		if n := get(to); n.NamedBy == trace.ServiceName {
			x.span, x.entry, x.other, x.at = p[1], entry(p[1]), from, c.Start
			n.calls = append(n.calls, x)
		}
		if n := get(from); n.NamedBy == trace.ServiceName {
			x.span, x.entry, x.other, x.at = p[0], entry(p[0]), to, s.Start
			n.calls = append(n.calls, x)
		}
	}
}

const (
	// fewCalls is the least number of calls of a resource that say something of it.
	fewCalls = 8
	// blockOfCalls is how many consecutive calls of two resources are compared at a time: meanwhile clocks drift and
	// loads change little.
	blockOfCalls = 16
)

// apart reports whether resources of one service, which are at work at the same time, differ in the middles of their
// calls by more than chance explains (van Elteren's test of blocks of calls: ranks of those of one operation). Then
// they are processes, and their clocks or their networks differ.
func apart(calls []sidedCall) bool {
	slices.SortStableFunc(calls, func(a, b sidedCall) int {
		return cmp.Or(cmp.Compare(a.other, b.other), cmp.Compare(a.name, b.name), cmp.Compare(a.entry, b.entry), cmp.Compare(a.at, b.at))
	})
	sum, tests := 0.0, 0.0
	for from := 0; from < len(calls); {
		to := from
		var entries [][]sidedCall
		for to < len(calls) && calls[to].other == calls[from].other && calls[to].name == calls[from].name {
			end := to
			for end < len(calls) && calls[end].other == calls[to].other && calls[end].name == calls[to].name && calls[end].entry == calls[to].entry {
				end++
			}
			if end-to >= fewCalls {
				entries = append(entries, calls[to:end])
			}
			to = end
		}
		slices.SortStableFunc(entries, func(a, b []sidedCall) int { return cmp.Compare(a[0].at, b[0].at) })
		for i := 0; i+1 < len(entries); i++ {
			if z, ok := rankDifference(entries[i], entries[i+1]); ok {
				sum, tests = sum+z*z, tests+1
			}
		}
		from = to
	}
	if tests == 0 {
		return false
	}
	// Wilson and Hilferty's approximation of the distribution of a sum of squares.
	z := (math.Cbrt(sum/tests) - (1 - 2/(9*tests))) / math.Sqrt(2/(9*tests))
	return math.Erfc(z/math.Sqrt2)/2 < maxError
}

// rankDifference returns by how many standard deviations the middles of the calls of one resource are more than those
// of another, of the time in which both have calls; false if they have few.
func rankDifference(a, b []sidedCall) (z float64, ok bool) {
	from, to := max(a[0].at, b[0].at), min(a[len(a)-1].at, b[len(b)-1].at)
	var both []sidedCall
	count := [2]int{}
	for i, list := range [2][]sidedCall{a, b} {
		for _, c := range list {
			if c.at >= from && c.at <= to {
				both = append(both, c)
				count[i]++
			}
		}
	}
	if min(count[0], count[1]) < fewCalls {
		return 0, false
	}
	first := a[0].entry
	slices.SortStableFunc(both, func(x, y sidedCall) int { return cmp.Compare(x.at, y.at) })
	sum, variance := 0.0, 0.0
	for block := range slices.Chunk(both, blockOfCalls) {
		slices.SortStableFunc(block, func(x, y sidedCall) int { return cmp.Compare(x.middle, y.middle) })
		n, m, ranks := 0.0, 0.0, 0.0
		for i := 0; i < len(block); {
			end := i
			for end < len(block) && block[end].middle == block[i].middle {
				end++
			}
			for k := i; k < end; k++ {
				if block[k].entry == first {
					n, ranks = n+1, ranks+float64(i+1+end)/2
				} else {
					m++
				}
			}
			i = end
		}
		if n*m > 0 {
			sum += ranks - n*(n+m+1)/2
			variance += n * m * (n + m + 1) / 12
		}
	}
	if variance == 0 {
		return 0, false
	}
	return sum / math.Sqrt(variance), true
}

// tellsCallsApart returns the attribute in which the resources of calls differ; "" if none does.
func (j *spanJoin) tellsCallsApart(namedBy string, calls []sidedCall) string {
	for _, a := range identifying {
		values := make(map[string]bool)
		for _, c := range calls {
			x := j.resource(c.span)
			if x == nil || x.Attributes[a] == "" {
				values = nil
				break
			}
			values[x.Attributes[a]] = true
		}
		if len(values) > 1 && a != namedBy {
			return a
		}
	}
	return ""
}
