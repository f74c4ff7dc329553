package match

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// eachEnds calls a function with the findings from each capture to each other, in their order. Several calls run at a time: findings
// between different captures share nothing.
func eachEnds(findings []*finding, f func(between []*finding)) {
	byEnds := make(map[[2]*index][]*finding)
	for _, x := range findings {
		ends := [2]*index{x.kind.from, x.kind.to}
		byEnds[ends] = append(byEnds[ends], x)
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, between := range byEnds {
		group.Go(func() error {
			f(between)
			return nil
		})
	}
	group.Wait()
}

// accept decides which candidates of the findings are messages. It works kind by kind in the order of the findings.
func accept(findings []*finding) { eachEnds(findings, acceptBetween) }

// acceptBetween decides on the findings from one capture to another.
func acceptBetween(findings []*finding) {
	byKind := make(map[kind][]*finding)
	var kinds []kind
	for _, f := range findings {
		if byKind[f.kind] == nil {
			kinds = append(kinds, f.kind)
		}
		byKind[f.kind] = append(byKind[f.kind], f)
	}
	var missing losses
	totals, usual := totalsOf(kinds, byKind)
	for i, k := range kinds {
		for _, f := range byKind[k] {
			f.unit = f.own(&totals[i]).unitOr(usual)
		}
		if k.of != kindOpen { // most parts of divided datagrams have no partner
			missing.add(totals[i].losses(totals[i].unitOr(usual)))
		}
	}
	path := sync.OnceValue(func() *path { return newPath(findings) }) // many need none
	for i, k := range kinds {
		acceptKind(byKind[k], &totals[i], missing, path)
	}
}

// totalsOf returns the census of each kind, and the full numbers of copies as all kinds together show them.
func totalsOf(kinds []kind, byKind map[kind][]*finding) (totals []census, usual unit) {
	var all census
	totals = make([]census, len(kinds))
	for i, k := range kinds {
		for _, f := range byKind[k] {
			totals[i].merge(&f.census)
		}
		if k.of != kindOpen {
			all.merge(&totals[i])
		}
	}
	return totals, all.unitOr(unit{1, 1})
}

// minUnit is the number of keys that show that the captures hold several copies of everything. Fewer may be of repeated sendings: of a
// question that was asked twice within repeatWithin, the sender's capture may have missed one.
const minUnit = 8

// unitOr returns the most frequent numbers of copies, or the usual ones where too few keys show several copies.
func (c *census) unitOr(usual unit) unit {
	if u := c.unit(); u == (unit{1, 1}) || c[u.sent][u.received] >= minUnit {
		return u
	}
	return usual
}

// addMessages takes the messages of what was refused out of the links, puts those of keys with several copies into them, and counts
// what is dropped.
func addMessages(findings []*finding) (tally Tally) {
	var unsure, ambiguous, unplaced atomic.Int64
	eachEnds(findings, func(between []*finding) {
		refused := make(map[*link][]*finding)
		for _, f := range between {
			if f.from < f.to && (!f.accepted || f.unit != unit{1, 1} || f.singles != nil || f.follows != nil) {
				refused[f.link] = append(refused[f.link], f)
				misplaced := f.misplaced()
				unplaced.Add(misplaced)
				unsure.Add(int64(f.to-f.from) - misplaced)
			}
		}
		for l, drop := range refused {
			unsure.Add(-l.remove(drop))
		}
		for _, f := range between {
			ambiguous.Add(f.dropped)
			for i := range f.several {
				ambiguous.Add(f.addSeveral(&f.several[i]))
			}
		}
	})
	return Tally{Unsure: unsure.Load(), Ambiguous: ambiguous.Load(), Unplaced: unplaced.Load()}
}
