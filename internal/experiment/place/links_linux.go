package place

import (
	"fmt"
	"slices"
	"strings"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/traffic"
)

// Traffic of a link with a rate: how much may go at once, and how long it waits unless the file gives a buffer.
const (
	minBurst      = 16 << 10 // bytes: a super-segment is cut by tbf, but at least a few packets go at once
	burstsPerSec  = 250      // of a rate: the kernel's timer ticks
	bufferSeconds = 0.1
)

func eachWithEach(seats []*Seat) (links []file.Link) {
	for i, a := range seats {
		for _, b := range seats[i+1:] {
			links = append(links, file.Link{Between: [2]string{a.Host, b.Host}})
		}
	}
	return links
}

// port is an end of a link.
type port struct {
	to     int // host
	device string
}

// connect joins hosts by the links of the file. Hosts without a link between them reach each other by way of others.
func (p *Place) connect(links []file.Link) error {
	number := make(map[string]int)
	for i, s := range p.Seats {
		number[s.Host] = i
	}
	kernel := p.ask(links)
	ports := make([][]port, len(p.Seats))
	rules := make([]string, len(p.Seats))
	var made []string
	for _, l := range links {
		a, b := number[l.Between[0]], number[l.Between[1]]
		ends := [2]port{{b, fmt.Sprintf("eth%d", len(ports[a]))}, {a, fmt.Sprintf("eth%d", len(ports[b]))}}
		made = append(made, fmt.Sprintf("link add %s netns %d type veth peer name %s netns %d", ends[0].device, p.Seats[a].pid(), ends[1].device, p.Seats[b].pid()))
		for k, host := range []int{a, b} {
			s := p.Seats[host]
			ports[host] = append(ports[host], ends[k])
			s.Setup.Network = append(s.Setup.Network, "addr add "+s.Address+"/32 dev "+ends[k].device, "link set "+ends[k].device+" up")
			s.Setup.Traffic = append(s.Setup.Traffic, disciplines(l, ends[k].device, kernel)...)
			if l.Loss > 0 && kernel.loss {
				rules[host] += traffic.Loss(ends[k].device, ends[k].device, l.Loss)
			}
		}
	}
	if err := ip(made); err != nil {
		return err
	}
	for i, s := range p.Seats {
		if len(ports[i]) == 0 { // it has its address, and nobody is reached
			s.Setup.Network = append(s.Setup.Network, "addr add "+s.Address+"/32 dev lo")
		}
		s.Setup.Forward = true
		s.Setup.Network = append(s.Setup.Network, routes(p.Seats, ports, i)...)
		if rules[i] != "" {
			s.Setup.Filter = "table netdev meridian {\n" + rules[i] + "}\n"
		}
	}
	return nil
}

// able is what the kernel has of what links ask for.
type able struct{ rate, delay, loss bool }

// ask finds out what the kernel has, and says what is missing.
func (p *Place) ask(links []file.Link) (a able) {
	wants := func(of func(l file.Link) bool) bool { return slices.ContainsFunc(links, of) }
	if wants(func(l file.Link) bool { return l.Rate > 0 }) {
		if a.rate = has("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "10mbit", "burst", "16k", "limit", "64k"); !a.rate {
			p.Missing = append(p.Missing, "links: the kernel has no tbf (CONFIG_NET_SCH_TBF), or tc is missing: rates are not limited")
		}
	}
	if wants(func(l file.Link) bool { return l.Delay > 0 }) {
		if a.delay = has("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"); !a.delay {
			p.Missing = append(p.Missing, "links: the kernel has no netem (CONFIG_NET_SCH_NETEM), or tc is missing: packets are not delayed")
		}
	}
	if wants(func(l file.Link) bool { return l.Loss > 0 }) {
		if a.loss = hasWith("table netdev meridian {\n"+traffic.Loss("lo", "lo", 0.5)+"}\n", "nft", "-f", "-"); !a.loss {
			p.Missing = append(p.Missing, "links: the kernel has no egress hook or no numgen of nftables, or nft is missing: packets are not lost")
		}
	}
	return a
}

// disciplines returns the lines of tc for an end of a link: packets that leave by it wait for the rate, then for the delay.
func disciplines(l file.Link, device string, kernel able) (lines []string) {
	parent := "root"
	if l.Rate > 0 && kernel.rate {
		bytes := float64(l.Rate) / 8
		buffer := l.Buffer
		if buffer == 0 {
			buffer = int64(bytes * bufferSeconds)
		}
		burst := max(int64(bytes/burstsPerSec), minBurst)
		lines = append(lines, fmt.Sprintf("qdisc add dev %s root handle 1: tbf rate %dbit burst %d limit %d", device, l.Rate, burst, max(buffer, burst)))
		parent = "parent 1:1"
	}
	if l.Delay > 0 && kernel.delay {
		lines = append(lines, fmt.Sprintf("qdisc add dev %s %s handle 10: %s", device, parent, strings.Join(traffic.Delay(l.Delay), " ")))
	}
	return lines
}

// routes returns the routes of a host to all others: the first port of a shortest way.
func routes(seats []*Seat, ports [][]port, from int) (lines []string) {
	type way struct{ first, last int } // first: number of the port of from; last: the host before
	ways := map[int]way{from: {-1, from}}
	queue := []int{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for k, next := range ports[at] {
			if _, known := ways[next.to]; known {
				continue
			}
			w := way{ways[at].first, at}
			if at == from {
				w.first = k
			}
			ways[next.to] = w
			queue = append(queue, next.to)
			out := ports[from][w.first]
			line := "route add " + seats[next.to].Address + "/32 dev " + out.device + " src " + seats[from].Address
			if out.to != next.to {
				line = "route add " + seats[next.to].Address + "/32 via " + seats[out.to].Address + " dev " + out.device + " onlink src " + seats[from].Address
			}
			lines = append(lines, line)
		}
	}
	return lines
}
