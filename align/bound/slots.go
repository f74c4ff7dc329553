package bound

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"meridian/align/pair"
)

// slots are even parts of a corridor's extent with the tightest message of each, both ways.
type slots struct{ ceilings, floors slotted }

// slotted is the messages of one direction.
type slotted struct {
	from, perNs float64
	side        float64 // 1 for ceilings, of which the lowest counts, -1 for floors
	best        []point // NaN where none lies
	noted       []bool  // where messages lie that are not among best; nil for none
}

// maxSlots bounds the memory of slots.
const maxSlots = 1 << 14

func newSlots(first, last float64, messages int) *slots {
	n := max(min(messages, maxSlots), 1)
	return &slots{newSlotted(first, last, n, 1), newSlotted(first, last, n, -1)}
}

func newSlotted(first, last float64, n int, side float64) slotted {
	s := slotted{from: first, perNs: float64(n) / max(last-first, 1), side: side, best: make([]point, n)}
	for i := range s.best {
		s.best[i] = point{math.NaN(), 0}
	}
	return s
}

func (s *slotted) add(q point) {
	best := &s.best[s.slot(q.x)]
	if math.IsNaN(best.x) || s.side*q.y < s.side*best.y {
		*best = q
	}
}

// note marks where points lie that are not added themselves: neighbours, of which many mostly lie in one slot.
func (s *slotted) note(points []point) {
	if s.noted == nil {
		s.noted = make([]bool, len(s.best))
	}
	first, last := points[0].x, points[0].x
	for i := range points {
		first, last = min(first, points[i].x), max(last, points[i].x)
	}
	if from, to := s.slot(first), s.slot(last); to-from <= 1 {
		s.noted[from], s.noted[to] = true, true
		return
	}
	for i := range points {
		s.noted[s.slot(points[i].x)] = true
	}
}

// slot returns the slot of an instant.
func (s *slotted) slot(x float64) int { return min(max(int((x-s.from)*s.perNs), 0), len(s.best)-1) }

// empty reports whether no point lies in a slot.
func (s *slotted) empty(i int) bool {
	return math.IsNaN(s.best[i].x) && (s.noted == nil || !s.noted[i])
}

// points returns the messages that are kept, in the order of x, in place of the slots.
func (s *slotted) points() []point {
	out := s.best[:0]
	for _, q := range s.best {
		if !math.IsNaN(q.x) {
			out = append(out, q)
		}
	}
	return out
}

// silences returns the times without messages that are longer than so many ns.
func (s *slots) silences(longest float64) []interval {
	var out []interval
	length := 1 / s.ceilings.perNs
	begin := 0
	for i := range s.ceilings.best {
		if s.ceilings.empty(i) && s.floors.empty(i) {
			continue
		}
		if from, to := s.ceilings.from+float64(begin)*length, s.ceilings.from+float64(i)*length; i > begin && to-from > longest {
			out = append(out, interval{from: from, to: to})
		}
		begin = i + 1
	}
	return out
}

// joined returns intervals in order, those that overlap or touch as one.
func joined(all []interval) []interval {
	slices.SortFunc(all, func(x, y interval) int { return cmp.Compare(x.from, y.from) })
	var out []interval
	for _, x := range all {
		if n := len(out); n > 0 && x.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, x.to)
			continue
		}
		out = append(out, x)
	}
	return out
}

// overlaps reports whether one of some joined intervals has a part in common with another one.
func overlaps(all []interval, from, to float64) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].to >= from })
	return i < len(all) && all[i].from <= to
}

// maxTightest bounds the memory of the messages that are kept of stretches.
const maxTightest = 1 << 17

// tightest returns the messages of some joined intervals, of many the tightest of each short time.
func tightest(messages pair.Messages, at plotter, side float64, times []interval) []point {
	within := func(x float64) int {
		i := sort.Search(len(times), func(i int) bool { return times[i].to >= x })
		if i == len(times) || times[i].from > x {
			return -1
		}
		return i
	}
	counts, total := make([]int, len(times)), 0
	for m := range messages.All() {
		if i := within(at(m).x); i >= 0 {
			counts[i]++
			total++
		}
	}
	var out []point
	slots := make([]slotted, len(times))
	for i, n := range counts {
		if n > 0 && total > maxTightest {
			slots[i] = newSlotted(times[i].from, times[i].to, 1+int(float64(n)*maxTightest/float64(total)), side)
		}
	}
	for m := range messages.All() {
		q := at(m)
		switch i := within(q.x); {
		case i < 0:
		case total > maxTightest:
			slots[i].add(q)
		default:
			out = append(out, q)
		}
	}
	for i := range slots {
		if counts[i] > 0 && total > maxTightest {
			out = append(out, slots[i].points()...)
		}
	}
	return out
}
