package thread

import "meridian/internal/cause"

// cut keeps of the pieces since a mark so much from their end that they are of a length, which is exact: it was measured by one clock.
// The piece that is cut takes what is uncertain of the ways behind it. Where the bounds leave several pieces to be the one that is
// cut, and they have other names, it is undecided.
func (w *walk) cut(mark int, length int64) {
	var ways, kept []cause.Shorter
	at, left := -1, length
	low, high := length, length // of what is left, within the bounds
	names := make(map[string]bool)
	for i := mark; i < len(w.pieces); i++ {
		p := &w.pieces[i]
		n := p.Length()
		if p.From >= 0 {
			l, h := w.model.Delay(p)
			low, high, length = low-h, high-l, length-n
			ways = append(ways, cause.Shorter{From: p.From, To: p.Row, Sent: p.Begin, Received: p.End})
			continue
		}
		if at < 0 && low <= n {
			at, left, kept = i, length, append([]cause.Shorter(nil), ways...)
		}
		if at >= 0 {
			names[p.State.Words(p.Wait)] = true
		}
		if high <= n || i == len(w.pieces)-1 {
			break
		}
		low, high, length = low-n, high-n, length-n
		ways = append(ways, p.Less...)
	}
	if at < 0 {
		// All of the exchange but its first way was meanwhile: it took longer than the wait, so the wait began within that way.
		last := &w.pieces[len(w.pieces)-1]
		if last.From >= 0 {
			length += last.Length()
		}
		last.Begin = last.End - length
		return
	}
	p := w.pieces[at]
	p.Begin, p.Less = p.End-left, append(append([]cause.Shorter(nil), p.Less...), kept...)
	if len(names) > 1 {
		p.State, p.Wait = cause.Undecided, cause.NoWait
	}
	w.pieces = append(w.pieces[:at], p)
}
