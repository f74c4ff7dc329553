package cause

import (
	"runtime"
	"sync"
)

// byEvent maps numbers of events to places in a list. Events are numbered without large gaps, so it is a list itself: 4 bytes an
// event, where a map takes ten times as long.
type byEvent struct {
	places []int32 // one more than the place; 0 is none
}

// newByEvent maps the events of a list of so many. Of several of one event the last one counts.
func newByEvent(n int, event func(i int) int64) (x byEvent) {
	last := int64(-1)
	for i := range n {
		last = max(last, event(i))
	}
	x.places = make([]int32, last+1)
	for i := range n {
		if e := event(i); e >= 0 {
			x.places[e] = int32(i) + 1
		}
	}
	return x
}

// set notes a place, which is less than 2^31-1.
func (x *byEvent) set(event int64, place int) {
	if event < 0 {
		return
	}
	if n := int(event) + 1; n > len(x.places) {
		if n > cap(x.places) {
			x.places = append(make([]int32, 0, n+n/2), x.places...)
		}
		x.places = x.places[:n]
	}
	x.places[event] = int32(place) + 1
}

func (x *byEvent) get(event int64) (place int, is bool) {
	if event < 0 || event >= int64(len(x.places)) || x.places[event] == 0 {
		return 0, false
	}
	return int(x.places[event]) - 1, true
}

// Spans are the names of slices in distributed traces, by the event that begins each. The zero value has none.
type Spans struct {
	list []Span
	at   byEvent
}

// Name gives the slice that an event begins a name.
func (x *Spans) Name(event int64, s Span) {
	x.list = append(x.list, s)
	x.at.set(event, len(x.list)-1)
}

// Of returns the name of a slice; false if it has none.
func (x *Spans) Of(event int64) (Span, bool) {
	i, is := x.at.get(event)
	if !is {
		return Span{}, false
	}
	return x.list[i], true
}

// Has reports whether a slice has a name.
func (x *Spans) Has(event int64) bool {
	_, is := x.at.get(event)
	return is
}

// Len returns how many slices have names.
func (x *Spans) Len() int { return len(x.list) }

// together runs functions at once, and waits for all.
func together(all ...func()) {
	var group sync.WaitGroup
	for _, do := range all {
		group.Go(do)
	}
	group.Wait()
}

// inParts calls do for as many parts of [0, n) as there are processors, for all at once.
func inParts(n int, do func(from, to int)) {
	parts := runtime.GOMAXPROCS(0)
	all := make([]func(), parts)
	for i := range all {
		all[i] = func() { do(n*i/parts, n*(i+1)/parts) }
	}
	together(all...)
}
