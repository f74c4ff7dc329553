package thread

import (
	"sort"

	"meridian/internal/cause"
)

// transfer is bytes that a thread wrote to a connection or read from one, told when its call ended.
type transfer struct {
	at            int64
	tid           int32
	first, behind uint32 // sequence numbers
}

// Wrote adds that a thread's call ended that wrote bytes to a connection: by their direction.
func (h *Host) Wrote(at int64, tid, connection int32, direction uint8, seq, length uint32) {
	k := way{connection, direction}
	if g, runs := h.on[tid]; runs {
		tid = g
	}
	h.wrote[k] = append(h.wrote[k], transfer{at, tid, seq, seq + length})
	h.owner[k] = tid
}

// Read adds that a thread's call ended that read bytes from a connection: by their direction, not the thread's.
func (h *Host) Read(at int64, tid, connection int32, direction uint8, seq, length uint32) {
	k := way{connection, direction}
	if g, runs := h.on[tid]; runs {
		tid = g
	}
	h.read[k] = append(h.read[k], transfer{at, tid, seq, seq + length})
}

// mostRelease is how long after an acknowledgement has come what it lets go is sent at most, ns: the same softirq does both, and may be interrupted.
const mostRelease = 1_000_000

// mostTransfers bounds how far from an instant a byte's transfer is looked for.
const mostTransfers = 4096

// transferOf finds what moved a byte, from an instant on and back: bytes go through a connection in their order.
func transferOf(list []transfer, which uint32, at int64) (x transfer, known bool) {
	i := min(sort.Search(len(list), func(i int) bool { return list[i].at >= at }), len(list)-1)
	for n := 0; i >= 0 && i < len(list) && n < mostTransfers; n++ {
		x := list[i]
		switch {
		case int32(which-x.first) < 0:
			i--
		case int32(which-x.behind) >= 0:
			i++
		default:
			return x, true
		}
	}
	return transfer{}, false
}

// writer returns what wrote a packet's last byte.
func (h *Host) writer(p *packet) (transfer, bool) {
	if p.Length == 0 {
		return transfer{}, false
	}
	return transferOf(h.wrote[wayOf(p.Packet)], p.Seq+p.Length-1, p.At)
}

// reader returns what read a packet's last byte.
func (h *Host) reader(p *packet) (transfer, bool) {
	if p.Length == 0 {
		return transfer{}, false
	}
	return transferOf(h.read[wayOf(p.Packet)], p.Seq+p.Length-1, p.At)
}

// rowOf returns the row of a thread; the host's, and false, where it has none.
func (h *Host) rowOf(tid int32) (int, bool) {
	if t := h.threads[tid]; t != nil && t.row >= 0 {
		return t.row, true
	}
	return h.row, false
}

// sender returns the row of the thread that sent a packet. Where it is not known it is loose: the row of what last wrote to the connection,
// else the packet's.
func (h *Host) sender(p *packet) (row int, loose bool) {
	if x, known := h.writer(p); known {
		if row, known := h.rowOf(x.tid); known {
			return row, false
		}
	}
	if p.inCall && p.Length > 0 {
		if row, known := h.rowOf(p.tid); known {
			return row, false
		}
	}
	return h.near(wayOf(p.Packet), p), true
}

// receiver returns the row of the thread that read a packet. Where it is not known it is loose: the row of what last wrote to the connection,
// else the packet's.
func (h *Host) receiver(p *packet) (row int, loose bool) {
	if x, known := h.reader(p); known {
		if row, known := h.rowOf(x.tid); known {
			return row, false
		}
	}
	return h.near(wayOf(p.Packet).back(), p), true
}

// near returns the row of what last wrote to a connection, else that of a packet of it.
func (h *Host) near(k way, p *packet) int {
	if who, known := h.owner[k]; known {
		if row, known := h.rowOf(who); known {
			return row
		}
	}
	return p.Row
}

// kept goes over the time from the end of the call that wrote a packet to its sending at t: by a window, by pacing or by Nagle's rule.
func (w *walk) kept(of waiter, s *packet, t, bound int64) (int64, int32) {
	x, known := of.h.writer(s)
	if !known || x.at >= t {
		return t, of.tid
	}
	of.tid = x.tid
	w.add(of, cause.Held, max(x.at, bound), t, "")
	return max(x.at, bound), x.tid
}

// acknowledged returns the packet that had a packet sent which its writer's call had not sent: the last that came on the connection to the same
// processor just before. nil where there was none.
func (h *Host) acknowledged(s *packet) *packet {
	list := h.received[wayOf(s.Packet).back()]
	i := sort.Search(len(list), func(i int) bool { return list[i].At > s.At }) - 1
	if i < 0 || list[i].cpu != s.cpu || s.At-list[i].At > mostRelease {
		return nil
	}
	return list[i]
}

// inTurn marks what a host did between a request's arrival and the reading of its last byte, which was not for this request. Pieces from a
// place on are the host's, from the last to the first.
func (w *walk) inTurn(request *packet, mark int) {
	x, known := w.hosts[request.Host].reader(request)
	if !known || w.met == request || x.at-request.At < nearPacket {
		return
	}
	w.queued(mark, x.at)
}

// queued marks what a thread did before it took something up as what that waited for. Pieces from a place on are the thread's, from the last to
// the first.
func (w *walk) queued(mark int, at int64) {
	for i := mark; i < len(w.pieces); i++ {
		p := &w.pieces[i]
		if p.Begin >= at || p.From >= 0 || p.Wait != cause.NoWait || len(p.Less) > 0 || p.State == cause.RequestUnknown || p.State == cause.SoftIRQ {
			continue
		}
		if p.End > at {
			later := *p
			later.Begin, p.End = at, at
			w.pieces = append(w.pieces, cause.Piece{})
			copy(w.pieces[i+1:], w.pieces[i:])
			w.pieces[i] = later
			continue
		}
		p.Wait = cause.ForTurn
	}
}
