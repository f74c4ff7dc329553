package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"meridian/internal/cause"
	"meridian/internal/show/index"
)

// Requests is what a page asks of requests; a [Timeline] and a [Live] are.
type Requests interface {
	Requests(q RequestQuery) (*RequestList, error)
	Path(request int) (*Path, error)
	PathOf(request int, event, last int64) (*Path, error)
	PathBetween(from, to int64) (*Path, error)
}

// RequestQuery chooses requests. The zero value is the slowest 100.
type RequestQuery struct {
	Sort     string // total, server, network, client, transfer, beyond: the greatest first; begin: the earliest first
	Text     string // words, each of which the name or a host must contain
	From, To int64  // only those that are there at some instant of [From, To), ns since the origin; both 0: all
	Most     int    // 0: 100

	MostGroups int // 0: 200
}

// RequestSorts lists what requests can be sorted by.
func RequestSorts() []string {
	return []string{"total", "server", "network", "client", "transfer", "beyond", "begin"}
}

// Check returns what is wrong with a query.
func (q *RequestQuery) Check() error {
	if q.Sort != "" && !slices.Contains(RequestSorts(), q.Sort) {
		return fmt.Errorf("sort: want one of %v, not %q", RequestSorts(), shown(q.Sort))
	}
	if len(q.Text) > maxText {
		return fmt.Errorf("match: want at most %d bytes of text", maxText)
	}
	return nil
}

const (
	usualRequests = 100
	mostRequests  = 1000
	usualGroups   = 200
)

// RequestList is an answer.
type RequestList struct {
	Count    int            `json:"count"`   // of all requests
	Matched  int            `json:"matched"` // of those chosen
	Requests []Request      `json:"requests"`
	Groups   []RequestGroup `json:"groups"`         // of those chosen, the largest
	Names    int            `json:"names"`          // how many groups there are
	Lost     *Lost          `json:"lost,omitempty"` // requests without a reply, which are not listed
	None     string         `json:"none,omitempty"` // why none are listed
	// Contradiction says that requests cannot be as they are listed, and names two events; "" for none.
	Contradiction string `json:"contradiction,omitempty"`
	UpTo          int64  `json:"upTo,omitempty"`   // where packets are too many: the instant after which none was read, ns since the origin
	Since         int64  `json:"since,omitempty"`  // of a timeline that grows: the instant from which on requests are found, where that is not the first
	Behind        int64  `json:"behind,omitempty"` // events that have come since the requests were found
}

// Lost is requests of HTTP for which nothing came back in what was recorded.
type Lost struct {
	Count int      `json:"count"`
	Names []string `json:"names"` // of the first of them, each once
}

// Request is a request. Times are ns; instants, since the origin.
type Request struct {
	ID         int    `json:"id"`
	Kind       string `json:"kind"` // span, exchange, http, http2
	Name       string `json:"name"`
	Client     int    `json:"client"` // row
	Server     int    `json:"server"`
	Begin      int64  `json:"begin"`
	Total      int64  `json:"total"`
	Beyond     int64  `json:"beyond"` // of the total, beyond the median of its group
	Like       int    `json:"like"`   // how many others the group has
	ClientTime int64  `json:"clientTime"`
	ServerTime int64  `json:"serverTime"` // until the first packet of the reply was sent
	Transfer   int64  `json:"transfer"`   // from the first to the last packet of the request, and of the reply
	Network    int64  `json:"network"`    // both ways
	There      Length `json:"there"`
	Back       Length `json:"back"`
	Event      int64  `json:"event"` // that begins it
	Last       int64  `json:"last"`
	Messages   int    `json:"messages"`
	Status     string `json:"status,omitempty"`
	Again      int    `json:"again,omitempty"` // packets of it that were sent again
	Peer       string `json:"peer,omitempty"`  // address of the server's end; of the client's, without a port, where the server alone was recorded
	// ClientAddress and ServerAddress are those of ends of which it is not known which host they are. "" stands for the rows' hosts.
	ClientAddress string `json:"clientAddress,omitempty"`
	ServerAddress string `json:"serverAddress,omitempty"`

	Overlapping bool `json:"overlapping,omitempty"` // it cannot be divided
	Alone       bool `json:"alone,omitempty"`       // the other end was not recorded, so it is not divided either
}

// Length is a length, by the estimate, and between which it truly is; nil where that is not known.
type Length struct {
	Estimate   int64  `json:"estimate"`
	Low        *int64 `json:"low"`
	High       *int64 `json:"high"`
	Impossible bool   `json:"impossible,omitempty"` // the bounds contradict the messages
}

func lengthOf(estimate int64, i cause.Interval) Length {
	l := Length{Estimate: estimate, Impossible: i.Impossible}
	if i.HasLow {
		l.Low = &i.Low
	}
	if i.HasHigh {
		l.High = &i.High
	}
	return l
}

// RequestGroup has percentiles of the totals of like requests: of one name, between two hosts.
type RequestGroup struct {
	Name   string `json:"name"`
	Client int    `json:"client"` // host
	Server int    `json:"server"`
	Peer   string `json:"peer,omitempty"`
	// ClientAddress and ServerAddress are those of its requests.
	ClientAddress string `json:"clientAddress,omitempty"`
	ServerAddress string `json:"serverAddress,omitempty"`

	Count int   `json:"count"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	Most  int64 `json:"most"`
}

// Requests lists the requests that a query chooses.
func (t *Timeline) Requests(q RequestQuery) (*RequestList, error) {
	c, err := t.causesOf()
	if err != nil {
		return nil, err
	}
	return c.requests(q), nil
}

func (c *causes) requests(q RequestQuery) *RequestList {
	a := c.about
	words := strings.Fields(strings.ToLower(q.Text))
	out := &RequestList{Count: len(c.list), Contradiction: c.contradictionText(), UpTo: c.upTo, Since: c.since, Lost: c.lost, Requests: []Request{}, Groups: []RequestGroup{}}
	wanted := make([]bool, len(c.groups))
	holds := func(key *groupKey, class int, name int32) bool {
		return holdsAll(strings.ToLower(c.nameOf(a, class, name)+" "+a.Hosts[key.client].Name+" "+a.Hosts[key.server].Name+" "+c.model.Texts[key.peer]+" "+c.model.Texts[key.clientAddress]), words)
	}
	for g := range c.groups {
		key := &c.groups[g].groupKey
		wanted[g] = holds(key, key.class, key.name)
	}
	type entry struct {
		value int64
		i     int32
	}
	var chosen []entry
	totals := make([][]int64, len(c.groups))
	for i := range c.list {
		r, g := &c.list[i], c.groupOf[i]
		if !wanted[g] && (r.Name == c.groups[g].name || !holds(&c.groups[g].groupKey, r.Class, r.Name)) || (q.From != 0 || q.To != 0) && (r.Begin >= q.To || r.End < q.From) {
			continue
		}
		chosen = append(chosen, entry{sortValue(r, q.Sort, c.groups[g].median), int32(i)})
		totals[g] = append(totals[g], r.Total())
	}
	out.Matched = len(chosen)
	slices.SortFunc(chosen, func(x, y entry) int { return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(x.i, y.i)) })
	most := min(cmp.Or(q.Most, usualRequests), mostRequests)
	for _, e := range chosen[:min(most, len(chosen))] {
		out.Requests = append(out.Requests, c.request(int(e.i)))
	}
	for g, totals := range totals {
		if len(totals) == 0 {
			continue
		}
		key := &c.groups[g]
		slices.Sort(totals)
		at := func(percent int) int64 { return totals[max(0, (len(totals)*percent+99)/100-1)] }
		out.Groups = append(out.Groups, RequestGroup{Name: c.nameOf(a, key.class, key.name), Peer: c.model.Texts[key.peer], Client: key.client, Server: key.server, Count: len(totals),
			ClientAddress: c.model.Texts[key.clientAddress], ServerAddress: c.model.Texts[key.serverAddress],
			P50: at(50), P90: at(90), P99: at(99), Most: totals[len(totals)-1]})
	}
	slices.SortFunc(out.Groups, func(x, y RequestGroup) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Client, y.Client), cmp.Compare(x.Server, y.Server))
	})
	out.Names = len(out.Groups)
	out.Groups = out.Groups[:min(len(out.Groups), cmp.Or(q.MostGroups, usualGroups))]
	return out
}

func holdsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// nameOf names requests: by their headers, else by the class of a slice; an exchange within no slice is one of messages alone.
func (c *causes) nameOf(a *index.About, class int, name int32) string {
	if name != 0 {
		return c.model.Texts[name]
	}
	if class < 0 || class >= len(a.Classes) {
		return "messages"
	}
	return a.Classes[class].Name
}

// sortValue is what requests are sorted by, the greatest first.
func sortValue(r *cause.Request, by string, median int64) int64 {
	switch {
	case by == "begin":
		return -r.Begin
	case by == "beyond":
		return r.Total() - median
	case by == "" || by == "total":
		return r.Total()
	case !r.Divided():
		return -1
	case by == "server":
		return r.ServerTime()
	case by == "network":
		return r.Network()
	case by == "transfer":
		return r.Transfer()
	}
	return r.ClientTime()
}

func (c *causes) request(i int) Request {
	r, a := &c.list[i], c.about
	out := Request{ID: i, Kind: r.Kind, Name: c.nameOf(a, r.Class, r.Name), Client: r.Client, Server: r.Server, Begin: r.Begin, Total: r.Total(),
		Beyond: r.Total() - c.groups[c.groupOf[i]].median, Like: len(c.groups[c.groupOf[i]].members) - 1, Event: r.Event, Last: r.Last, Messages: r.Messages,
		Status: c.model.Texts[r.Status], Again: r.Again, Peer: c.model.Texts[r.Peer],
		ClientAddress: c.model.Texts[r.ClientAddress], ServerAddress: c.model.Texts[r.ServerAddress], Overlapping: r.Overlapping, Alone: r.Alone}
	if r.Divided() {
		there, back := c.model.Ways(r)
		out.ClientTime, out.ServerTime, out.Network, out.Transfer = r.ClientTime(), r.ServerTime(), r.Network(), r.Transfer()
		out.There, out.Back = lengthOf(r.There.Received-r.There.Sent, there), lengthOf(r.Back.Received-r.Back.Sent, back)
	}
	return out
}
