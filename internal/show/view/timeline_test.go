package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/show"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/trace"
)

// timelineOf is a timeline of indextest.TwoHosts, with a report whose every text is made with name.
func timelineOf(t *testing.T, path string, events int, name func(string) string) *Timeline {
	t.Helper()
	report := Report{Method: name("method"), Assumption: name("assumption"), Summary: name("summary"), Warnings: []string{name("warning")},
		Pairs: [][]string{{name("a"), name("b")}}, Left: []string{name("left")}, Plots: []show.Drawing{{Title: name("plot"), SVG: name("<svg/>")}},
		Hosts: []index.HostReport{{Reference: name("reference"), Offset: "1 s", Skew: "2 ppm", Bound: "3 s"}}}
	timeline, err := NewTimeline(indextest.TwoHosts(t, path, events, name, &report))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { timeline.Close() })
	return timeline
}

func TestOneFileHoldsWhatAboutSays(t *testing.T) {
	d := timelineOf(t, "", 30_000, indextest.Plain)
	o := unpack(t, written(t, d, 0))
	var about index.About
	if err := json.Unmarshal([]byte(o.elements["about"]), &about); err != nil {
		t.Fatal(err)
	}
	if want := d.About(); !reflect.DeepEqual(&about, want) {
		t.Errorf("%+v is not what it was: %+v", about, want)
	}
	var follow func(k key)
	follow = func(k key) {
		tile, found := o.tiles[k.String()]
		want, err := d.Tile(k.group, k.level, k.number)
		if err != nil || !found || !bytes.Equal(tile, want) {
			t.Fatalf("tile %v: in the file %v, %v", k, found, err)
		}
		if tile[0]&1 == 0 && k.level > 0 {
			follow(k.child(0))
			follow(k.child(1))
		}
	}
	for g := range 3 {
		follow(key{g, about.Top, 0})
	}
	for n, blocks := range o.contents.Events {
		var lists [][]index.Event
		if err := json.Unmarshal([]byte(o.elements[fmt.Sprintf("events-%d", n)]), &lists); err != nil {
			t.Fatal(err)
		}
		for i, b := range blocks {
			if want, err := d.Events(b*blockEvents, blockEvents); err != nil || !reflect.DeepEqual(lists[i], want) {
				t.Fatalf("block %d: %v", b, err)
			}
		}
	}
	if len(o.block) != (30_000+blockEvents-1)/blockEvents {
		t.Errorf("%d blocks in the file", len(o.block))
	}
}

func TestAnIndexFileKeepsTheReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "open.mvx")
	d := timelineOf(t, path, 100, indextest.Plain)
	if !IsIndex(path) || IsIndex("timeline_test.go") || IsIndex(t.TempDir()) {
		t.Error("an index is not known for one")
	}
	again, err := OpenIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if a := again.About(); !reflect.DeepEqual(a, d.About()) || a.Method != "method" || a.Hosts[0].Offset != "1 s" || a.Hosts[1].Name != "b" ||
		!slices.Equal(a.Warnings, []string{"warning"}) || !slices.Equal(a.Left, []string{"left"}) {
		t.Errorf("%+v", a)
	}
	if !reflect.DeepEqual(again.Plots(), []show.Drawing{{Title: "plot", SVG: "<svg/>"}}) {
		t.Errorf("%v", again.Plots())
	}
}

func TestNothingThatTheIndexLostIsSilent(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Host: "a", Parent: -1}}, Classes: make([]trace.Class, 1)}
	report := Report{Warnings: []string{"of the report"}}
	d, err := NewTimeline(indextest.Build(t, l, "", &report, func(b *index.Builder) error {
		return b.Write(&trace.TimelineEvent{Event: trace.Event{Phase: trace.Begin}, Map: -1})
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range 2 {
		if got := d.About().Warnings; len(got) != 2 || got[0] != "of the report" || !strings.Contains(got[1], "slices have no end") {
			t.Errorf("warnings %q", got)
		}
	}
}

func TestHostileTracesAreNoMarkupServedOrInAFile(t *testing.T) {
	for _, bad := range indextest.Hostile {
		d := timelineOf(t, "", 100, func(s string) string { return s + bad })
		page := written(t, d, 0)
		o := unpack(t, page)
		if strings.Count(page, "<script") != strings.Count(page, "</script>") || strings.Count(page, "<script") != len(o.elements)+1 {
			t.Errorf("%q changes the markup", bad)
		}
		h := Handler(d)
		for _, name := range []string{"about", "events?from=0&count=100", "violations", "plots", "search?q=value"} {
			r := ask(h, "/api/"+name, nil)
			answer := body(t, r)
			if r.StatusCode != 200 || !json.Valid([]byte(answer)) || strings.ContainsAny(answer, "<>\x00\u2028\u2029\x1b") {
				t.Errorf("%s of %q: %d %s", name, bad, r.StatusCode, answer)
			}
		}
	}
}

func TestANoteMustLieOnTheTimelineAndSaySomething(t *testing.T) {
	timeline, err := NewTimeline(indextest.TwoHosts(t, filepath.Join(t.TempDir(), "two.mvx"), 50, func(s string) string { return s }, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer timeline.Close()
	a := timeline.About()
	for _, note := range []struct {
		at    int64
		text  string
		valid bool
	}{{0, "first", true}, {a.Span, "last", true}, {-1, "before", false}, {a.Span + 1, "behind", false}, {0, "", false}, {0, strings.Repeat("ü", 500), true}, {0, strings.Repeat("ü", 501), false}} {
		if err := timeline.Note(a.Origin+clock.TimelineTime(note.at), note.text); (err == nil) != note.valid {
			t.Errorf("note %.20q at %d: %v", note.text, note.at, err)
		}
	}
	if notes := timeline.About().Notes; len(notes) != 3 || notes[1] != (index.Note{At: a.Span, Row: -1, Text: "last"}) {
		t.Errorf("notes %v", notes)
	}
}
