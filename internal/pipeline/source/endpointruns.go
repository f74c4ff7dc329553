package source

import (
	"cmp"
	"slices"
	"unsafe"

	"meridian/clock"
	"meridian/trace"
)

// endpoint is one end of a message.
type endpoint struct {
	time    clock.HostTime
	channel int32
	message int32
}

func (a *endpoint) compare(b *endpoint) int {
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.channel, b.channel), cmp.Compare(a.message, b.message))
}

// runLength is how many endpoints are sorted at once: 4 MiB of them. Tests change it.
var runLength = 1 << 18

// endpointRuns is the endpoints of a clock. They are sorted in runs, which a memory keeps, and merged as they are read:
//
//	heads    the next endpoint of each run; the least one at 0, as in a binary heap
//	rest     what follows each
type endpointRuns struct {
	heads  []endpoint
	rest   [][]endpoint
	memory trace.Memory
	read   int
}

// endpointsOf returns the endpoints of a clock in order of its time.
func (m *Messages) endpointsOf(clock int) endpointRuns {
	wanted := func(c int) bool {
		ch := &m.Channels[c]
		return (ch.From == clock || ch.To == clock) && (m.Skip == nil || !m.Skip(c))
	}
	left := 0
	for c := range m.Channels {
		if wanted(c) {
			left += len(m.Channels[c].Messages)
		}
	}
	r := endpointRuns{memory: m.Memory}
	var run []endpoint
	for c, ch := range m.Channels {
		if !wanted(c) {
			continue
		}
		for i := range ch.Messages {
			if run == nil {
				run = make([]endpoint, 0, min(left, runLength))
			}
			at := ch.Messages[i].Received
			if ch.From == clock {
				at = ch.Messages[i].Sent
			}
			if run = append(run, endpoint{at, int32(c), int32(i)}); len(run) == cap(run) {
				left -= len(run)
				run = r.add(run)
			}
		}
		trace.TouchedIn(m.Memory, len(ch.Messages)*int(unsafe.Sizeof(trace.Message{})))
	}
	if len(run) > 0 {
		r.add(run)
	}
	for i := len(r.heads)/2 - 1; i >= 0; i-- {
		r.sink(i)
	}
	return r
}

// add sorts a run and keeps it. It returns its room, empty, where that can be used again.
func (r *endpointRuns) add(run []endpoint) []endpoint {
	slices.SortFunc(run, func(a, b endpoint) int { return a.compare(&b) })
	r.heads = append(r.heads, run[0])
	kept, moved := trace.KeepIn(r.memory, run)
	r.rest = append(r.rest, kept[1:])
	if moved {
		return run[:0]
	}
	return nil
}

// next takes the first endpoint, false for none.
func (r *endpointRuns) next(e *endpoint) bool {
	if len(r.heads) == 0 {
		return false
	}
	*e = r.heads[0]
	if r.read++; r.read%runLength == 0 {
		trace.TouchedIn(r.memory, runLength*int(unsafe.Sizeof(*e)))
	}
	if rest := r.rest[0]; len(rest) > 0 {
		r.heads[0], r.rest[0] = rest[0], rest[1:]
	} else {
		last := len(r.heads) - 1
		r.heads[0], r.rest[0] = r.heads[last], r.rest[last]
		r.heads, r.rest = r.heads[:last], r.rest[:last]
	}
	r.sink(0)
	return true
}

// sink moves the run at i down to where it belongs.
func (r *endpointRuns) sink(i int) {
	for {
		least := i
		for _, below := range [2]int{2*i + 1, 2*i + 2} {
			if below < len(r.heads) && r.heads[below].compare(&r.heads[least]) < 0 {
				least = below
			}
		}
		if least == i {
			return
		}
		r.heads[i], r.heads[least] = r.heads[least], r.heads[i]
		r.rest[i], r.rest[least] = r.rest[least], r.rest[i]
		i = least
	}
}
