package view

import (
	"encoding/binary"
	"net/http/httptest"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/trace"
)

// grower writes events of hosts that appear.
type grower struct {
	t      *testing.T
	schema trace.Schema
	index  *index.Live
}

func newGrower(t *testing.T) *grower {
	g := &grower{t: t, schema: trace.Schema{Classes: []trace.Class{{Name: "event"}}}}
	var err error
	if g.index, err = index.NewLive(t.TempDir(), &g.schema, index.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.index.Close() })
	return g
}

func (g *grower) host(name string) {
	g.schema.Hosts = append(g.schema.Hosts, name)
	g.schema.Streams = append(g.schema.Streams, trace.Stream{Name: "row", Host: name, Kind: trace.Thread, Parent: -1})
}

func (g *grower) event(host int, at int64, flow uint64, role trace.Role) {
	r := trace.TimelineEvent{Event: trace.Event{Stream: host, Flow: flow, Role: role}, Host: host, Map: -1, Time: clock.TimelineTime(at)}
	if err := g.index.Write(&r); err != nil {
		g.t.Fatal(err)
	}
}

// TestPageOfFewerHostsGetsItsLinks asks for the links by the number that they had before a host appeared.
func TestPageOfFewerHostsGetsItsLinks(t *testing.T) {
	g := newGrower(t)
	g.host("a")
	g.event(0, 0, 1, trace.Sends)
	g.event(0, 10, 1, trace.Receives)
	g.host("b")
	g.event(1, 20, 0, trace.NoRole)
	live := NewLive()
	if err := live.Publish(g.index.View(), &Report{}, Status{}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(Handler(live))
	defer server.Close()
	for path, mode := range map[string]int{"tiles?hosts=1&keys=1.0.0": 3, "tiles?hosts=2&keys=2.0.0": 3, "tiles?keys=1.0.0": 0} {
		status, body := answered(t, server.URL, path)
		b := []byte(body)
		if status != 200 {
			t.Fatalf("%s: %d %s", path, status, body)
		}
		if n := binary.LittleEndian.Uint32(b); int(n) != len(b)-4 {
			t.Fatalf("%s: %d bytes of %d", path, n, len(b))
		}
		tile, err := index.DecodeTile(b[4:], 0, 0)
		if err != nil || len(tile.Lanes) != 1 || tile.Lanes[0].Mode != mode || !tile.Open {
			t.Errorf("%s: %+v %v, want one lane of mode %d", path, tile, err, mode)
		}
	}
}

// TestLateMessageIsToldAsAChange receives a message long after it was sent: what it changes had been settled.
func TestLateMessageIsToldAsAChange(t *testing.T) {
	g := newGrower(t)
	g.host("a")
	g.event(0, 0, 0, trace.NoRole)
	g.event(0, 1e9, 1, trace.Sends)
	g.event(0, 9e9, 0, trace.NoRole)
	first := g.index.View()
	g.event(0, 10e9, 1, trace.Receives)
	second := g.index.View()
	g.event(0, 11e9, 0, trace.NoRole)
	third := g.index.View()
	for _, x := range []struct {
		v     *index.View
		since *index.View
		want  int64
	}{{first, first, -1}, {second, first, 1e9}, {third, first, 1e9}, {third, second, -1}} {
		if g := x.v.Growth(x.since.Growth(0).Version); g.Changed != x.want {
			t.Errorf("changed from %d on, want %d", g.Changed, x.want)
		}
	}
	tile, err := first.Tile(0, 20, 0)
	if d, err2 := index.DecodeTile(tile, 20, 0); err != nil || err2 != nil || d.Open {
		t.Errorf("a tile of the first second is not settled after nine: %v %v", err, err2)
	}
	for _, v := range []*index.View{first, second, third} {
		v.Close()
	}
}
