package view

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"meridian/internal/compare"
	"meridian/internal/show/index"
)

// Compared is a timeline that is compared with another one; a [Timeline] may be.
type Compared interface {
	// Comparison returns what differs, nil if there is no other one.
	Comparison(ctx context.Context) (*Comparison, error)
}

// Comparison is what differs between two timelines, A and B.
type Comparison struct {
	A    string        `json:"a"`
	B    string        `json:"b"`
	Rows []ComparedRow `json:"rows"` // what is certainly longer or shorter first, by how much
	Only []OnlyIn      `json:"only"` // what one of them alone has, the most frequent first
	Left int           `json:"left"` // entries beyond 5,000
}

// ComparedRow is what both have under one name.
type ComparedRow struct {
	What
	A       compare.Interval `json:"a"`
	B       compare.Interval `json:"b"`
	Sums    [2]int64         `json:"sums"`    // ns, of slices
	Differs *bool            `json:"differs"` // null: not known, for want of bounds or of measurements
	Change  [2]float64       `json:"change"`  // of the medians, as a part of a; and the least that the intervals allow
}

// What is something that takes time.
type What struct {
	Kind string `json:"kind"` // slice, request or message
	Name string `json:"name"` // empty for messages
	Host string `json:"host"`
	To   string `json:"to,omitempty"` // the other host, of requests and messages
}

// OnlyIn is what one timeline alone has.
type OnlyIn struct {
	What
	In    string `json:"in"` // a or b
	Count int    `json:"count"`
}

// measured is what a timeline has under one name.
type measured struct {
	compare.Interval
	sum     int64
	bounded bool
}

const mostCompared = 5000

// against is the other timeline of a comparison.
type against struct {
	other  *Timeline
	names  [2]string
	once   sync.Once
	answer *Comparison
	err    error
}

// Against has the timeline compared with another one, which must stay open as long as this one. The names are for people. It must
// not be called once the timeline is served.
func (t *Timeline) Against(other *Timeline, name, nameOfOther string) {
	t.against = &against{other: other, names: [2]string{name, nameOfOther}}
}

// Comparison compares the medians of all lengths of slices, totals of requests and delays of messages, by names and hosts.
func (t *Timeline) Comparison(context.Context) (*Comparison, error) {
	x := t.against
	if x == nil {
		return nil, nil
	}
	x.once.Do(func() { // the first request may be cancelled, and others wait for the answer
		var of, with map[What]measured
		if of, x.err = t.measure(context.Background()); x.err != nil {
			return
		}
		if with, x.err = x.other.measure(context.Background()); x.err == nil {
			x.answer = compared(of, with)
			x.answer.A, x.answer.B = x.names[0], x.names[1]
		}
	})
	return x.answer, x.err
}

func compared(of, with map[What]measured) *Comparison {
	c := &Comparison{Rows: []ComparedRow{}, Only: []OnlyIn{}}
	for what, a := range of {
		b, both := with[what]
		if !both {
			c.Only = append(c.Only, OnlyIn{what, "a", a.Count})
			continue
		}
		c.Rows = append(c.Rows, ComparedRow{What: what, A: a.Interval, B: b.Interval, Sums: [2]int64{a.sum, b.sum},
			Differs: compare.Differ(a.Interval, b.Interval, a.bounded && b.bounded, compare.LeastSamples), Change: compare.Change(a.Interval, b.Interval)})
	}
	for what, b := range with {
		if _, both := of[what]; !both {
			c.Only = append(c.Only, OnlyIn{what, "b", b.Count})
		}
	}
	slices.SortFunc(c.Rows, func(x, y ComparedRow) int {
		return cmp.Or(cmp.Compare(y.rank(), x.rank()), cmp.Compare(y.weight(), x.weight()), x.What.compare(y.What))
	})
	slices.SortFunc(c.Only, func(x, y OnlyIn) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), x.What.compare(y.What), cmp.Compare(x.In, y.In))
	})
	c.Left = max(0, len(c.Rows)-mostCompared) + max(0, len(c.Only)-mostCompared)
	c.Rows, c.Only = c.Rows[:min(len(c.Rows), mostCompared)], c.Only[:min(len(c.Only), mostCompared)]
	return c
}

// rank puts what certainly differs before what may, and that before what does not.
func (r *ComparedRow) rank() int {
	switch {
	case r.Differs == nil:
		return 1
	case *r.Differs:
		return 2
	}
	return 0
}

// weight is the least that the intervals allow, else the change of the medians.
func (r *ComparedRow) weight() float64 { return cmp.Or(r.Change[1], math.Abs(r.Change[0])) }

func (w What) compare(o What) int {
	return cmp.Or(cmp.Compare(w.Kind, o.Kind), cmp.Compare(w.Name, o.Name), cmp.Compare(w.Host, o.Host), cmp.Compare(w.To, o.To))
}

// measure finds the median of everything that has a name and takes time.
func (t *Timeline) measure(ctx context.Context) (map[What]measured, error) {
	a := t.About()
	spreads, err := t.Spreads(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[What]measured)
	for key, s := range spreads.Slices {
		out[What{Kind: "slice", Name: key.Name, Host: a.Hosts[key.Host].Name}] = measured{intervalOf(s, 0), s.Sum, true}
	}
	for key, s := range spreads.Messages {
		bound, bounded := widest(a, key)
		out[What{Kind: "message", Host: a.Hosts[key[0]].Name, To: a.Hosts[key[1]].Name}] = measured{intervalOf(s, bound), 0, bounded}
	}
	c, err := t.causesOf()
	if err != nil {
		return nil, err
	}
	totals := make(map[What][]int64) // classes may share a name
	for g := range c.groups {
		x := &c.groups[g]
		client, server := cmp.Or(c.model.Texts[x.clientAddress], a.Hosts[x.client].Name), cmp.Or(c.model.Texts[x.peer], a.Hosts[x.server].Name)
		if x.clientAddress != 0 { // the peer is the client, unless that is not known
			server = cmp.Or(c.model.Texts[x.serverAddress], a.Hosts[x.server].Name)
		}
		what := What{"request", c.nameOf(a, x.class, x.name), client, server}
		for _, i := range x.members {
			totals[what] = append(totals[what], c.list[i].Total())
		}
	}
	for what, list := range totals {
		slices.Sort(list)
		out[what] = measured{compare.OfMany(list, 0), 0, true}
	}
	return out, nil
}

// intervalOf is the interval of a median, as exact as the spread is.
func intervalOf(s *index.Spread, bound int64) compare.Interval {
	n := int(s.Count)
	low, high := compare.Ranks(n)
	least, greatest := s.Between(int64(low), int64(high))
	a, b := s.Between(int64(n+1)/2, int64(n+1)/2)
	return compare.Interval{Median: a + (b-a)/2, Low: least - bound, High: greatest + bound, Count: n}
}

// widest is by how much delays between two hosts may be off at most; false if that is not known. Two rows of one host share a clock.
func widest(a *index.About, hosts [2]int) (bound int64, bounded bool) {
	bound, bounded = a.Step, true
	for i := range a.Clocks {
		k := &a.Clocks[i]
		if k.Host != hosts[0] && k.Host != hosts[1] {
			continue
		}
		if !k.Low || !k.High {
			return 0, false
		}
		most := int64(0)
		for _, corner := range k.Corners {
			most = max(most, corner.Below, corner.Above)
		}
		bound += most + k.Granularity
	}
	return bound, bounded && a.Hosts[hosts[0]].Component == a.Hosts[hosts[1]].Component
}
