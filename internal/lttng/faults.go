package lttng

import "meridian/clock"

// discarded is a kind of its own in a processor's list: so many events were lost here.
const discarded kind = 1000

// dropGap loses the events of the busiest processor for a while from the middle of the trace on.
func (h *host) dropGap() {
	if h.o.Gap <= 0 {
		return
	}
	busiest := 0
	for n, l := range h.kernel {
		if len(l) > len(h.kernel[busiest]) {
			busiest = n
		}
	}
	l := h.kernel[busiest]
	if len(l) == 0 {
		return
	}
	from := clock.TimelineTime(int64(l[0].at)/2 + int64(l[len(l)-1].at)/2)
	kept := l[:0:0]
	lost := 0
	for _, e := range l {
		if e.at < from || e.at >= from+clock.TimelineTime(h.o.Gap) {
			if lost > 0 && e.at >= from {
				kept = append(kept, event{at: e.at, kind: discarded, instance: lost})
				lost = 0
			}
			kept = append(kept, e)
			continue
		}
		lost++
		if e.isPacket(h.o.Style) {
			h.packets--
		}
	}
	if lost > 0 {
		kept = append(kept, event{at: from, kind: discarded, instance: lost})
	}
	h.kernel[busiest] = kept
}

// isPacket says whether the event is the one by which a packet is known.
func (e *event) isPacket(s Style) bool {
	switch e.kind {
	case send:
		return true
	case decode:
		return true
	case receive:
		return s != Extended
	}
	return false
}

// late is the most by which an event is written out of order, ns.
const late = 5000

// shuffle writes some packets after events that happened a little later, as it happens where an interrupt comes between
// taking an event's stamp and its place. Events that say what runs keep their order.
func (h *host) shuffle() {
	for _, l := range h.kernel {
		for i := 0; i+1 < len(l); i++ {
			a, b := &l[i], &l[i+1]
			quiet := b.kind == send || b.kind == receive || b.kind == sent || b.kind == wakes
			if a.kind <= receive && quiet && a.at < b.at && b.at-a.at <= late && h.random.IntN(10) == 0 {
				*a, *b = *b, *a
				i++
			}
		}
	}
}
