package live

import (
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// window holds the messages of one direction between two clocks that rounds are made of: those of the last Window ns, thinned to
// some for each part of it. The hull of a part's messages is kept first, then the hull of the others, and so on, until there are
// enough: these are the messages that bounds rest on, and the quickest ones, whatever the skew of the clocks.
type window struct {
	ahead  bool  // x is the stamp of sending; else that of reception
	length int64 // of a part, ns
	parts  []windowPart
	total  int64
	fresh  bool // messages have come since the last round
}

type windowPart struct {
	number int64 // of the part: x / length
	kept   []trace.Message
}

const (
	windowParts = 60
	// perPart messages are left of each part of a window that is over, and mostPerPart are held of any.
	perPart, mostPerPart = 5, 64
)

// at returns the instant of a's clock that a message speaks of.
func (w *window) at(m trace.Message) clock.HostTime {
	if w.ahead {
		return m.Sent
	}
	return m.Received
}

// part returns the number of the part to which a message belongs.
func (w *window) part(m trace.Message) int64 { return floorDiv(int64(w.at(m)), w.length) }

// newest returns the number of the newest part, and false without any.
func (w *window) newest() (int64, bool) {
	if len(w.parts) == 0 {
		return 0, false
	}
	return w.parts[len(w.parts)-1].number, true
}

// add takes a message, unless it is older than the window.
func (w *window) add(m trace.Message) {
	number := w.part(m)
	if newest, any := w.newest(); any && number < newest-windowParts {
		return
	}
	i, found := slices.BinarySearchFunc(w.parts, number, func(p windowPart, n int64) int { return int(min(max(p.number-n, -1), 1)) })
	if !found {
		if i == len(w.parts) && i > 0 {
			w.thin(&w.parts[i-1], perPart)
		}
		w.parts = slices.Insert(w.parts, i, windowPart{number: number})
		newest, _ := w.newest()
		i -= w.expire(newest)
	}
	p := &w.parts[i]
	if p.kept = append(p.kept, m); len(p.kept) > mostPerPart {
		w.thin(p, mostPerPart/2)
	}
	w.total++
	w.fresh = true
}

// expire drops what is older than the window when some part is the newest, and returns how many parts that were.
func (w *window) expire(newest int64) (gone int) {
	for gone < len(w.parts) && w.parts[gone].number < newest-windowParts {
		gone++
	}
	w.parts = slices.Delete(w.parts, 0, gone)
	return gone
}

// messages returns those of the window, thinned to some of each part, in a new slice.
func (w *window) messages(each int) []trace.Message {
	var out []trace.Message
	for i := range w.parts {
		p := windowPart{kept: w.parts[i].kept}
		if n := len(p.kept); n > each {
			p.kept = slices.Clone(p.kept)
			w.thin(&p, each)
		}
		out = append(out, p.kept...)
	}
	return out
}

// thin leaves n messages of a part: layer after layer of the hull on the side of quick messages.
func (w *window) thin(p *windowPart, n int) {
	if len(p.kept) <= n {
		return
	}
	rest := slices.Clone(p.kept)
	slices.SortFunc(rest, func(a, b trace.Message) int { return int(min(max(w.at(a)-w.at(b), -1), 1)) })
	p.kept = p.kept[:0]
	for len(p.kept) < n {
		var layer []trace.Message
		layer, rest = w.peel(rest)
		if room := n - len(p.kept); len(layer) > room { // evenly
			for i := range room {
				p.kept = append(p.kept, layer[(2*i+1)*len(layer)/(2*room)])
			}
			return
		}
		p.kept = append(p.kept, layer...)
	}
}

// peel parts messages in the order of x into the corners of the lower hull of their delays and the others.
func (w *window) peel(all []trace.Message) (layer, rest []trace.Message) {
	origin, base := w.at(all[0]), clock.Sub(all[0].Received, all[0].Sent)
	x := func(m trace.Message) float64 { return float64(clock.Sub(w.at(m), origin)) }
	y := func(m trace.Message) float64 { return float64(clock.Add(clock.Sub(m.Received, m.Sent), -base)) }
	corners := make([]int, 0, len(all))
	for i := range all {
		for n := len(corners); n > 1; n-- {
			a, b, c := all[corners[n-2]], all[corners[n-1]], all[i]
			if (x(b)-x(a))*(y(c)-y(a))-(x(c)-x(a))*(y(b)-y(a)) > 0 {
				break
			}
			corners = corners[:n-1]
		}
		corners = append(corners, i)
	}
	next := 0
	for i := range all {
		if next < len(corners) && corners[next] == i {
			layer = append(layer, all[i])
			next++
		} else {
			rest = append(rest, all[i])
		}
	}
	return layer, rest
}

// floorDiv returns a/b rounded down.
func floorDiv(a, b int64) int64 {
	if q := a / b; a%b != 0 && a < 0 {
		return q - 1
	} else {
		return q
	}
}
