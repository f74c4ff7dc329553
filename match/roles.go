package match

import "meridian/trace"

// roles says for each capture's flows which direction its host sent.
type roles struct {
	of map[*index][]int8 // per flow: +1 the host sends direction 0, -1 direction 1, 0 not known
}

// newRoles takes the roles from the conversations decided, and else from whose address is the host's own.
func newRoles(indexes []*index, conversations []conversation, r *orientation) *roles {
	out := &roles{of: make(map[*index][]int8, len(indexes))}
	for _, x := range indexes {
		flows := make([]int8, len(x.Flows))
		for i := range x.Flows {
			from, to := x.Flows[i].Way(0)
			low, high := r.own[x.host][from], r.own[x.host][to]
			switch {
			case low && !high:
				flows[i] = 1
			case high && !low:
				flows[i] = -1
			}
		}
		out.of[x] = flows
	}
	for i := range conversations {
		u := &conversations[i]
		if u.near == 0 {
			continue
		}
		out.of[u.a][u.flowA] = int8(u.near)
		near := -u.near
		if u.swapped {
			near = -near
		}
		out.of[u.b][u.flowB] = int8(near)
	}
	return out
}

// sent reports whether the capture's host sent the packet; known is false where nothing tells.
func (r *roles) sent(x *index, p *trace.Packet) (sent, known bool) {
	if p.Kind == trace.Untimed {
		return false, false
	}
	switch x.fromOf(p) {
	case trace.Sent:
		return true, true
	case trace.Received:
		return false, true
	}
	if p.Flow == trace.NoFlow {
		return false, false
	}
	role := r.of[x][p.Flow>>1]
	return (role > 0) == (direction(p) == 0), role != 0
}
