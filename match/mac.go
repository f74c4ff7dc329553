package match

import "meridian/trace"

// ownMAC returns the link-layer address that is one end of every frame of a capture, which is its host's own: a host
// sees what it sends and what is sent to it. Where two qualify (it talked to a single neighbour) or none does (a mirror
// port, a router with several interfaces), there is no telling.
func ownMAC(x *index) trace.MAC {
	count := make(map[trace.MAC]int)
	total := 0
	for i := range x.Flows {
		f := &x.Flows[i]
		for d := range 2 {
			source, target := f.Source[d], f.Target[d]
			if source == (trace.MAC{}) || target == (trace.MAC{}) || target[0]&1 != 0 {
				continue // no such link layer, or a frame for many
			}
			total++
			count[source]++
			if target != source {
				count[target]++
			}
		}
	}
	var own trace.MAC
	for mac, n := range count {
		switch {
		case n < total:
		case own != trace.MAC{}:
			return trace.MAC{}
		default:
			own = mac
		}
	}
	return own
}

// fromMAC asks whether the sender's frames carry a capture's own address.
func (r *orientation) fromMAC(u *conversation) int {
	return bothWays(func(d int) (votes int) {
		if own := r.macOf(u.a); own != (trace.MAC{}) {
			votes += bySource(&u.a.Flows[u.flowA], d, own)
		}
		if own := r.macOf(u.b); own != (trace.MAC{}) {
			votes -= bySource(&u.b.Flows[u.flowB], u.otherDirection(d), own)
		}
		return votes
	})
}

func (r *orientation) macOf(x *index) trace.MAC {
	for i, y := range r.indexes {
		if x == y {
			return r.macs[i]
		}
	}
	return trace.MAC{}
}

// bySource returns +1 if the flow's packets of direction d leave from own, -1 if they go to it.
func bySource(f *trace.Flow, d int, own trace.MAC) int {
	switch own {
	case f.Source[d]:
		return 1
	case f.Target[d]:
		return -1
	}
	return 0
}
