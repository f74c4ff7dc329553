package view

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"meridian/internal/cause"
	"meridian/internal/cause/thread"
	"meridian/internal/show/index"
	"meridian/trace"
)

// causeSource is what requests are found in: a timeline, or a picture of one that grows.
type causeSource interface {
	About() *index.About
	Fields(class int) []trace.Field
	Events(from int64, n int) ([]index.Event, error)
	Items(lane int, from, to int64, see func(*index.Item)) error
	Identifiers(from int64, names []string, see func(event int64, ids []uint64)) error
	Scan(from int64, wanted func(class int) bool, see func(*index.Scanned) error) error
}

// causes are the requests of a timeline and what their paths need. They are made when they are first asked for.
type causes struct {
	once          sync.Once
	of            causeSource
	about         *index.About
	walking       sync.Mutex // a path is found by one at a time
	err           error
	model         *cause.Model
	list          []cause.Request
	paths         *cause.Paths
	groups        []requestGroup
	groupOf       []int32 // of each request
	texts         map[string]int32
	threads       *thread.World
	world         *thread.World // the same; nil where no packets are recorded
	most          int           // packets that are held
	mostOfThreads int           // events of threads; 0 stands for threadEvents each of these
	upTo          int64         // the instant after which no packet was read, 0 if all were
	first         int64         // event from which on requests are found
	late          []lateEvent   // of slices, in order of their events
	wrong         contradictions
	lost          *Lost
	traffic       map[[2]int]*arrivals // by the hosts of both ends
	since         int64                // its instant, 0 if it is the first of all
}

// groupKey is what like requests have in common.
type groupKey struct {
	class, client, server int
	name, peer            int32
	clientAddress         int32 // as of requests
	serverAddress         int32
}

// mostSlices bounds the slices of the clients of exchanges that are held while these are named.
const mostSlices = 4 << 20

// causesOf returns the requests of the timeline.
func (t *Timeline) causesOf() (*causes, error) {
	c := &t.causes
	c.once.Do(func() { c.err = c.build(t) })
	return c, c.err
}

// build finds the requests. Those of the events before c.first are left out.
func (c *causes) build(t causeSource) error {
	a := t.About()
	c.of, c.about = t, a
	m := &cause.Model{MinDelay: a.MinDelay, Bounds: boundsOf(a)}
	c.model = m
	for i := range a.Rows {
		m.Hosts = append(m.Hosts, a.Rows[i].Host)
	}
	m.Slices = func(row int, from, to int64) (list []cause.Slice) {
		for _, l := range a.Rows[row].Lanes {
			if l.Kind != "slices" {
				continue
			}
			// What came late is shown up to as much later.
			err := t.Items(l.Lane, from, to+a.Late, func(it *index.Item) {
				if s := c.sliceOf(it, row, l.Depth); s.Begin < to && s.End >= from || a.Late == 0 {
					list = append(list, s)
				}
			})
			c.err = cmp.Or(c.err, err)
		}
		return list
	}
	if err := c.readLate(); err != nil {
		return err
	}
	w, err := readWires(t, a, m, c.first, cmp.Or(c.most, DefaultPackets), cmp.Or(c.mostOfThreads, threadEvents*cmp.Or(c.most, DefaultPackets)))
	if err != nil {
		return err
	}
	if err := c.readMessages(w.upTo); err != nil {
		return err
	}
	m.Texts, c.texts = []string{""}, map[string]int32{"": 0}
	c.upTo, c.threads = w.upTo, w.world
	if w.set != nil {
		w.replace(m)
		m.Found = w.requests(c.text)
		c.lost = lostOf(w.set.Unanswered())
		c.traffic = w.traffic()
	}
	if err := c.ends(); err != nil {
		return err
	}
	c.list = m.Requests()
	c.check()
	if err := c.name(); err != nil {
		return err
	}
	c.paths = cause.NewPaths(m, c.list)
	if w.set != nil {
		c.world = w.world
		c.paths.Walk = w.path
	}
	c.group()
	return nil
}

// readMessages reads the messages. Of those that are ends of packets or of lists, none that was sent at upTo or later is read, unless that is 0: without
// its packets nothing tells one connection's messages from another's, and they would take the memory that the limit of packets is for.
func (c *causes) readMessages(upTo int64) error {
	m, a := c.model, c.about
	parts := make([]slab[cause.Message], len(a.Links))
	err := onAllProcessors(len(parts), func(i int) error {
		l, end := &a.Links[i], int64(1<<62)
		if upTo > 0 && a.Rows[l.From].Kind == messageRow && a.Rows[l.To].Kind == messageRow {
			end = upTo
		}
		return c.of.Items(l.Lane, c.since, end, func(it *index.Item) {
			parts[i].add(cause.Message{From: l.From, To: l.To, Sent: it.At, Received: it.To, SentEvent: it.Event, ReceivedEvent: it.Other})
		})
	})
	m.Messages = joined(parts)
	return err
}

// onAllProcessors calls do for each of n numbers, of several at once.
func onAllProcessors(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// slab is a list that grows in pieces, so that nothing is copied meanwhile.
type slab[T any] struct {
	full [][]T
	last []T
}

const inSlab = 4096

func (s *slab[T]) add(x T) {
	if len(s.last) == cap(s.last) {
		if s.last != nil {
			s.full = append(s.full, s.last)
		}
		s.last = make([]T, 0, inSlab)
	}
	s.last = append(s.last, x)
}

// joined returns what is in several, in their order.
func joined[T any](list []slab[T]) []T {
	var parts [][]T
	for i := range list {
		parts = append(append(parts, list[i].full...), list[i].last)
	}
	return slices.Concat(parts...)
}

// messageRow is the kind of rows of ends of messages that no recorded event is.
var messageRow = trace.Messages.String()

// mostTexts bounds the names of requests; more are one name, "other requests".
const mostTexts = 1 << 20

// text numbers a name of requests.
func (c *causes) text(s string) int32 {
	n, known := c.texts[s]
	if !known {
		if len(c.texts) >= mostTexts && s != "other requests" {
			return c.text("other requests")
		}
		n = int32(len(c.model.Texts))
		c.model.Texts, c.texts[s] = append(c.model.Texts, s), n
	}
	return n
}

// requestGroup is like requests: of one name, between two hosts.
type requestGroup struct {
	groupKey
	members []int32 // in order of their begin
	median  int64   // of their totals
}

func (c *causes) group() {
	at := make(map[groupKey]int32)
	c.groupOf = make([]int32, len(c.list))
	for i := range c.list {
		key := c.keyOf(&c.list[i])
		g, known := at[key]
		if !known {
			g = int32(len(c.groups))
			at[key] = g
			c.groups = append(c.groups, requestGroup{groupKey: key})
		}
		c.groupOf[i] = g
		c.groups[g].members = append(c.groups[g].members, int32(i))
	}
	for g := range c.groups {
		x := &c.groups[g]
		totals := make([]int64, len(x.members))
		for k, i := range x.members {
			totals[k] = c.list[i].Total()
		}
		slices.Sort(totals)
		x.median = totals[(len(totals)-1)/2]
	}
}

func (c *causes) keyOf(r *cause.Request) groupKey {
	key := groupKey{class: r.Class, client: c.model.Hosts[r.Client], server: c.model.Hosts[r.Server], name: r.Name, peer: r.Peer,
		clientAddress: r.ClientAddress, serverAddress: r.ServerAddress}
	if key.name != 0 {
		key.class = -1
		if name := c.model.Texts[key.name]; strings.Contains(name, "/") {
			// What follows the path names one of many that are alike.
			if path, _, is := strings.Cut(name, "?"); is && strings.Contains(path, "/") {
				key.name = c.text(path)
			}
		}
	}
	return key
}

// sliceOf returns a slice at the instants at which it began and ended, which are before those at which it is shown
// where its events came late.
func (c *causes) sliceOf(it *index.Item, row, depth int) cause.Slice {
	s := cause.Slice{Begin: it.At, End: it.To, Row: row, Depth: depth, Class: it.Class, Event: it.Event, Last: it.Other}
	if len(c.late) > 0 {
		s.Begin = c.ownInstant(it.Event, s.Begin)
		s.End = max(s.Begin, c.ownInstant(it.Other, s.End))
	}
	return s
}

// lateEvent is an event that came after later ones, and when it happened.
type lateEvent struct{ event, own int64 }

// readLate finds the events of slices that came late.
func (c *causes) readLate() error {
	if c.about.Late == 0 {
		return nil
	}
	return c.of.Scan(c.first, func(int) bool { return true }, func(e *index.Scanned) error {
		if e.Own != e.At && (e.Phase == trace.Begin || e.Phase == trace.End) {
			c.late = append(c.late, lateEvent{e.Event, e.Own})
		}
		return nil
	})
}

// ownInstant returns when an event happened that is shown at an instant.
func (c *causes) ownInstant(event, shown int64) int64 {
	i, late := slices.BinarySearchFunc(c.late, event, func(x lateEvent, event int64) int { return cmp.Compare(x.event, event) })
	if !late {
		return shown
	}
	return c.late[i].own
}

// ends finds the slices that messages begin or end, and the spans.
func (c *causes) ends() error {
	m, t, a := c.model, c.of, c.about
	err := t.Identifiers(c.first, []string{"span_id", "trace_id", "parent_span_id"}, func(event int64, ids []uint64) {
		if ids[0] != 0 {
			m.Spans.Name(event, cause.Span{Trace: ids[1], ID: ids[0], Parent: ids[2]})
		}
	})
	if err != nil {
		return err
	}
	touched, linked := make([]bool, a.Events), make([]bool, len(a.Rows))
	for i := range m.Messages {
		x := &m.Messages[i]
		for _, event := range [...]int64{x.SentEvent, x.ReceivedEvent} {
			if event >= 0 && event < a.Events {
				touched[event] = true
			}
		}
		linked[x.From], linked[x.To] = true, true
	}
	type laneOf struct{ row, depth, lane int }
	var lanes []laneOf
	for row := range a.Rows {
		if !linked[row] && m.Spans.Len() == 0 {
			continue
		}
		for _, l := range a.Rows[row].Lanes {
			if l.Kind == "slices" {
				lanes = append(lanes, laneOf{row, l.Depth, l.Lane})
			}
		}
	}
	ends, inner := make([]slab[cause.Slice], len(lanes)), make([]slab[cause.Slice], len(lanes))
	err = onAllProcessors(len(lanes), func(i int) error {
		l := &lanes[i]
		return t.Items(l.lane, c.since, 1<<62, func(it *index.Item) {
			if it.Event >= 0 && it.Event < a.Events && touched[it.Event] || it.Other >= 0 && it.Other < a.Events && touched[it.Other] {
				ends[i].add(c.sliceOf(it, l.row, l.depth))
			} else if m.Spans.Has(it.Event) {
				inner[i].add(c.sliceOf(it, l.row, l.depth))
			}
		})
	})
	m.Ends, m.Inner = joined(ends), joined(inner)
	return err
}

// name gives exchanges the name of the deepest slice of the client that holds all of them.
func (c *causes) name() error {
	t, a := c.of, c.about
	clients := make(map[int][]int)
	for i := range c.list {
		if r := &c.list[i]; r.Kind != cause.KindSpan {
			clients[r.Client] = append(clients[r.Client], i)
		}
	}
	for row, list := range clients {
		for _, l := range a.Rows[row].Lanes {
			if l.Kind != "slices" || l.Items > mostSlices {
				continue
			}
			var lane []cause.Slice // in order, and without overlaps
			if err := t.Items(l.Lane, c.since, 1<<62, func(it *index.Item) { lane = append(lane, c.sliceOf(it, row, l.Depth)) }); err != nil {
				return err
			}
			if len(c.late) > 0 {
				slices.SortStableFunc(lane, func(x, y cause.Slice) int { return cmp.Compare(x.Begin, y.Begin) })
			}
			for _, i := range list {
				r := &c.list[i]
				k, _ := slices.BinarySearchFunc(lane, r.Begin, func(s cause.Slice, at int64) int {
					if s.Begin <= at {
						return -1
					}
					return 1
				})
				if k > 0 && lane[k-1].End >= r.End {
					r.Class = lane[k-1].Class // lanes come in order of depth
				}
			}
		}
	}
	return nil
}

// boundsOf returns the bounds of instants by the corners of their rows' clocks, with the step of the stamps.
func boundsOf(a *index.About) func(row int, at int64) cause.Bounds {
	return func(row int, at int64) cause.Bounds {
		r := &a.Rows[row]
		number := r.Clock
		for i := range r.Clocks {
			if i == 0 || r.Clocks[i].At <= at {
				number = r.Clocks[i].Clock
			}
		}
		if number < 0 {
			return cause.Bounds{Above: max(0, a.Step-1), Known: true}
		}
		k := &a.Clocks[number]
		if !k.Low || !k.High || len(k.Corners) == 0 {
			return cause.Bounds{}
		}
		below, above := cornersAt(k.Corners, at)
		return cause.Bounds{Below: below, Above: above + max(0, k.Granularity-1), Known: true}
	}
}

// cornersAt interpolates the bounds between corners, rounded outwards.
func cornersAt(list []index.Corner, at int64) (below, above int64) {
	i, _ := slices.BinarySearchFunc(list, at, func(c index.Corner, at int64) int {
		if c.At <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return list[0].Below, list[0].Above
	}
	x := &list[i-1]
	if i == len(list) {
		return x.Below, x.Above
	}
	y := &list[i]
	part := float64(at-x.At) / float64(y.At-x.At)
	between := func(a, b int64) int64 {
		if a == b {
			return a
		}
		return min(max(a, b), a+int64(float64(b-a)*part)+1)
	}
	return between(x.Below, y.Below), between(x.Above, y.Above)
}
