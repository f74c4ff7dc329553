package index

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// TestLiveAnswersLikeOneIndex splits a timeline by seals, mergers and restarts in any way: at any instant a view is to
// say what a Builder's index over the same records says.
func TestLiveAnswersLikeOneIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	testseed.Check(t, func(t *rapid.T) {
		x := drawTimeline(t, 3000)
		o := Options{risky: true, MinDelay: rapid.Int64Range(0, 100).Draw(t, "least delay")}
		n++
		at := filepath.Join(dir, fmt.Sprint(n))
		schema := *x.schema
		l, err := NewLive(at, &schema, o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { l.Close() }()
		seals := rapid.SampledFrom([]int{0, 1, 3, 12, 40}).Draw(t, "seals")
		looks := rapid.IntRange(0, len(x.records)).Draw(t, "look")
		r := random(rapid.Uint64().Draw(t, "seals at"))
		restarts := rapid.Bool().Draw(t, "restarts")
		for i := range x.records {
			if i == looks {
				compareLive(t, l, &timeline{x.schema, x.records[:i]}, o)
			}
			if err := l.Write(&x.records[i]); err != nil {
				t.Fatal(err)
			}
			if seals > 0 && r.n(int64(len(x.records))) < int64(seals) {
				l = sealAndMore(t, l, at, int64(i), &r, restarts, o)
			}
		}
		compareLive(t, l, x, o)
	})
}

// sealAndMore seals, and perhaps merges, or goes on in another process.
func sealAndMore(t *rapid.T, l *Live, dir string, i int64, r *random, restarts bool, o Options) *Live {
	if err := l.Seal([]byte(fmt.Sprint(i))); err != nil {
		t.Fatal(err)
	}
	if r.n(2) == 0 {
		for more := true; more; {
			var err error
			if more, err = l.Compact(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !restarts || r.n(4) > 0 {
		return l
	}
	events, _ := l.Events()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	schema := *l.Schema()
	schema.Hosts, schema.Streams = nil, nil
	l, resume, err := OpenLive(dir, &schema, o)
	if err != nil {
		t.Fatal(err)
	}
	if again, tail := l.Events(); string(resume) != fmt.Sprint(i) || again != events || tail != 0 {
		t.Fatalf("after event %d and %d in the index it goes on after %q, with %d and %d not sealed", i, events, resume, again, tail)
	}
	return l
}

// compareLive holds a view against the index of a Builder.
func compareLive(t *rapid.T, l *Live, of *timeline, o Options) {
	x := of.build(t, o)
	defer x.Close()
	v := l.View()
	defer v.Close()
	number := compareAbout(t, v, x)
	compareItems(t, v, x, number)
	for from := int64(-1); ; {
		text := rapid.SampledFrom([]string{"nginx", "n<0", "row=\"row 1\"", "name=\"class 2\" | x>1", "-text:a cpu=3"}).Draw(t, "query")
		got, err := v.Search(text, from, 50)
		want, err2 := x.Search(text, from, 50)
		if err != nil || err2 != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("search %q after %d: %v %v, want %v %v", text, from, got, err, want, err2)
		}
		if from = got.Next; from < 0 {
			break
		}
	}
	compareCounted(t, v, x, number)
	for from := int64(0); from <= x.events; from += mostEvents {
		got, err := v.Events(from, mostEvents)
		want, err2 := x.Events(from, mostEvents)
		if err != nil || err2 != nil || !reflect.DeepEqual(got, want) {
			for i := range min(len(got), len(want)) {
				g, _ := json.Marshal(got[i])
				if w, _ := json.Marshal(want[i]); string(g) != string(w) {
					t.Fatalf("an event is\n%s\nwant\n%s", g, w)
				}
			}
			t.Fatalf("events from %d: %d %v, want %d %v", from, len(got), err, len(want), err2)
		}
	}
}

// compareAbout returns the numbers in the view of the index's lanes.
func compareAbout(t failer, v *View, x *Index) map[int]int {
	a, b := *v.About(), *x.About()
	if !a.Live {
		t.Fatal("a view is not live")
	}
	a.Live = false
	number := make(map[int]int)
	plain := func(a *About, keep func(row, i, lane int)) {
		a.Rows = slices.Clone(a.Rows)
		for row := range a.Rows {
			lanes := slices.Clone(a.Rows[row].Lanes)
			for i := range lanes {
				keep(row, i, lanes[i].Lane)
				lanes[i].Lane = 0
			}
			a.Rows[row].Lanes = lanes
		}
		a.Links = slices.Clone(a.Links)
		for i := range a.Links {
			keep(-1, i, a.Links[i].Lane)
			a.Links[i].Lane = 0
		}
	}
	places := make(map[[2]int]int)
	plain(&a, func(row, i, lane int) { places[[2]int{row, i}] = lane })
	plain(&b, func(row, i, lane int) { number[lane] = places[[2]int{row, i}] })
	// What has no end yet is no fault of a timeline that grows: nothing warns of it there.
	toCome := func(line string) bool {
		return strings.HasSuffix(line, "slices have no end and are shown to the last instant") || strings.HasSuffix(line, "ends of messages are without their other end")
	}
	a.Warnings, b.Warnings = slices.DeleteFunc(slices.Clone(a.Warnings), toCome), slices.DeleteFunc(slices.Clone(b.Warnings), toCome)
	want, _ := json.Marshal(b)
	got, _ := json.Marshal(a)
	if string(got) != string(want) {
		t.Fatalf("about is\n%s\nwant\n%s", got, want)
	}
	list := *x.Violations()
	list.List = slices.Clone(list.List)
	for i := range list.List {
		list.List[i].Link = number[list.List[i].Link]
	}
	raw := *list.Raw
	raw.List = slices.Clone(raw.List)
	for i := range raw.List {
		raw.List[i].Link = number[raw.List[i].Link]
	}
	list.Raw = &raw
	if got := v.Violations(); len(got.List)+len(list.List) > 0 && !reflect.DeepEqual(*got, list) || got.Counts != list.Counts {
		t.Fatalf("violations are %v, want %v", got, list)
	}
	return number
}

// compareItems holds tiles of a view against all items of an index.
func compareItems(t *rapid.T, v *View, x *Index, number map[int]int) {
	items := make([][]item, len(v.lanes))
	for n := range x.lanes {
		items[number[n]] = everything(t, x, n)
	}
	groups := make([][]int, len(x.groups))
	for g := range x.groups {
		for _, n := range x.groups[g] {
			groups[g] = append(groups[g], number[n])
		}
		slices.SortFunc(groups[g], cmp.Compare)
	}
	v.mostTile = rapid.SampledFrom([]int{mostTile, mostTile, 20_000, 1000, 10}).Draw(t, "bytes of a tile")
	of := &subject{v, groups, v.mostTile, x.about.Span, viewLanes{v}.kind}
	for level := x.about.Top; level >= 0; level-- {
		last := x.about.Span >> (level + tileBits)
		numbers := []int64{0, last, last + 1}
		if last > 0 {
			numbers = append(numbers, rapid.Int64Range(0, last).Draw(t, "tile"))
		}
		for g := range groups {
			for _, i := range numbers {
				checkTile(t, of, items, g, level, i)
			}
		}
	}
}

func TestLiveIndexHasOneWriterAtATime(t *testing.T) {
	dir := t.TempDir()
	first, err := NewLive(dir, &trace.Schema{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenLive(dir, &trace.Schema{}, Options{}); err == nil || !strings.Contains(err.Error(), "another process writes to it") {
		t.Errorf("a second writer: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, _, err := OpenLive(dir, &trace.Schema{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatIsStillOpenIsNoWarningWhileTheTimelineGrows(t *testing.T) {
	l, err := NewLive(t.TempDir(), &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Name: "x", Host: "a", Parent: -1}}, Classes: []trace.Class{{Name: "e"}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i, e := range []trace.Event{{Phase: trace.Begin, Slice: 1}, {Flow: 3, Role: trace.Sends}} {
		e.Time = clock.HostTime(i)
		if err := l.Write(&trace.TimelineEvent{Event: e, Time: clock.TimelineTime(i), Map: -1}); err != nil {
			t.Fatal(err)
		}
	}
	v := l.View()
	defer v.Close()
	if w := v.About().Warnings; len(w) > 0 {
		t.Errorf("warnings %q", w)
	}
}
