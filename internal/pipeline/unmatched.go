package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// Where captures have nothing in common, the cause is rarely a clock. holdings is what the captures of one clock hold,
// so that a warning can say what each side has and why nothing of it was used.
type holdings struct {
	files       string
	packets     int64
	first, last clock.HostTime
	kinds       map[string]int64 // packets by protocol
	ptp         int64
	between     map[addressPair]int64 // packets by addresses
	ways        map[endpoints][2]bool // which directions of a flow there are
}

// addressPair is the addresses of a flow, the lower one first.
type addressPair [2]netip.Addr

func (p addressPair) String() string { return fmt.Sprintf("%s-%s", p[0], p[1]) }

// endpoints names a flow in any capture, whatever it was inside of.
type endpoints struct {
	low, high trace.Endpoint
	protocol  uint8
}

// newHoldings looks through the captures of a clock.
func newHoldings(m *Matched, clock int) *holdings {
	h := &holdings{files: m.filesOf(clock), kinds: make(map[string]int64), between: make(map[addressPair]int64), ways: make(map[endpoints][2]bool)}
	for n, of := range m.Captures {
		if of.Sent == clock || of.Received == clock {
			h.add(m.captures[n])
		}
	}
	return h
}

func (h *holdings) add(c *trace.Capture) {
	h.ptp += c.PTP
	packets := make([][2]int64, len(c.Flows)) // by flow and direction
	for chunk := range c.Packets.Chunks() {
		for i := range chunk {
			p := &chunk[i]
			if p.Flow != trace.NoFlow {
				packets[p.Flow>>1][p.Flow&1]++
			}
			if p.Kind == trace.Untimed {
				continue
			}
			if h.packets == 0 {
				h.first, h.last = p.Time, p.Time
			}
			h.first, h.last = min(h.first, p.Time), max(h.last, p.Time)
			h.packets++
		}
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		n := packets[i][0] + packets[i][1]
		h.kinds[trace.ProtocolName(f.Protocol)] += n
		h.between[addressPair{f.Low.Addr, f.High.Addr}] += n
		key := endpoints{f.Low, f.High, f.Protocol}
		ways := h.ways[key]
		h.ways[key] = [2]bool{ways[0] || packets[i][0] > 0, ways[1] || packets[i][1] > 0}
	}
}

// largest names the keys of the greatest counts, the first few of them.
func largest[K comparable](counts map[K]int64, name func(K) string) string {
	keys := slices.Collect(maps.Keys(counts))
	slices.SortFunc(keys, func(a, b K) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(name(a), name(b))) })
	const shown = 3
	var names []string
	for _, k := range keys[:min(shown, len(keys))] {
		names = append(names, name(k))
	}
	if more := len(keys) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// extent writes when the packets were captured, by their own clock.
func (h *holdings) extent() string {
	const layout = "2006-01-02 15:04:05.000"
	at := func(t clock.HostTime) string { return time.Unix(0, int64(t)).UTC().Format(layout) }
	return at(h.first) + " to " + at(h.last)
}

// whyApart says why the captures of a clock have nothing in common with those of others.
func (h *holdings) whyApart(others []*holdings) string {
	if len(h.ways) == 0 {
		if h.ptp > 0 {
			return fmt.Sprintf("none of its %d packets is IP, and %d are PTP over Ethernet, which is not matched", h.packets, h.ptp)
		}
		return fmt.Sprintf("none of its %d packets is IP", h.packets)
	}
	var nearest *holdings
	flows, addresses := 0, 0
	for _, o := range others {
		commonFlows, commonAddresses := 0, 0
		for key := range h.ways {
			if _, both := o.ways[key]; both {
				commonFlows++
			}
		}
		for key := range h.between {
			if o.between[key] > 0 {
				commonAddresses++
			}
		}
		if nearest == nil || commonFlows > flows || commonFlows == flows && commonAddresses > addresses {
			nearest, flows, addresses = o, commonFlows, commonAddresses
		}
	}
	what := fmt.Sprintf("it has %s between %s", largest(h.kinds, func(k string) string { return k }), largest(h.between, addressPair.String))
	switch {
	case nearest == nil:
		return what
	case addresses == 0:
		return fmt.Sprintf("%s, and %s has %s: recorded on other hosts, or behind a proxy, a translator or a tunnel?", what, nearest.files, nearest.what())
	case flows == 0:
		return fmt.Sprintf("%s, and %s has other ports between the same addresses: recorded at another time, or behind a translator?", what, nearest.files)
	case h.oneWay(nearest):
		return fmt.Sprintf("of the %d flows that %s has too, it holds one direction and %s the other: capture both directions", flows, nearest.files, nearest.files)
	}
	return fmt.Sprintf("%d flows are in %s too, but no packet of them: recorded at another time, or changed on the way by a proxy?", flows, nearest.files)
}

// what names the protocols and addresses.
func (h *holdings) what() string {
	if len(h.ways) == 0 {
		return "no IP packets"
	}
	return fmt.Sprintf("%s between %s", largest(h.kinds, func(k string) string { return k }), largest(h.between, addressPair.String))
}

// oneWay reports whether of all flows in common each side has one direction, and not the same.
func (h *holdings) oneWay(o *holdings) bool {
	for key, ways := range h.ways {
		if others, both := o.ways[key]; both && (ways[0] && others[0] || ways[1] && others[1]) {
			return false
		}
	}
	return true
}

// disjoint reports whether two captures do not overlap in time, by their own clocks.
func (h *holdings) disjoint(o *holdings) bool {
	return h.packets > 0 && o.packets > 0 && (h.last < o.first || o.last < h.first)
}

// mostCompared is how many other hosts a host without messages is compared with: each takes a pass over its packets.
const mostCompared = 8

// warnOfApart says of a clock that has no messages what its captures hold beside those of the others, and that they do
// not overlap in time.
func warnOfApart(m *Matched, clock int, w *trace.Warnings) {
	var with []int // other hosts' clocks
	for i := range m.Clocks {
		if m.Clocks[i].Host != m.Clocks[clock].Host && hasCaptures(m, i) && len(with) < mostCompared {
			with = append(with, i)
		}
	}
	if (m.sharesPackets(clock) || m.exchanges(clock)) && len(with) != 1 {
		return
	}
	h := newHoldings(m, clock)
	var others []*holdings
	overlaps, last := false, 0
	for _, i := range with {
		o := newHoldings(m, i)
		others, last = append(others, o), i
		overlaps = overlaps || !h.disjoint(o)
	}
	if !m.sharesPackets(clock) && !m.exchanges(clock) {
		why := "recorded on other hosts, at another time, or behind a proxy?"
		if hasCaptures(m, clock) && len(others) > 0 {
			why = h.whyApart(others)
		}
		w.Add(m.filesOf(clock), "no messages in common with any other input: "+why, "")
	}
	if len(others) == 1 && !overlaps && (clock > last || m.exchanges(last)) { // once for two
		w.Add(m.filesOf(clock), fmt.Sprintf("its packets are of %s and those of %s of %s, each by its own clock: if the clocks are about right, nothing is in both",
			h.extent(), others[0].files, others[0].extent()), "")
	}
}

// hasCaptures reports whether a clock stamped captures.
func hasCaptures(m *Matched, clock int) bool {
	for _, of := range m.Captures {
		if of.Sent == clock || of.Received == clock {
			return true
		}
	}
	return false
}
