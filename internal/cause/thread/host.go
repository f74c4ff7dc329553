package thread

import (
	"cmp"
	"slices"
	"sort"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
)

// served is a request while a host had it, from the arrival of its last byte to the sending of the reply's.
type served struct {
	from, to int64
	most     int64 // the latest end of this one and those before it
	request  *wire.Packet
}

// Serve takes the requests of connections: which of them a host had at an instant.
func (w *World) Serve(found []wire.Request) {
	for i := range found {
		came, until := found[i].Sent, found[i].Last
		if !found[i].ByServer {
			came, until = came.Other, until.Other
		}
		if came == nil || until == nil {
			continue
		}
		h := w.Host(came.Host, came.Row)
		h.serves, h.sorted = append(h.serves, served{from: came.At, to: until.At, request: came}), false
	}
}

// others reports whether the host had another request than one meanwhile, of those that are wanted. It reports that it had where there are too many
// to look at.
func (h *Host) others(request *packet, from, to int64, wanted func(*served) bool) bool {
	if !h.sorted {
		slices.SortFunc(h.serves, func(a, b served) int { return cmp.Compare(a.from, b.from) })
		for i := range h.serves {
			h.serves[i].most = h.serves[i].to
			if i > 0 {
				h.serves[i].most = max(h.serves[i].most, h.serves[i-1].most)
			}
		}
		h.sorted = true
	}
	for i, n := sort.Search(len(h.serves), func(i int) bool { return h.serves[i].from > to })-1, 0; i >= 0 && h.serves[i].most >= from; i, n = i-1, n+1 {
		if x := &h.serves[i]; n > mostServed || x.to >= from && (request == nil || x.request != request.Packet) && wanted(x) {
			return true
		}
	}
	return false
}

// mostServed bounds how many requests of a host are looked at.
const mostServed = 4096

// isReply reports whether a packet that a host received answers what it asked: it is the client of that connection.
func (w *World) isReply(p *packet) bool {
	return p.Length > 0 && p.Other != nil && (w.Client == nil || p.Direction != w.Client(p.Connection))
}

// host walks a host of which packets alone are recorded: what it asked another between request and reply it has waited for. Where it had
// several requests at a time, that is assumed.
func (w *walk) host(of waiter, t, bound int64, request *packet) {
	h := of.h
	for t > bound && of.depth < mostDepth {
		i := sort.Search(len(h.all), func(i int) bool { return h.all[i].At >= t }) - 1
		for i >= 0 && h.all[i].At > bound && (!w.isReply(h.all[i]) || request != nil && h.all[i].Connection == request.Connection) {
			i--
		}
		if w.steps++; i < 0 || h.all[i].At <= bound || w.steps > mostSteps {
			break
		}
		p := h.all[i]
		if asked := before(h.sent[wayOf(p.Packet).back()], p.At); asked == nil || asked.At <= bound {
			break
		}
		w.add(of, cause.AtHost, p.At, t, "")
		mark := len(w.pieces)
		of.depth++
		t, _ = w.arrived(of, p, nil, bound)
		of.depth--
		if h.others(request, t, p.At, func(*served) bool { return true }) {
			for i := mark; i < len(w.pieces); i++ {
				w.pieces[i].Assumed = true
			}
		}
	}
	w.add(of, cause.AtHost, bound, t, "")
}
