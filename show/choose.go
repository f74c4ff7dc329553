package show

import (
	"cmp"
	"container/heap"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Budgets of what is embedded one by one. Beyond them a page takes longer to open than its reader's patience lasts.
const (
	maxEvents     = 300_000 // and as many messages
	maxInversions = 10_000  // of the messages: the worst ones are embedded wherever they are
	maxWindows    = 32      // around the worst inversions
	maxCounters   = 1 << 21
	maxText       = 32 << 20 // bytes of descriptions
)

// window is a stretch of the timeline in which everything is embedded, both ends included.
type window struct {
	from, to int64
}

// choice says what is embedded one by one: all events or those in windows, all messages or those with an end in a
// window and the worst inversions.
type choice struct {
	allEvents, allMessages bool
	windows                []window // sorted, apart
}

func (c *choice) contains(at int64) bool {
	i, found := slices.BinarySearchFunc(c.windows, at, func(w window, at int64) int { return cmp.Compare(w.from, at) })
	return found || (i > 0 && at <= c.windows[i-1].to)
}

// choose finds the windows. Half of the budget goes to the surroundings of the worst inversions, because they are what
// a reader looks for; the rest to the beginning, as far as it reaches.
func (s *scene) choose(v *survey, budget int64) *choice {
	c := &choice{allEvents: v.totalEvents <= budget, allMessages: v.total <= budget}
	if c.allEvents && c.allMessages {
		return c
	}
	weight := budget * eventWeight
	around := s.around(v, c, weight/2)
	rest := weight
	if len(around) > 0 {
		rest -= weight / 2
	}
	c.windows = around
	if end, ok := s.reach(v, c, rest); ok {
		c.windows = append(c.windows, window{from: v.first, to: end})
	}
	c.windows = united(c.windows)
	return c
}

// around returns windows around the worst inversions which together hold no more than the budget. They begin as wide
// as an even distribution allows and shrink where it is not even; one that still does not fit is left out.
func (s *scene) around(v *survey, c *choice, budget int64) []window {
	n := min(len(v.worst), maxWindows)
	if n == 0 {
		return nil
	}
	share := budget / int64(n)
	half := clock.MulDiv(v.span(), share, max(2*(eventWeight*v.totalEvents+2*v.total), 1), clock.Down)
	windows := make([]window, n)
	widths := make([]int64, n)
	for i, r := range v.worst[:n] {
		m := s.message(r)
		windows[i], widths[i] = window{from: m.Received, to: m.Sent}, half
	}
	held := make([]int64, n)
	for range 8 {
		clear(held)
		s.each(c, func(at, weight int64) {
			for i, w := range windows {
				if at >= clock.Sub(w.from, widths[i]) && at <= clock.Add(w.to, widths[i]) {
					held[i] += weight
				}
			}
		})
		fits := true
		for i := range widths {
			if held[i] > share {
				widths[i] /= 8
				fits = false
			}
		}
		if fits {
			break
		}
	}
	var chosen []window
	for i, w := range windows {
		if held[i] <= share {
			chosen = append(chosen, window{from: clock.Sub(w.from, widths[i]), to: clock.Add(w.to, widths[i])})
		}
	}
	return united(chosen)
}

// reach returns how far from the beginning the budget reaches: the last instant up to which no more than that weighs. It narrows the instant down by counting in ever finer steps; a pass divides them by 2^16.
func (s *scene) reach(v *survey, c *choice, budget int64) (int64, bool) {
	const steps = 1 << 16
	low, width, before := v.first, v.span()/steps+1, int64(0)
	counts := make([]int64, steps)
	for {
		clear(counts)
		s.each(c, func(at, weight int64) {
			if d := clock.Sub(at, low); d >= 0 && d/width < steps {
				counts[d/width] += weight
			}
		})
		i := 0
		for ; i < steps && before+counts[i] <= budget; i++ {
			before += counts[i]
		}
		low = clock.Add(low, int64(i)*width)
		if width == 1 || i == steps {
			return low - 1, low > v.first
		}
		width = width/steps + 1
	}
}

// eventWeight is what an event weighs against an end of a message, so that neither events nor messages, which have two
// ends, exceed the budget.
const eventWeight = 2

// each yields the instants that weigh against the budget: of what is not embedded as a whole anyway.
func (s *scene) each(c *choice, yield func(at, weight int64)) {
	if !c.allEvents {
		for row := range s.Rows {
			s.events(row, func(_ int, at int64) { yield(at, eventWeight) })
		}
	}
	if !c.allMessages {
		for channel := range s.Channels {
			s.messages(channel, func(_ int, m trace.Message) {
				yield(m.Sent, 1)
				yield(m.Received, 1)
			})
		}
	}
}

func (s *scene) message(r ref) trace.Message {
	c := &s.Channels[r.channel]
	m := c.Messages[r.index]
	return trace.Message{Sent: s.maps[c.From].At(m.Sent), Received: s.maps[c.To].At(m.Received)}
}

// united sorts windows and joins those that meet.
func united(windows []window) []window {
	slices.SortFunc(windows, func(a, b window) int { return cmp.Compare(a.from, b.from) })
	out := windows[:0]
	for _, w := range windows {
		if n := len(out); n > 0 && w.from <= clock.Add(out[n-1].to, 1) {
			out[n-1].to = max(out[n-1].to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}

// shallowest keeps the deepest inversions of a stream: a heap with the shallowest of them on top.
type shallowest struct {
	keep int
	refs []ref
}

func (h *shallowest) Len() int           { return len(h.refs) }
func (h *shallowest) Less(i, j int) bool { return h.refs[i].depth < h.refs[j].depth }
func (h *shallowest) Swap(i, j int)      { h.refs[i], h.refs[j] = h.refs[j], h.refs[i] }
func (h *shallowest) Push(x any)         { h.refs = append(h.refs, x.(ref)) }
func (h *shallowest) Pop() any {
	last := h.refs[len(h.refs)-1]
	h.refs = h.refs[:len(h.refs)-1]
	return last
}

func (h *shallowest) add(r ref) {
	switch {
	case len(h.refs) < h.keep:
		heap.Push(h, r)
	case h.keep > 0 && r.depth > h.refs[0].depth:
		h.refs[0] = r
		heap.Fix(h, 0)
	}
}

func (h *shallowest) deepestFirst() []ref {
	refs := slices.Clone(h.refs)
	slices.SortFunc(refs, func(a, b ref) int {
		return cmp.Or(cmp.Compare(b.depth, a.depth), cmp.Compare(a.channel, b.channel), cmp.Compare(a.index, b.index))
	})
	return refs
}
