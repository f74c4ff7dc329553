package viewtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"meridian/clock"
	"meridian/internal/show"
	"meridian/internal/show/index"
)

// scene is a small timeline of which every answer is known: 40 requests go from a client over a web server to a database
// and back. Its tiles are made here, by the contract alone: all are exact.
//
//	client app:    send request ............................................. receive response
//	web worker:       receive request [handle   send query ... receive rows [render] ] send response
//	db engine:                                receive query [query] send rows
//
// Message 2 of request 10 is received early within the bounds, message 3 of request 20 beyond them, message 1 of request
// 30 is too fast, and message 4 of request 35 seems early by less than a step.
type scene struct {
	events  []*sceneEvent
	slices  map[int][][2]*sceneEvent // by lane
	links   map[int][][2]*sceneEvent // by lane
	hostile string
}

type sceneEvent struct {
	number, class, row int
	at                 int64
	phase              string
	fields             [][2]string
	to, from           *sceneEvent // the other end of a message that it sent, or received
	slice              *[2]*sceneEvent
}

var sceneClasses = []string{"send request", "receive request", "send query", "receive query", "send rows", "receive rows", "send response", "receive response", "handle", "query", "render", "load"}

// sceneLinks are the lanes of messages: from row, to row.
var sceneLinks = map[int][2]int{7: {0, 1}, 8: {1, 3}, 9: {3, 1}, 10: {1, 0}}

func newScene(hostile string) *scene {
	s := &scene{slices: map[int][][2]*sceneEvent{}, links: map[int][][2]*sceneEvent{}, hostile: hostile}
	add := func(class, row int, at int64, fields ...string) *sceneEvent {
		e := &sceneEvent{class: class, row: row, at: at, phase: "instant"}
		for i := 0; i+1 < len(fields); i += 2 {
			e.fields = append(e.fields, [2]string{fields[i], fields[i+1]})
		}
		s.events = append(s.events, e)
		return e
	}
	send := func(lane int, sent, received *sceneEvent) {
		sent.to, received.from = received, sent
		s.links[lane] = append(s.links[lane], [2]*sceneEvent{sent, received})
	}
	slice := func(lane, class, row int, from, to int64) {
		pair := [2]*sceneEvent{add(class, row, from), add(class, row, to)}
		pair[0].phase, pair[1].phase = "begin", "end"
		pair[0].slice, pair[1].slice = &pair, &pair
		s.slices[lane] = append(s.slices[lane], pair)
	}
	const us = int64(1000)
	for i := range int64(40) {
		id := fmt.Sprint(i)
		t := 1_000_000*i + 100*us
		early := func(request, normal, delay int64) int64 {
			if i == request {
				return delay
			}
			return normal + i%7*us
		}
		s0 := add(0, 0, t, "id", id, "method", "GET", "path", hostile+"/item/"+id, "length", fmt.Sprint(400+i))
		s1 := add(1, 1, t+early(30, 40*us, 2*us), "id", id)
		s2 := add(2, 1, t+100*us, "id", id, "sql", "select * from item where id="+id)
		s3 := add(3, 3, s2.at+early(10, 55*us, -30*us), "id", id)
		s4 := add(4, 3, t+355*us, "id", id, "rows", fmt.Sprint(i%5))
		s5 := add(5, 1, s4.at+early(20, 50*us, -100*us), "id", id)
		s6 := add(6, 1, t+525*us, "id", id, "status", "200")
		s7 := add(7, 0, s6.at+early(35, 45*us, -500), "id", id, "status", "200")
		send(7, s0, s1)
		send(8, s2, s3)
		send(9, s4, s5)
		send(10, s6, s7)
		slice(2, 8, 1, t+50*us, t+520*us)
		slice(3, 10, 1, t+420*us, t+510*us)
		slice(5, 9, 3, t+165*us, t+345*us)
		add(11, 4, t, "value", fmt.Sprint(10+5*(i%4)))
	}
	slices.SortStableFunc(s.events, func(a, b *sceneEvent) int { return int(a.at - b.at) })
	for i, e := range s.events {
		e.number = i
	}
	return s
}

const sceneOrigin, sceneSpan, sceneTop = 1_700_000_000_000_000_000, 40_000_000, 16

// offset is by how much a clock's stamps are ahead of the timeline.
func (s *scene) offset(clock int) int64 { return []int64{0, 2_000_000, -350_000}[clock] }

func (s *scene) clock(row int) int { return []int{0, 1, 1, 2, 2}[row] }

func (s *scene) About() *index.About {
	a := &index.About{
		Version: 1, Title: "forty requests" + s.hostile, Origin: sceneOrigin, Span: sceneSpan, Top: sceneTop, Events: int64(len(s.events)), Messages: 160,
		Verdicts: [5]int64{156, 1, 1, 1, 1}, Method: "envelope", Assumption: "wander within 0.1 ppm per second", Summary: "three hosts, 160 messages",
		Warnings: []string{}, Left: []string{}, Pairs: [][]string{{"client" + s.hostile, "web", "40", "40", "85 us", "exact", "+2 ms", "+1.2 ppm", "5 us"}},
	}
	for c, bound := range []int64{0, 5_000, 50_000} {
		corner := index.Corner{Below: bound, Above: bound, Recorded: s.offset(c)}
		last := corner
		last.At = sceneSpan
		a.Clocks = append(a.Clocks, index.Clock{Host: c, Low: true, High: true, Granularity: 1000, Corners: []index.Corner{corner, last}})
		a.Hosts = append(a.Hosts, index.Host{Name: []string{"client", "web", "db"}[c] + s.hostile, Events: 100, HostReport: index.HostReport{Reference: "client",
			Addresses: []string{fmt.Sprintf("10.0.0.%d", c+1)}, Offset: fmt.Sprintf("%+d us", s.offset(c)/1000), Skew: "+1.2 ppm", Bound: fmt.Sprintf("%d us", bound/1000)}})
	}
	counts := make([]int64, len(sceneClasses))
	for _, e := range s.events {
		counts[e.class]++
	}
	for c, name := range sceneClasses {
		category := "net"
		if c >= 8 {
			category = "app"
		}
		a.Classes = append(a.Classes, index.Class{Name: name + s.hostile, Category: category, Fields: []string{"id"}, Events: counts[c]})
	}
	row := func(host int, name, kind string, lanes ...index.Lane) {
		a.Rows = append(a.Rows, index.Row{Host: host, Clock: host, Name: name + s.hostile, Kind: kind, ID: 7, Parent: -1, Events: 80, Lanes: append([]index.Lane{}, lanes...)})
	}
	lane := func(n int, kind string, depth int) index.Lane {
		return index.Lane{Lane: n, Kind: kind, Depth: depth, Items: 40}
	}
	row(0, "app", "thread", lane(0, "instants", 0))
	row(1, "worker", "thread", lane(1, "instants", 0), lane(2, "slices", 0), lane(3, "slices", 1))
	row(1, "CPU 0", "cpu")
	row(2, "engine", "thread", lane(4, "instants", 0), lane(5, "slices", 0))
	row(2, "load", "counter", index.Lane{Lane: 6, Kind: "counter", Name: "value", Items: 40, Least: 10, Greatest: 25})
	for l := 7; l <= 10; l++ {
		link := sceneLinks[l]
		a.Links = append(a.Links, index.Link{Lane: l, From: link[0], To: link[1], Messages: 40, Worst: index.Verdict([]int{2, 3, 4, 1}[l-7])})
		h := index.Histogram{From: s.clock(link[0]), To: s.clock(link[1]), Messages: 40, Least: math.MaxInt64, Greatest: math.MinInt64}
		buckets := map[int64]int64{}
		for _, p := range s.links[l] {
			d := p[1].at - p[0].at
			h.Least, h.Greatest, h.Mean = min(h.Least, d), max(h.Greatest, d), h.Mean+float64(d)/40
			buckets[int64(math.Floor(float64(d)/1000))*1000]++
		}
		for b, n := range buckets {
			h.Buckets = append(h.Buckets, [3]int64{b, b + 999, n})
		}
		slices.SortFunc(h.Buckets, func(a, b [3]int64) int { return int(a[0] - b[0]) })
		a.Delays = append(a.Delays, h)
	}
	return a
}

func (s *scene) Tile(group, level int, number int64) ([]byte, error) {
	begin, end := number<<(level+10), (number+1)<<(level+10)
	out := []byte{1}
	if group > 3 {
		return append(out, 0), nil
	}
	u := func(v int64) { out = binary.AppendUvarint(out, uint64(v)) }
	lanes := [][]int{{0}, {1, 2, 3}, {4, 5, 6}, {7, 8, 9, 10}}[group]
	u(int64(len(lanes)))
	before := -1
	for _, lane := range lanes {
		u(int64(lane - before))
		before = lane
		out = s.lane(out, lane, begin, end)
	}
	return out, nil
}

// lane appends what a lane has from begin to end, without its number.
func (s *scene) lane(out []byte, lane int, begin, end int64) []byte {
	touches := func(from, to int64) bool { return max(from, to) >= begin && min(from, to) < end }
	switch lane {
	case 0, 1, 4, 6:
		return s.instants(out, lane, begin, touches)
	case 2, 3, 5:
		return s.sliced(out, lane, begin, touches)
	}
	return s.messages(out, lane, begin, touches)
}

func (s *scene) instants(out []byte, lane int, begin int64, touches func(from, to int64) bool) []byte {
	var event int64
	at := begin
	u := func(v int64) { out = binary.AppendUvarint(out, uint64(v)) }
	z := func(v int64) { out = binary.AppendVarint(out, v) }
	row := map[int]int{0: 0, 1: 1, 4: 3, 6: 4}[lane]
	var list []*sceneEvent
	for _, e := range s.events {
		if e.row == row && e.phase == "instant" && touches(e.at, e.at) {
			list = append(list, e)
		}
	}
	mode := byte(0)
	if lane == 6 {
		mode = 2
	}
	out = append(out, mode)
	u(int64(len(list)))
	level := func(e *sceneEvent) {
		var v float64
		fmt.Sscan(e.fields[0][1], &v)
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	if mode == 2 {
		stood := len(s.events) - 1
		for stood >= 0 && (s.events[stood].row != row || s.events[stood].at >= begin) {
			stood--
		}
		if stood < 0 {
			out = append(out, 0)
		} else {
			out = append(out, 1)
			level(s.events[stood])
		}
	}
	for _, e := range list {
		u(e.at - at)
		at = e.at
		if mode == 2 {
			level(e)
		} else {
			u(int64(e.class))
		}
		z(int64(e.number) - event)
		event = int64(e.number)
	}
	return out
}

func (s *scene) sliced(out []byte, lane int, begin int64, touches func(from, to int64) bool) []byte {
	var event int64
	at := begin
	u := func(v int64) { out = binary.AppendUvarint(out, uint64(v)) }
	z := func(v int64) { out = binary.AppendVarint(out, v) }
	list := slices.DeleteFunc(slices.Clone(s.slices[lane]), func(p [2]*sceneEvent) bool { return !touches(p[0].at, p[1].at) })
	out = append(out, 1)
	u(int64(len(list)))
	for _, p := range list {
		z(p[0].at - at)
		u(p[1].at - p[0].at)
		at = p[1].at
		out = append(out, 0)
		u(int64(p[0].class))
		z(int64(p[0].number) - event)
		event = int64(p[0].number)
	}
	return out
}

func (s *scene) messages(out []byte, lane int, begin int64, touches func(from, to int64) bool) []byte {
	var event, other int64
	at := begin
	u := func(v int64) { out = binary.AppendUvarint(out, uint64(v)) }
	z := func(v int64) { out = binary.AppendVarint(out, v) }
	list := slices.DeleteFunc(slices.Clone(s.links[lane]), func(p [2]*sceneEvent) bool { return !touches(p[0].at, p[1].at) })
	out = append(out, 3)
	u(int64(len(list)))
	for _, p := range list {
		z(p[0].at - at)
		at = p[0].at
		z(p[1].at - p[0].at)
		out = append(out, byte(s.verdict(lane, slices.Index(s.links[lane], p))))
		z(int64(p[0].number) - event)
		z(int64(p[1].number) - other)
		event, other = int64(p[0].number), int64(p[1].number)
	}
	return out
}

// verdict is that of the message of request i on a lane.
func (s *scene) verdict(lane, i int) int {
	switch [2]int{lane, i} {
	case [2]int{7, 30}:
		return 2
	case [2]int{8, 10}:
		return 3
	case [2]int{9, 20}:
		return 4
	case [2]int{10, 35}:
		return 1
	}
	return 0
}

func (s *scene) Events(from int64, count int) ([]index.Event, error) {
	list := []index.Event{}
	for i := from; i < min(int64(len(s.events)), from+int64(count)); i++ {
		e := s.events[i]
		n, number := int64(e.number), s.clock(e.row)
		x := index.Event{Event: n, At: e.at, Recorded: clock.HostTime(sceneOrigin+e.at) + clock.HostTime(s.offset(number)), Row: e.row, Clock: number, Class: e.class, Phase: e.phase, Fields: e.fields}
		if e.to != nil {
			x.Flow = &index.Flow{Sent: n, Received: int64(e.to.number)}
		}
		if e.from != nil {
			x.Flow = &index.Flow{Sent: int64(e.from.number), Received: n}
		}
		if e.slice != nil {
			x.Slice = &index.Slice{Begin: int64(e.slice[0].number), End: int64(e.slice[1].number)}
		}
		list = append(list, x)
	}
	return list, nil
}

// Search knows words only; the language is held to its own examples.
func (s *scene) Search(text string, after int64, limit int) (*index.Found, error) {
	f := &index.Found{Found: []index.Hit{}, Next: -1}
	for _, e := range s.events {
		held := strings.Contains(sceneClasses[e.class], text)
		for _, f := range e.fields {
			held = held || strings.Contains(f[1], text)
		}
		if int64(e.number) <= after || !held {
			continue
		}
		if len(f.Found) == min(limit, 16) { // several answers, so that the page has to go on
			f.Next = f.Found[len(f.Found)-1].Event
			return f, nil
		}
		f.Found = append(f.Found, index.Hit{Event: int64(e.number), At: e.at, Row: e.row, Class: e.class})
	}
	return f, nil
}

func (s *scene) Violations() *index.Violations {
	v := &index.Violations{Counts: [5]int64{156, 1, 1, 1, 1}}
	for _, c := range [][3]int{{8, 10, 55_000}, {9, 20, 55_000}, {7, 30, 5_000}, {10, 35, 5_000}} {
		p := s.links[c[0]][c[1]]
		delay := p[1].at - p[0].at
		low, high := delay-int64(c[2]), delay+int64(c[2])
		v.List = append(v.List, index.Violation{Verdict: index.Verdict(s.verdict(c[0], c[1])), Sent: p[0].at, Delay: delay, Low: &low, High: &high,
			From: int64(p[0].number), To: int64(p[1].number), Link: c[0]})
	}
	return v
}

func (s *scene) Plots() []show.Drawing {
	plot := func(title string) show.Drawing {
		return show.Drawing{Title: title, SVG: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 160"><rect width="400" height="160" fill="#eef"/><path d="M0 80Q200 20 400 100" stroke="#346" fill="none"/></svg>`}
	}
	return []show.Drawing{plot("web" + s.hostile), plot("db" + s.hostile), plot("client – web")}
}
