//go:build !race

package viewtest

import (
	"fmt"
	"net"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/trace"
)

// liveBegin is the first instant of a liveScene, ns since 1970.
const liveBegin = 1_700_000_000_000_000_000

// liveScene is a timeline that grows when a test says so. Instants are ns since its first.
type liveScene struct {
	t      *testing.T
	schema *trace.Schema
	index  *index.Live
	live   *view.Live
	events int
	lost   int64
	late   int64
	// bounded: instants are exact, so that what is received before it was sent is certain
	bounded bool
}

func newLiveScene(t *testing.T) *liveScene {
	t.Helper()
	s := &liveScene{t: t, live: view.NewLive(), schema: &trace.Schema{Title: "live",
		Classes: []trace.Class{{Name: "request", Category: "web"}, {Name: "send", Category: "net"}, {Name: "receive", Category: "net"}}}}
	s.host("web", "nginx")
	x, err := index.NewLive(t.TempDir(), s.schema, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.index = x
	t.Cleanup(func() {
		if err := s.live.Close(); err != nil {
			t.Error(err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// host adds a host with rows.
func (s *liveScene) host(name string, rows ...string) {
	s.schema.Hosts = append(s.schema.Hosts, name)
	for _, row := range rows {
		s.row(name, row)
	}
}

func (s *liveScene) row(host, name string) {
	s.schema.Streams = append(s.schema.Streams, trace.Stream{Name: name, Host: host, Kind: trace.Process, ID: int64(len(s.schema.Streams)), Parent: -1})
}

// write adds an event; class 0 is a request, others are ends of the message flow.
func (s *liveScene) write(at int64, row, class int, flow uint64) {
	s.t.Helper()
	role := trace.NoRole
	if flow > 0 {
		role = []trace.Role{trace.NoRole, trace.Sends, trace.Receives}[class]
	}
	e := trace.TimelineEvent{Time: clock.TimelineTime(liveBegin + at), Map: -1,
		Event: trace.Event{Time: clock.HostTime(liveBegin + at), Stream: row, Class: class, Flow: flow, Role: role}}
	if s.bounded {
		e.Bounded, e.Low, e.High = true, e.Time, e.Time
	}
	for i, name := range s.schema.Hosts {
		if name == s.schema.Streams[row].Host {
			e.Host = i
		}
	}
	if err := s.index.Write(&e); err != nil {
		s.t.Fatal(err)
	}
	s.events++
}

// requests adds one on row 0 for each step of [from, to).
func (s *liveScene) requests(from, to, step int64) {
	s.t.Helper()
	for at := from; at < to; at += step {
		s.write(at, 0, 0, 0)
	}
}

// publish shows what there is now.
func (s *liveScene) publish(now int64) {
	s.t.Helper()
	status := view.Status{Now: clock.TimelineTime(liveBegin + now), Behind: 200_000_000, Frame: 50_000_000, Lost: s.lost, Late: s.late}
	report := &view.Report{Summary: "live"}
	for range s.schema.Hosts {
		status.Hosts = append(status.Hosts, view.HostStatus{Behind: 200_000_000, Bound: "±12 µs"})
		report.Hosts = append(report.Hosts, index.HostReport{Bound: "±12 µs", Addresses: []string{}})
	}
	if err := s.live.Publish(s.index.View(), report, status); err != nil {
		s.t.Fatal(err)
	}
}

// breaking is a listener whose connections can be cut.
type breaking struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (b *breaking) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err == nil {
		b.mu.Lock()
		b.conns = append(b.conns, c)
		b.mu.Unlock()
	}
	return c, err
}

// cut closes all connections, as a network that fails does.
func (b *breaking) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		_ = c.Close() // some are closed already
	}
	b.conns = nil
}

// follow serves a live scene and opens its page.
func (b *panelBrowser) follow(t *testing.T, s *liveScene, motion string) (*panelPage, *breaking) {
	t.Helper()
	server := httptest.NewUnstartedServer(view.Handler(s.live))
	cut := &breaking{Listener: server.Listener}
	server.Listener = cut
	server.Start()
	t.Cleanup(func() { cut.cut(); server.Close() }) // the page's stream of events does not end by itself
	p := b.address(t, server.URL+"/", "light")
	if motion != "reduce" {
		if err := enable(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: "light"}, {Name: "prefers-reduced-motion", Value: motion}}}); err != nil {
			t.Fatal(err)
		}
	}
	return p, cut
}

// seen says how many items of a row's or link's lane are in the tiles that are drawn, from when to when. It is JavaScript: group, lane, from, to.
func seen(group int, lane string, from, to int64) string {
	return fmt.Sprintf(`((group, lane, from, to) => {
		const { view, plot, data, about } = meridian, level = Math.max(0, Math.min(about.top, Math.floor(Math.log2((view.to - view.from) / plot.width))));
		let n = 0, before = null;
		for (let i = Math.floor(from / 2 ** (level + 10)); i <= Math.floor(to / 2 ** (level + 10)); i++) {
			const tile = data.best(group, level, i), l = tile?.lanes.get(lane);
			if (l && tile !== before) for (let k = 0; k < l.n; k++) {
				const at = l.mode < 4 ? l.at[k] : tile.from + l.at[k] * tile.width;
				if (at >= from && at < to) n += l.mode < 4 ? 1 : l.count[k];
			}
			before = tile;
		}
		return n;
	})(%d, %s, %d, %d)`, group, lane, from, to)
}
