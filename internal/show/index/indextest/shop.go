package indextest

import (
	"fmt"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/trace"
)

// What is special about some of the requests of [Shop].
const (
	ShopRequests = 60
	SlowRender   = 40 // the cart renders for 30 ms
	SlowNetwork  = 20 // the database's answer is 12 ms under way
	ShopBound    = 50_000
	LongerQuery  = 400_000 // by how much longer the database takes in ShopAfter
	LongerWay    = 30_000  // by how much longer a request is on its way to the cart, less than the bounds can tell
)

// Names of the slices of [Shop].
const (
	ShopGet = iota
	ShopCart
	ShopSelect
	ShopQuery
	ShopRender
	ShopAudit // only in ShopAfter
)

type shop struct {
	records    []trace.TimelineEvent
	spans      uint64
	query, way int64 // by how much longer these take
}

// Shop builds an index of spans: a client asks a cart, which asks a database and renders. Every instant of cart and
// database is known to 50 µs. The index is in memory if path is empty.
func Shop(t testing.TB, path string) *index.Index { return ShopOf(t, path, ShopRequests) }

// ShopOf builds one of so many requests, each of five spans.
func ShopOf(t testing.TB, path string, requests int) *index.Index {
	t.Helper()
	return build(t, path, requests, &shop{})
}

// ShopAfter builds another run of [Shop]: queries take LongerQuery more and are audited, and requests are on their way for LongerWay more.
func ShopAfter(t testing.TB, path string) *index.Index {
	t.Helper()
	return build(t, path, ShopRequests, &shop{query: LongerQuery, way: LongerWay})
}

// ShopEvents returns the events of [ShopOf] and their schema, for a timeline that grows.
func ShopEvents(requests int) (*trace.Schema, []trace.TimelineEvent) {
	s := &shop{}
	return s.events(requests), s.records
}

func build(t testing.TB, path string, requests int, s *shop) *index.Index {
	t.Helper()
	return Build(t, s.events(requests), path, nil, func(b *index.Builder) error {
		for i := range s.records {
			if err := b.Write(&s.records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// events makes so many requests.
func (s *shop) events(requests int) *trace.Schema {
	text := trace.Type{Kind: trace.Text}
	l := &trace.Schema{Title: "a shop", Method: "made up", Assumption: "none"}
	for _, name := range []string{"GET /cart", "cart", "SELECT", "query", "render", "audit"} {
		l.Classes = append(l.Classes, trace.Class{Name: name, Category: "app", Fields: []trace.Field{{Name: "trace_id", Type: text}, {Name: "span_id", Type: text}, {Name: "parent_span_id", Type: text}}})
	}
	for h, host := range []string{"client", "cart", "db"} {
		l.Hosts = append(l.Hosts, host)
		l.Maps = append(l.Maps, trace.HostMap{Host: h, Map: shopClock(h)})
		l.Streams = append(l.Streams, trace.Stream{Name: "process", Host: host, Kind: trace.Process, ID: int64(10 + h), Parent: -1})
	}
	for i := range int64(requests) {
		s.request(i)
	}
	slices.SortStableFunc(s.records, func(a, b trace.TimelineEvent) int { return int(a.Time - b.Time) })
	return l
}

// shopClock is that of a host: the first one's is the reference, others are known to ShopBound.
func shopClock(host int) *clock.Map {
	m := clock.Identity()
	if host > 0 {
		const begin, end = clock.HostTime(shopOrigin - 1e9), clock.HostTime(shopOrigin + 10e9)
		at := func(by int64) clock.Curve {
			return clock.Curve{{X: begin, Y: clock.TimelineTime(int64(begin) + by)}, {X: end, Y: clock.TimelineTime(int64(end) + by)}}
		}
		m = clock.Map{Low: at(-ShopBound), Mid: at(0), High: at(ShopBound)}
	}
	return &m
}

const shopOrigin = 1_700_000_000_000_000_000

// request writes one, which begins each 50 ms.
func (s *shop) request(i int64) {
	const us = 1000
	render, answer := int64(2000*us)+i%7*20*us, int64(150*us)+i%5*4*us
	switch i {
	case SlowRender:
		render = 30_000 * us
	case SlowNetwork:
		answer = 12_000 * us
	}
	t := i * 50_000 * us
	asked := t + 200*us + i%3*5*us + s.way
	selects, queried := asked+500*us, asked+650*us
	answered := queried + 800*us + i%4*30*us + s.query
	got := answered + answer
	rendered := got + 100*us
	done := rendered + render + 50*us
	number := fmt.Sprintf("%032x", i+1)
	get := s.span(number, 0, ShopGet, 0, t, done+210*us, 0)
	cart := s.span(number, 1, ShopCart, get, asked, done, get)
	sel := s.span(number, 1, ShopSelect, cart, selects, got, 0)
	s.span(number, 2, ShopQuery, sel, queried, answered, sel)
	s.span(number, 1, ShopRender, cart, rendered, rendered+render, 0)
	if s.query > 0 {
		s.span(number, 2, ShopAudit, 0, answered+10*us, answered+30*us, 0)
	}
}

// span writes a slice; that of a server joins the one of its client, which is its parent, by two messages.
func (s *shop) span(number string, host, class int, parent uint64, begin, end int64, client uint64) uint64 {
	s.spans++
	id := s.spans
	names := []trace.Value{trace.OfText(number), trace.OfText(fmt.Sprintf("%016x", id))}
	if parent != 0 {
		names = append(names, trace.OfText(fmt.Sprintf("%016x", parent)))
	}
	flow, roles := id, [2]trace.Role{trace.Sends, trace.Receives}
	switch {
	case client != 0:
		flow, roles = client, [2]trace.Role{trace.Receives, trace.Sends}
	case class == ShopRender || class == ShopAudit:
		flow = 0
	}
	for i, at := range []int64{begin, end} {
		e := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(shopOrigin + at), Stream: host, Class: class, Phase: []trace.Phase{trace.Begin, trace.End}[i], Slice: id},
			Time: clock.TimelineTime(shopOrigin + at), Host: host, Map: host, Bounded: true}
		bound := clock.TimelineTime(0)
		if host > 0 {
			bound = ShopBound
		}
		e.Low, e.High = e.Time-bound, e.Time+bound
		if i == 0 {
			e.Values = names
		}
		if flow != 0 {
			e.Flow, e.Role = 2*flow+uint64(i), roles[i]
		}
		s.records = append(s.records, e)
	}
	return id
}
