package index

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// Where a row's events came by several clocks, each event's is found, but for those of several at one instant; and rows of
// which that cannot be said are counted.
func TestARowTellsByWhichClockEachOfItsEventsCame(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		l := &trace.Schema{Hosts: []string{"a"}, Classes: make([]trace.Class, 1), Streams: []trace.Stream{{Host: "a", Parent: -1}, {Host: "a", Parent: -1}}}
		clocks := rapid.IntRange(1, 4).Draw(t, "clocks")
		for range clocks {
			m := clock.Identity()
			l.Maps = append(l.Maps, trace.HostMap{Map: &m})
		}
		change := rapid.SampledFrom([]int64{1, 2, 50}).Draw(t, "change")
		x := &timeline{schema: l}
		r, at := random(rapid.Uint64().Draw(t, "seed")), int64(0)
		by := []int{0, 0}
		changes := []int{0, 0}
		for range rapid.IntRange(0, 1500).Draw(t, "events") {
			at += r.n(3)
			row := int(r.n(2))
			if r.n(change) == 0 {
				if now := int(r.n(int64(clocks+1))) - 1; now != by[row] {
					by[row] = now
					changes[row]++
				}
			}
			x.records = append(x.records, trace.TimelineEvent{Event: trace.Event{Stream: row}, Time: clock.TimelineTime(at), Map: by[row]})
		}
		n := x.build(t, Options{})
		defer n.Close()
		type instant struct {
			row int
			at  int64
		}
		last, rows := make(map[instant]int), n.About().Rows
		for i := range x.records {
			last[instant{x.records[i].Stream, int64(x.records[i].Time - x.records[0].Time)}] = x.records[i].Map
		}
		mixed := len(n.About().Warnings) > 0
		if mixed && (!strings.Contains(n.About().Warnings[0], "several clocks in turns") || max(changes[0], changes[1]) < mostRowRuns) {
			t.Fatalf("%q after %v changes", n.About().Warnings, changes)
		}
		for where, want := range last {
			row := &rows[where.row]
			if got := row.ClockAt(where.at); got != want && !(mixed && row.Clocks == nil) {
				t.Fatalf("at %+v the clock is %d of %+v, want %d", where, got, row.Clocks, want)
			}
		}
		for _, row := range rows {
			if len(row.Clocks) == 1 || !sound(row.Clocks, n.About().Span, clocks) {
				t.Fatalf("runs %+v", row.Clocks)
			}
		}
	})
}

// A capture whose clock was set back comes as streams of one name: they are one row, which no time of it is missing from.
func TestStretchesOfOneDeviceAreOneRow(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"a", "b"}, Classes: make([]trace.Class, 1), Streams: []trace.Stream{
		{Name: "packets", Host: "a", Kind: trace.Device, Parent: -1}, {Name: "packets", Host: "a", Kind: trace.Device, Parent: -1},
		{Name: "packets", Host: "b", Kind: trace.Device, Parent: -1}, {Name: "packets", Host: "a", Kind: trace.Thread, Parent: -1}}}
	for range 2 {
		m := clock.Identity()
		l.Maps = append(l.Maps, trace.HostMap{Map: &m})
	}
	x := &timeline{schema: l}
	for i := range 4 {
		x.records = append(x.records, trace.TimelineEvent{Event: trace.Event{Stream: i}, Time: clock.TimelineTime(10 * i), Host: i % 3 / 2, Map: i % 2})
	}
	n := x.build(t, Options{})
	defer n.Close()
	rows := n.About().Rows
	if len(rows) != 3 || rows[0].Events != 2 || rows[1].Host != 1 || rows[2].Kind != "thread" {
		t.Fatalf("rows %+v", rows)
	}
	if c := rows[0].Clocks; len(c) != 2 || c[0] != (Run{0, 0}) || c[1] != (Run{10, 1}) {
		t.Errorf("runs %+v", c)
	}
}
