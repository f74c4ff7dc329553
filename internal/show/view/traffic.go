package view

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"meridian/internal/cause/wire"
	"meridian/internal/show/index"
)

// trafficker adds up the bytes between hosts; a [Timeline] and a [Live] do.
type trafficker interface {
	Traffic(from, to int64) (*Traffic, error)
}

// Traffic says how much payload of TCP arrived in a stretch, by the packets that both ends recorded. What was sent again counts once.
type Traffic struct {
	Ways  []Way  `json:"ways"`            // those with most bytes first
	UpTo  int64  `json:"upTo,omitempty"`  // the instant after which no packet was read, where there are too many
	Since int64  `json:"since,omitempty"` // of a timeline that grows: the instant before which none was
	None  string `json:"none,omitempty"`  // why there is none
}

// Way is from one host to another.
type Way struct {
	From  int   `json:"from"`
	To    int   `json:"to"`
	Bytes int64 `json:"bytes"`
}

// arrivals are the payloads that went one way, in order of their arrival.
type arrivals struct {
	at []int64 // ns since the origin
	n  []int64 // bytes of all up to this one
}

// Traffic sums up what arrived in [from, to).
func (t *Timeline) Traffic(from, to int64) (*Traffic, error) {
	if !havePackets(t.About()) {
		return noTraffic(), nil
	}
	c, err := t.causesOf()
	if err != nil {
		return nil, err
	}
	return c.sent(from, to), nil
}

// Traffic is as for a [Timeline], of the picture in which requests are found.
func (l *Live) Traffic(from, to int64) (*Traffic, error) {
	if !havePackets(l.About()) {
		return noTraffic(), nil
	}
	r, release, err := l.acquireRequests()
	if err != nil {
		return nil, err
	}
	defer release()
	return r.sent(from, to), nil
}

// havePackets reports whether a timeline has ends of messages that no recorded event is: those of packets are such.
func havePackets(a *index.About) bool {
	return slices.ContainsFunc(a.Rows, func(r index.Row) bool { return r.Kind == messageRow })
}

func noTraffic() *Traffic {
	return &Traffic{Ways: []Way{}, None: "Bytes are known of packets alone."}
}

// traffic collects what arrived, by the hosts of both ends.
func (w *wires) traffic() map[[2]int]*arrivals {
	type payload struct{ at, length int64 }
	lists := make(map[[2]int][]payload)
	w.set.Payloads(func(p *wire.Packet) {
		if !p.Out && p.Other != nil {
			way := [2]int{p.Other.Host, p.Host}
			lists[way] = append(lists[way], payload{p.At, int64(p.Length)})
		}
	})
	out := make(map[[2]int]*arrivals, len(lists))
	for way, list := range lists {
		slices.SortFunc(list, func(a, b payload) int { return cmp.Compare(a.at, b.at) })
		a, sum := &arrivals{make([]int64, len(list)), make([]int64, len(list))}, int64(0)
		for i, p := range list {
			sum += p.length
			a.at[i], a.n[i] = p.at, sum
		}
		out[way] = a
	}
	return out
}

// before is how many bytes arrived before an instant.
func (a *arrivals) before(at int64) int64 {
	i, _ := slices.BinarySearch(a.at, at)
	if i == 0 {
		return 0
	}
	return a.n[i-1]
}

func (c *causes) sent(from, to int64) *Traffic {
	out := &Traffic{Ways: []Way{}, UpTo: c.upTo, Since: c.since}
	for way, a := range c.traffic {
		if n := a.before(to) - a.before(from); n > 0 {
			out.Ways = append(out.Ways, Way{way[0], way[1], n})
		}
	}
	slices.SortFunc(out.Ways, func(a, b Way) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

func (h *handler) traffic(_ context.Context, q url.Values) ([]byte, string, error) {
	data, ok := h.data.(trafficker)
	if !ok {
		return marshalled(noTraffic(), nil)
	}
	from, to, _, err := h.stretch(q)
	if err != nil {
		return nil, "", err
	}
	return marshalled(data.Traffic(from, to))
}
