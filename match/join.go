package match

import (
	"cmp"
	"fmt"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Several files of a host may be one capture: those that a recorder wrote one after the other (tcpdump -G and -C), or
// one with what the host sent and one with what it received. They are matched as one. Else what happens at a border
// looks like a loss, a repeated packet has one copy in each of two files, and round trips have one packet in each.
//
//	a1 |------|         rotated: each begins where the one before ended
//	a2        |------|
//
//	tx |------|         halves: no direction of a flow is in both
//	rx |------|
//
// Captures that overlap and share directions of flows are of two interfaces, or of one twice. They stay apart.

const (
	// maxOverlap is by how much a rotated file may begin before the one before it ended, ns: packets out of order.
	maxOverlap = 100_000_000
	// maxPause is how long nothing may be captured between two rotated files, ns, or this many times as long as between
	// their packets on average.
	maxPause  = 1_000_000_000
	manyTimes = 20
)

// capturePart is what must be known of a capture to join it with others of its host.
type capturePart struct {
	*trace.Capture
	number      int // among those given
	first, last clock.HostTime
	ways        map[wayKey]struct{} // directions of flows that it has
}

type wayKey struct {
	flowKey
	direction int
}

func newCapturePart(c *trace.Capture, number int) *capturePart {
	p := &capturePart{Capture: c, number: number, ways: make(map[wayKey]struct{})}
	any := false
	has := make([]bool, 2*len(c.Flows))
	for chunk := range c.Packets.Chunks() {
		for i := range chunk {
			x := &chunk[i]
			if x.Flow != trace.NoFlow {
				has[x.Flow] = true
			}
			if x.Kind == trace.Untimed {
				continue
			}
			if !any {
				p.first, p.last, any = x.Time, x.Time, true
			}
			p.first, p.last = min(p.first, x.Time), max(p.last, x.Time)
		}
	}
	if !any {
		return nil
	}
	for way, is := range has {
		if is {
			p.ways[wayKey{keyOf(&c.Flows[way>>1]), way & 1}] = struct{}{}
		}
	}
	return p
}

// apart returns the usual time between two packets.
func (p *capturePart) apart() int64 { return int64(p.last-p.first) / int64(max(1, p.Packets.Len()-1)) }

// follows reports whether a file begins where another one ended.
func (p *capturePart) follows(before *capturePart) bool {
	pause := int64(p.first - before.last)
	overlap := min(maxOverlap, int64(before.last-before.first)/100, int64(p.last-p.first)/100)
	return pause >= -overlap && pause <= max(maxPause, manyTimes*min(p.apart(), before.apart()))
}

// shared counts the directions of flows that two captures have.
func (p *capturePart) shared(o *capturePart) (n int) {
	for way := range p.ways {
		if _, both := o.ways[way]; both {
			n++
		}
	}
	return n
}

// chain is files that follow each other.
type chain []*capturePart

// isHalf reports whether of the flows that two chains have, each has one direction, and not the same.
func (c chain) isHalf(o chain) bool {
	opposite := 0
	for _, p := range c {
		for _, q := range o {
			if p.shared(q) > 0 {
				return false
			}
			for way := range p.ways {
				if _, both := q.ways[wayKey{way.flowKey, 1 - way.direction}]; both {
					opposite++
				}
			}
		}
	}
	return opposite > 0 && c[0].first <= o[len(o)-1].last && o[0].first <= c[len(c)-1].last
}

// joined is a capture to be matched, and those given that it is made of.
type joined struct {
	*trace.Capture
	parts  []int    // numbers of the captures given
	source []uint16 // of each packet: its part; nil where the parts follow each other
}

// joinCaptures joins the captures of each host that are parts of one. The packets of joined captures are copied into a
// memory.
func joinCaptures(captures []*trace.Capture, m trace.Memory) []joined {
	of := make(map[string]int)
	for _, c := range captures {
		of[c.Host]++
	}
	chains := make(map[string][]chain)
	var out []joined
	place := make(map[string][]int) // where in out a host's chains go
	for i, c := range captures {
		if of[c.Host] == 1 || c.Whole {
			out = append(out, joined{Capture: c, parts: []int{i}})
			continue
		}
		p := newCapturePart(c, i)
		if p == nil {
			out = append(out, joined{Capture: c, parts: []int{i}})
			continue
		}
		chains[c.Host] = append(chains[c.Host], chain{p})
		place[c.Host] = append(place[c.Host], len(out))
		out = append(out, joined{})
	}
	for host, parts := range chains {
		for k, group := range groupsOf(parts) {
			out[place[host][k]] = group.join(m)
		}
	}
	return slices.DeleteFunc(out, func(j joined) bool { return j.Capture == nil })
}

// groupsOf joins the captures of a host to groups, each of chains.
func groupsOf(parts []chain) (groups []group) {
	slices.SortStableFunc(parts, func(a, b chain) int { return cmp.Compare(a[0].first, b[0].first) })
	var chains []chain
	for _, p := range parts {
		best, most := -1, 0
		for k, c := range chains {
			if last := c[len(c)-1]; p[0].follows(last) {
				if n := 1 + p[0].shared(last); n > most {
					best, most = k, n
				}
			}
		}
		if best < 0 {
			chains = append(chains, p)
		} else {
			chains[best] = append(chains[best], p[0])
		}
	}
	used := make([]bool, len(chains))
	for k, c := range chains {
		if used[k] {
			continue
		}
		g := group{c}
		for l := k + 1; l < len(chains) && len(g) == 1; l++ {
			if !used[l] && c.isHalf(chains[l]) {
				g, used[l] = append(g, chains[l]), true
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// group is one chain, or two halves.
type group []chain

// join makes one capture of a group.
func (g group) join(m trace.Memory) joined {
	var parts []*capturePart
	for _, c := range g {
		parts = append(parts, c...)
	}
	if len(parts) == 1 {
		return joined{Capture: parts[0].Capture, parts: []int{parts[0].number}}
	}
	j := joined{Capture: &trace.Capture{Host: parts[0].Host, File: parts[0].File, Packets: trace.NewLog(m), WholeStamps: true}}
	if len(g) == 1 {
		j.File = fmt.Sprintf("%s to %s", parts[0].File, parts[len(parts)-1].File)
	} else {
		j.File = fmt.Sprintf("%s and %s", g[0][0].File, g[1][0].File)
	}
	numbers := make(map[flowKey]uint32)
	flows := make([][]uint32, len(parts)) // number of each part's flows in the whole
	for k, p := range parts {
		j.parts = append(j.parts, p.number)
		j.WholeStamps = j.WholeStamps && p.WholeStamps
		j.PTP += p.PTP
		if k == 0 || p.Granularity < j.Granularity {
			j.Granularity = p.Granularity // few packets may be on a grid by chance
		}
		for i := range p.Flows {
			j.addFlow(&p.Flows[i], numbers)
			flows[k] = append(flows[k], numbers[keyOf(&p.Flows[i])])
		}
	}
	if len(g) == 1 {
		for k, p := range parts {
			for chunk := range p.Packets.Chunks() {
				for i := range chunk {
					j.addPacket(&chunk[i], flows[k])
				}
			}
		}
	} else {
		j.merge(g, flows)
	}
	j.Packets.Finish()
	return j
}

// addFlow adds a flow unless another part had it, of which it then completes the link-layer addresses.
func (j *joined) addFlow(f *trace.Flow, numbers map[flowKey]uint32) {
	key := keyOf(f)
	n, known := numbers[key]
	if !known {
		numbers[key] = uint32(len(j.Flows))
		j.Flows = append(j.Flows, *f)
		return
	}
	of := &j.Flows[n]
	for d := range 2 {
		if of.Source[d] == (trace.MAC{}) {
			of.Source[d], of.Target[d] = f.Source[d], f.Target[d]
		}
	}
}

func (j *joined) addPacket(p *trace.Packet, flows []uint32) {
	to := j.Packets.Append()
	*to = *p
	if p.Flow != trace.NoFlow {
		to.Flow = flows[p.Flow>>1]<<1 | p.Flow&1
	}
}

// merge adds the packets of two halves in the order of time; each half stays in the order of its files.
func (j *joined) merge(g group, flows [][]uint32) {
	type cursor struct{ part, last, next int }
	at := [2]cursor{{0, len(g[0]), 0}, {len(g[0]), len(g[0]) + len(g[1]), 0}}
	log := func(part int) *trace.Log {
		if part < len(g[0]) {
			return &g[0][part].Packets
		}
		return &g[1][part-len(g[0])].Packets
	}
	for {
		half, earliest := -1, clock.HostTime(0)
		for h := range at {
			c := &at[h]
			for c.part < c.last && c.next == log(c.part).Len() {
				c.part, c.next = c.part+1, 0
			}
			if c.part == c.last {
				continue
			}
			if t := log(c.part).At(c.next).Time; half < 0 || t < earliest {
				half, earliest = h, t
			}
		}
		if half < 0 {
			return
		}
		c := &at[half]
		j.addPacket(log(c.part).At(c.next), flows[c.part])
		j.source = append(j.source, uint16(c.part))
		c.next++
	}
}

// divide returns the clocks of the captures given, from those of the captures that they were joined to.
func divide(all []joined, clocks []CaptureClocks, captures []*trace.Capture) []CaptureClocks {
	out := make([]CaptureClocks, len(captures))
	for k := range all {
		j, c := &all[k], clocks[k]
		for _, n := range j.parts {
			out[n] = c
		}
		if c.IsReceived == nil || len(j.parts) == 1 {
			continue
		}
		next := make([]int, len(j.parts))
		part := 0
		for _, n := range j.parts {
			out[n].IsReceived = make([]uint64, (captures[n].Packets.Len()+63)/64)
		}
		for i := range j.Packets.Len() {
			if j.source != nil {
				part = int(j.source[i])
			}
			for next[part] == captures[j.parts[part]].Packets.Len() {
				part++
			}
			at := next[part]
			next[part]++
			if c.IsReceived[i>>6]&(1<<(i&63)) != 0 {
				out[j.parts[part]].IsReceived[at>>6] |= 1 << (at & 63)
			}
		}
	}
	return out
}
