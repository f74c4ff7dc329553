package match

import (
	"meridian/clock"
	"meridian/trace"
)

// A flow of a single packet that one capture missed is in the other capture alone, and no conversation. What was missed so
// shows where other flows between the same addresses, of the same protocol and service, were seen at both ends at the time.

// service is what such flows have in common.
type service struct {
	a, b *index
	pair
	protocol uint8
	port     uint16
}

func serviceOf(a, b *index, f *trace.Flow) service {
	return service{a: a, b: b, pair: pairOf(f), protocol: f.Protocol, port: servicePort(f)}
}

// servicePort returns the lower port of a flow, which is that of the service.
func servicePort(f *trace.Flow) uint16 { return min(f.Low.Port, f.High.Port) }

// served is what the conversations of a service show: the side of the lower address, and when each capture saw them.
type served struct {
	near        int
	first, last [2]clock.HostTime
}

func newServed(near int) *served {
	const last = clock.HostTime(clock.Limit)
	return &served{near: near, first: [2]clock.HostTime{last, last}, last: [2]clock.HostTime{-last, -last}}
}

func (s *served) extend(end int, t clock.HostTime) {
	s.first[end], s.last[end] = min(s.first[end], t), max(s.last[end], t)
}

// offerLone adds to the found what one capture alone saw of services that both saw.
func (c *collector) offerLone(conversations []conversation) {
	services := make(map[service]*served)
	joined := make(map[*index]map[*index][]bool) // by capture and other capture: its flows that are conversations
	var order [][2]*index
	note := func(x, other *index, flow int) {
		if joined[x] == nil {
			joined[x] = make(map[*index][]bool)
		}
		if joined[x][other] == nil {
			joined[x][other] = make([]bool, len(x.Flows))
			order = append(order, [2]*index{x, other})
		}
		joined[x][other][flow] = true
	}
	for i := range conversations {
		u := &conversations[i]
		note(u.a, u.b, u.flowA)
		note(u.b, u.a, u.flowB)
		if u.connA != nil || u.near == 0 || !u.a.Flows[u.flowA].Tunnel.IsZero() || keyOf(&u.a.Flows[u.flowA]) != keyOf(&u.b.Flows[u.flowB]) {
			continue
		}
		for end, s := range []side{{u.a, u.flowA, 0}, {u.b, u.flowB, 0}} {
			packets := s.packets(s.flow)
			if len(packets) == 0 {
				continue
			}
			key := serviceOf(u.a, u.b, &u.a.Flows[u.flowA])
			if services[key] == nil {
				services[key] = newServed(u.near)
			}
			services[key].extend(end, s.at(packets[0]).Time)
			services[key].extend(end, s.at(packets[len(packets)-1]).Time)
		}
	}
	for _, ends := range order {
		x, other := ends[0], ends[1]
		for f, is := range joined[x][other] {
			if is || !x.Flows[f].Tunnel.IsZero() { // addresses in a tunnel do not say which way packets go
				continue
			}
			if s := services[serviceOf(x, other, &x.Flows[f])]; s != nil {
				c.offerLoneFlow(x, other, f, 0, s, s.near)
			} else if s := services[serviceOf(other, x, &x.Flows[f])]; s != nil {
				c.offerLoneFlow(x, other, f, 1, s, -s.near)
			}
		}
	}
}

// offerLoneFlow counts the packets of a flow that x alone saw. near is +1 if x is on the side of its lower address.
func (c *collector) offerLoneFlow(x, other *index, flow, end int, s *served, near int) {
	f := &x.Flows[flow]
	for d := range 2 {
		all := make(map[uint16]*loneCopies)
		var ports []uint16
		for _, n := range x.packets(flow) {
			if p := x.at(n); p.Kind == trace.Datagram && direction(p) == d && s.first[end] <= p.Time && p.Time <= s.last[end] {
				port := servicePort(f)
				if port == 0 {
					port = sizeOf(p)
				}
				of := all[port]
				if of == nil {
					of = &loneCopies{copies: make(map[uint64]int)}
					all[port] = of
					ports = append(ports, port)
				}
				of.copies[contentKey(p, p.Digest)]++
				of.ids = of.ids || p.ID != 0
			}
		}
		sent := (near > 0) == (d == 0)
		for _, port := range ports {
			k := kind{from: other, to: x, of: kindExact, protocol: f.Protocol, port: port, ids: all[port].ids}
			if sent {
				k.from, k.to = x, other
			}
			c.offer(k, func(f *finding) {
				for _, n := range all[port].copies {
					if sent {
						f.census.add(n, 0)
					} else {
						f.census.add(0, n)
					}
				}
			})
		}
	}
}

// loneCopies counts the copies of each packet of a kind that one capture alone saw.
type loneCopies struct {
	copies map[uint64]int
	ids    bool
}
