package view

import (
	"cmp"
	"slices"

	"meridian/internal/cause"
	"meridian/internal/show/index"
)

// LockWait is a wait for a lock on a path. Lengths are ns, by the clock of the lock's host alone.
type LockWait struct {
	Holder    int   `json:"holder"`    // row
	Total     int64 `json:"total"`     // how long it was waited for
	Elsewhere int64 `json:"elsewhere"` // of that, while the holder waited for other hosts
	Unknown   int64 `json:"unknown"`   // of that, while it is not known what the holder waited for
	Hosts     []int `json:"hosts"`     // those others, in order of their number
}

// locksOf finds the waits for locks. What a holder did and what it waited for lies deeper than the one who waits.
func locksOf(a *index.About, pieces []cause.Piece) []LockWait {
	var held []int
	for i := range pieces {
		if pieces[i].Wait == cause.ForLock {
			held = append(held, i)
		}
	}
	byDepth := slices.Clone(held)
	slices.SortStableFunc(byDepth, func(i, k int) int { return cmp.Compare(pieces[i].Depth, pieces[k].Depth) })
	covered := make([]bool, len(pieces))
	var out []LockWait
	for _, i := range byDepth {
		if covered[i] {
			continue
		}
		lo, hi := i, i+1
		for lo > 0 && pieces[lo-1].Depth >= pieces[i].Depth {
			lo--
		}
		for hi < len(pieces) && pieces[hi].Depth >= pieces[i].Depth {
			hi++
		}
		w := LockWait{Holder: pieces[i].Row, Hosts: []int{}}
		for k := lo; k < hi; k++ {
			covered[k] = true
			w.add(a, &pieces[k])
		}
		slices.Sort(w.Hosts)
		out = append(out, w)
	}
	return out
}

func (w *LockWait) add(a *index.About, p *cause.Piece) {
	length, here, host := p.Length(), a.Rows[w.Holder].Host, a.Rows[p.Row].Host
	w.Total += length
	switch {
	case p.From < 0 && p.State >= cause.Peer || p.Unresolved:
		w.Unknown += length
	case p.From >= 0 || host != here:
		w.Elsewhere += length
	}
	if host != here && !slices.Contains(w.Hosts, host) {
		w.Hosts = append(w.Hosts, host)
	}
}
