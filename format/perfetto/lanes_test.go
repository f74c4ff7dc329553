package perfetto

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// span begins and ends a slice with a number on a row; events are sorted by whoever adds them in order.
type span struct {
	name       string
	begin, end clock.HostTime
}

// spans adds slices of a row, each with a class of its own, as a tracer would have recorded them.
func (s *story) spans(row int, all []span) {
	for t := clock.HostTime(0); t < 1000; t++ {
		for i, x := range all {
			if x.begin == t {
				s.Add(row, t, trace.Begin, uint64(i+1), x.name)
			}
		}
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].end == t {
				s.Add(row, t, trace.End, uint64(i+1), all[i].name)
			}
		}
	}
}

func TestSlicesThatOverlapAreMovedAsideAndOthersNest(t *testing.T) {
	for _, test := range []struct {
		name  string
		spans []span
		want  string
	}{
		{"apart", []span{{"a", 0, 10}, {"b", 20, 30}}, `"a" row 0; "b" row 0; `},
		{"touching", []span{{"a", 0, 10}, {"b", 11, 20}}, `"a" row 0; "b" row 0; `},
		{"nested", []span{{"a", 0, 10}, {"b", 2, 5}, {"c", 3, 4}, {"d", 6, 9}}, `"a" row 0; "b" row 1; "c" row 2; "d" row 1; `},
		{"overlapping", []span{{"a", 0, 10}, {"b", 5, 15}}, `"a" row 0; "b" row #2 0; `},
		{"nested beside overlapping", []span{{"a", 0, 10}, {"b", 5, 15}, {"c", 6, 9}, {"d", 7, 14}, {"e", 16, 17}},
			`"a" row 0; "b" row #2 0; "c" row 1; "d" row #2 1; "e" row 0; `},
		{"beginning together", []span{{"a", 0, 10}, {"b", 0, 5}}, `"a" row 0; "b" row 1; `},
		{"ending together", []span{{"a", 0, 10}, {"b", 5, 10}}, `"a" row 0; "b" row 1; `},
		{"open at the end", []span{{"a", 0, -1}, {"b", 5, -1}, {"c", 6, 7}}, `"a" row 0; "b" row 1; "c" row 2; `},
	} {
		s := newStory()
		s.spans(s.Row("h", "row", trace.Thread, 1, -1), test.spans)
		data, _ := s.write(t)
		got := ""
		for _, d := range draw(t, data) {
			got += fmt.Sprintf("%s %s %d; ", d.name, d.track[1:len(d.track)-1], d.depth)
			for _, x := range test.spans {
				if end := x.end; fmt.Sprintf("%q", x.name) == d.name {
					if end < 0 {
						end = clock.HostTime(s.Events[len(s.Events)-1].Time - start)
					}
					if d.begin != start+x.begin || d.end != start+end {
						t.Errorf("%s: %s is drawn from %d to %d", test.name, x.name, d.begin-start, d.end-start)
					}
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: %s", test.name, got)
		}
	}
}

func TestEndsOfOneStampInTheWrongOrderStayTheirOwn(t *testing.T) {
	s := newStory()
	row := s.Row("h", "row", trace.Thread, 1, -1)
	s.Add(row, 0, trace.Begin, 1, "a")
	s.Add(row, 5, trace.Begin, 2, "b")
	s.Class("return", eventtest.Field("status", trace.Int))
	s.Add(row, 10, trace.End, 1, "return", trace.OfInt(1)) // the outer one first, and both have something to say
	s.Add(row, 10, trace.End, 2, "return", trace.OfInt(2))
	data, tally := s.write(t)
	if d := draw(t, data); d[1].track != `"row #2"` || tally.Aside != 1 {
		t.Errorf("b lies on %s", d[1].track)
	}
}

func TestSlicesWithAndWithoutNumbersDoNotMix(t *testing.T) {
	s := newStory()
	row := s.Row("h", "row", trace.Thread, 1, -1)
	s.Add(row, 0, trace.Begin, 1, "a")
	s.Add(row, 1, trace.Begin, 0, "n")
	s.Add(row, 2, trace.Begin, 0, "m")
	s.Add(row, 3, trace.Begin, 2, "b")
	s.Add(row, 4, trace.End, 0, "m")
	s.Add(row, 5, trace.End, 1, "a")
	s.Add(row, 6, trace.End, 0, "n")
	s.Add(row, 7, trace.End, 2, "b")
	data, _ := s.write(t)
	if got, want := fmt.Sprint(draw(t, data)), fmt.Sprint([]drawn{
		{`"a"`, `"row"`, start, start + 5, 0}, {`"n"`, `"row #2"`, start + 1, start + 6, 0},
		{`"m"`, `"row #2"`, start + 2, start + 4, 1}, {`"b"`, `"row #3"`, start + 3, start + 7, 0},
	}); got != want {
		t.Errorf("drawn\n%s, not\n%s", got, want)
	}
}

func TestEndsWithoutBeginAndBeginsWithoutEndAreCounted(t *testing.T) {
	s := newStory()
	s.AddUnpaired()
	data, tally := s.write(t)
	if tally.LoneEnds != 2 || tally.Open != 4 || tally.Records != 7 {
		t.Errorf("%+v", tally)
	}
	for _, d := range draw(t, data) {
		if want := start + map[string]clock.HostTime{`"n"`: 9, `"a"`: 4, `"b"`: 9, `"c"`: 9}[d.name]; d.end != want {
			t.Errorf("%s ends at %d", d.name, d.end-start)
		}
	}
}

// TestEverySliceIsDrawnFromItsBeginToItsEnd holds for slices that overlap as they like, and whatever part of them the
// writer sees at once.
func TestEverySliceIsDrawnFromItsBeginToItsEnd(t *testing.T) {
	testseed.Check(t, func(rt *rapid.T) {
		s := newStory()
		rows := []int{s.Row("h", "one", trace.Thread, 1, -1), s.Row("h", "two", trace.Thread, 2, -1)}
		s.Class("return", eventtest.Field("status", trace.Int))
		type key struct {
			row  int
			name string
		}
		truth := map[key][2]clock.HostTime{}
		open := map[int][]int{} // numbers by row
		busy, most := map[int]int{}, map[int]int{}
		at := clock.HostTime(0)
		for i := range rapid.IntRange(1, 60).Draw(rt, "events") {
			at += clock.HostTime(rapid.IntRange(0, 2).Draw(rt, "step"))
			row := rapid.SampledFrom(rows).Draw(rt, "row")
			if k := len(open[row]); k > 0 && rapid.Bool().Draw(rt, "end") {
				j := rapid.IntRange(0, k-1).Draw(rt, "which")
				id := open[row][j]
				open[row] = append(open[row][:j:j], open[row][j+1:]...)
				name := fmt.Sprintf(`"s%d"`, id)
				truth[key{row, name}] = [2]clock.HostTime{truth[key{row, name}][0], at}
				if rapid.Bool().Draw(rt, "bare") {
					s.Add(row, at, trace.End, uint64(id), fmt.Sprintf("s%d", id))
				} else {
					s.Add(row, at, trace.End, uint64(id), "return", trace.OfInt(int64(id)))
				}
				busy[row]--
				continue
			}
			id := i + 1
			open[row] = append(open[row], id)
			truth[key{row, fmt.Sprintf(`"s%d"`, id)}] = [2]clock.HostTime{at, -1}
			s.Add(row, at, trace.Begin, uint64(id), fmt.Sprintf("s%d", id))
			busy[row]++
			most[row] = max(most[row], busy[row])
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, &s.Schema)
		if err != nil {
			rt.Fatal(err)
		}
		w.chunk = rapid.SampledFrom([]int{1, 100, 400, chunkSize}).Draw(rt, "chunk")
		eventtest.Write(rt, w, nil, s.Events)
		got := draw(t, out.Bytes())
		if len(got) != len(truth) {
			rt.Fatalf("%d slices drawn of %d", len(got), len(truth))
		}
		lanes := map[int]map[string]bool{0: {}, 1: {}}
		for _, d := range got {
			row := rows[0]
			if d.track[1:4] == "two" {
				row = rows[1]
			}
			lanes[row][d.track] = true
			want, ok := truth[key{row, d.name}]
			if want[1] < 0 {
				want[1] = clock.HostTime(s.Events[len(s.Events)-1].Time - start)
			}
			if !ok || d.begin-start != want[0] || d.end-start != want[1] {
				rt.Fatalf("%s on %s from %d to %d, recorded from %d to %d", d.name, d.track, d.begin-start, d.end-start, want[0], want[1])
			}
		}
		for _, row := range rows {
			if len(lanes[row]) > max(1, most[row]) {
				rt.Fatalf("%d tracks for %d slices at once", len(lanes[row]), most[row])
			}
		}
		if held := len(w.lanes.slices) - len(w.lanes.free); held != 0 {
			rt.Fatalf("%d slices are still held", held)
		}
	})
}
