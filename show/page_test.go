package show

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/trace"
)

// opened is a page taken apart again: what page/decode.js makes of it, in Go.
type opened struct {
	facts    facts
	corners  [][]corner // instants from the base
	marks    [][]int64
	texts    [][]string
	channels [][]trace.Message
	density  [][]uint64 // per row, then per channel messages and inverted
	steps    int
}

func openPage(t testing.TB, page string) *opened {
	t.Helper()
	between := func(before, after string) string {
		_, rest, ok1 := strings.Cut(page, before)
		text, _, ok2 := strings.Cut(rest, after)
		if !ok1 || !ok2 {
			t.Fatalf("the page has no %q", before)
		}
		return text
	}
	o := &opened{}
	if err := json.Unmarshal([]byte(between(`id="facts">`, "</script>")), &o.facts); err != nil {
		t.Fatal(err)
	}
	small := base64.NewDecoder(base64.StdEncoding, strings.NewReader(between(`id="columns">`, "</script>")))
	data, err := io.ReadAll(flate.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(data)
	u := func() uint64 {
		v, err := binary.ReadUvarint(in)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	s := func() int64 {
		v, err := binary.ReadVarint(in)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for range o.facts.Rows {
		corners := make([]corner, u())
		for i := range corners {
			if i == 0 {
				corners[i].at = s()
			} else {
				corners[i].at = corners[i-1].at + int64(u())
			}
		}
		for i, last := 0, int64(0); i < len(corners); i++ {
			last += s()
			corners[i].below = last
		}
		for i, last := 0, int64(0); i < len(corners); i++ {
			last += s()
			corners[i].above = last
		}
		o.corners = append(o.corners, corners)
		marks := make([]int64, u())
		for i, last := 0, int64(0); i < len(marks); i++ {
			last += int64(u())
			marks[i] = last
		}
		for range marks {
			s()
		}
		o.marks = append(o.marks, marks)
		var texts []string
		if u() == 1 {
			lengths := make([]uint64, len(marks))
			for i := range lengths {
				lengths[i] = u()
			}
			for _, n := range lengths {
				text := make([]byte, n)
				if _, err := io.ReadFull(in, text); err != nil {
					t.Fatal(err)
				}
				texts = append(texts, string(text))
			}
		}
		o.texts = append(o.texts, texts)
	}
	for range o.facts.Channels {
		messages := make([]trace.Message, u())
		for i, last := 0, int64(0); i < len(messages); i++ {
			last += int64(u())
			messages[i].Sent = last
		}
		for i := range messages {
			messages[i].Received = messages[i].Sent + s()
		}
		o.channels = append(o.channels, messages)
	}
	o.steps = int(u())
	for range o.facts.Rows {
		o.density = append(o.density, o.lane(u))
	}
	for range 2 * len(o.facts.Channels) {
		o.density = append(o.density, o.lane(u))
	}
	if in.Len() != 0 {
		t.Fatalf("%d bytes follow the columns", in.Len())
	}
	return o
}

func (o *opened) lane(u func() uint64) []uint64 {
	if o.steps == 0 {
		return nil
	}
	counts := make([]uint64, o.steps)
	places := make([]uint64, u())
	for i, last := 0, uint64(0); i < len(places); i++ {
		last += u()
		places[i] = last
	}
	for _, p := range places {
		counts[p] = u()
	}
	return counts
}

func render(t testing.TB, timeline *Timeline, budget int64) *opened {
	t.Helper()
	var out bytes.Buffer
	if err := timeline.writePage(&out, budget); err != nil {
		t.Fatal(err)
	}
	return openPage(t, out.String())
}

// truth lists all events and messages of a timeline from its first instant on, by brute force.
func truth(t *Timeline) (marks [][]int64, channels [][]trace.Message) {
	first := int64(1<<63 - 1)
	for _, r := range t.Rows {
		var row []int64
		for _, at := range r.Events {
			row = append(row, r.Map.At(at))
		}
		slices.Sort(row)
		first = min(first, row[0])
		marks = append(marks, row)
	}
	for _, c := range t.Channels {
		var messages []trace.Message
		for _, m := range c.Messages {
			messages = append(messages, trace.Message{Sent: t.Rows[c.From].Map.At(m.Sent), Received: t.Rows[c.To].Map.At(m.Received)})
		}
		slices.SortFunc(messages, func(a, b trace.Message) int {
			if a.Sent != b.Sent {
				return int(a.Sent - b.Sent)
			}
			return int(a.Received - b.Received)
		})
		channels = append(channels, messages)
	}
	for _, row := range marks {
		for i := range row {
			row[i] -= first
		}
	}
	for _, messages := range channels {
		for i := range messages {
			messages[i].Sent -= first
			messages[i].Received -= first
		}
	}
	return marks, channels
}

func TestSmallTimelinesAreEmbeddedToTheNanosecond(t *testing.T) {
	timeline := synthetic{hosts: 4, messages: 3000, span: 5e9, delay: 1e5, inverted: 9, width: 5e4, seed: 8}.timeline()
	o := render(t, timeline, maxEvents)
	marks, channels := truth(timeline)
	if !reflect.DeepEqual(o.marks, marks) {
		t.Error("the marks are not the events")
	}
	if !reflect.DeepEqual(o.channels, channels) {
		t.Error("the arrows are not the messages")
	}
	if o.steps != 0 || len(o.facts.Left) != 0 {
		t.Errorf("%d steps of density, left out: %q", o.steps, o.facts.Left)
	}
}

func TestWhatIsLeftOutIsCountedAndWindowsAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := synthetic{
			hosts: rapid.IntRange(2, 5).Draw(t, "hosts"), messages: rapid.IntRange(200, 2000).Draw(t, "messages"),
			span: rapid.SampledFrom([]int64{1000, 1e6, 1e9, 1e15}).Draw(t, "span"), delay: rapid.Int64Range(1, 1e6).Draw(t, "delay"),
			inverted: rapid.IntRange(0, 100).Draw(t, "inverted"), seed: rapid.Uint64().Draw(t, "seed"),
		}
		s.width = max(4, s.span/1000) // the bounds of a map must not run backwards
		budget := rapid.Int64Range(1, 1500).Draw(t, "budget")
		timeline := s.timeline()
		var out bytes.Buffer
		if err := timeline.writePage(&out, budget); err != nil {
			t.Fatal(err)
		}
		o := openPage(&testing.T{}, out.String())
		marks, channels := truth(timeline)
		in := func(at int64) bool {
			return slices.ContainsFunc(o.facts.Windows, func(w [2]float64) bool { return float64(at) >= w[0] && float64(at) <= w[1] })
		}
		events := int64(0)
		for row := range marks {
			want := marks[row]
			if !o.facts.Embedded.AllEvents {
				want = slices.DeleteFunc(slices.Clone(want), func(at int64) bool { return !in(at) })
			}
			if !slices.Equal(o.marks[row], want) {
				t.Fatalf("row %d: %d marks, %d events in windows", row, len(o.marks[row]), len(want))
			}
			events += int64(len(want))
		}
		if !o.facts.Embedded.AllEvents && events > budget {
			t.Fatalf("%d events embedded, the budget is %d", events, budget)
		}
		// Stamps of a nanosecond may look early by that and by the maps' rounding.
		inverted := func(m trace.Message) bool { return m.Received+2 < m.Sent }
		inversions := 0
		for c, all := range channels {
			embedded := make(map[trace.Message]int)
			for _, m := range o.channels[c] {
				embedded[m]++
				if inverted(m) {
					inversions++
				}
			}
			for _, m := range all {
				if o.facts.Embedded.AllMessages || in(m.Sent) || in(m.Received) || inverted(m) {
					if embedded[m]--; embedded[m] < 0 {
						t.Fatalf("channel %d: message %v is missing", c, m)
					}
				}
			}
		}
		if int64(inversions) != o.facts.Inversions {
			t.Fatalf("%d of %d inversions are embedded", inversions, o.facts.Inversions)
		}
		if o.steps == 0 {
			return
		}
		for row := range marks {
			if got := sum(o.density[row]); got != uint64(len(marks[row])) {
				t.Fatalf("row %d: the density counts %d of %d events", row, got, len(marks[row]))
			}
		}
		for c := range channels {
			if got := sum(o.density[len(marks)+2*c]); got != uint64(len(channels[c])) {
				t.Fatalf("channel %d: the density counts %d of %d messages", c, got, len(channels[c]))
			}
		}
	})
}

func sum(counts []uint64) (total uint64) {
	for _, n := range counts {
		total += n
	}
	return total
}

func TestEveryPartOfThePageIsQuiet(t *testing.T) {
	for _, name := range scripts {
		code := pageFile(name + ".js")
		for _, word := range []string{"</script", "<!--", "innerHTML", "eval(", "fetch(", "XMLHttpRequest", "import(", "http:", "https:", "console."} {
			if strings.Contains(code, word) {
				t.Errorf("%s.js has %q", name, word)
			}
		}
	}
}

func TestEmptyAndOddTimelinesMakeAPage(t *testing.T) {
	limit := clock.Limit
	wide := func(yield func(int, int64) bool) { _ = yield(0, -limit) && yield(1, limit) }
	for name, timeline := range map[string]*Timeline{
		"nothing":     {},
		"no events":   {Report: &Report{}, Rows: []Row{{}, {}}},
		"one instant": {Rows: []Row{{Events: func(yield func(int, int64) bool) { yield(7, 42) }}}},
		"all of time": {Rows: []Row{{Events: wide}}},
	} {
		o := render(t, timeline, maxEvents)
		if len(o.facts.Rows) != len(timeline.Rows) {
			t.Errorf("%s: %d rows", name, len(o.facts.Rows))
		}
		if name == "all of time" && len(o.facts.Left) == 0 {
			t.Error("nobody says that nanoseconds are lost")
		}
	}
	for _, timeline := range []*Timeline{
		{Rows: []Row{{Map: &clock.Map{}}}},
		{Rows: []Row{{}}, Channels: []trace.Channel{{From: 0, To: 1}}},
	} {
		if err := timeline.WritePage(io.Discard); err == nil {
			t.Errorf("%+v made a page", timeline)
		}
	}
}

// steady is a row of n events that lie nowhere in memory.
func steady(n int, step int64) Row {
	return Row{Events: func(yield func(int, int64) bool) {
		for i := range n {
			if !yield(i, int64(i)*step) {
				return
			}
		}
	}}
}

func TestAPageOfManyEventsNeedsLittleMemory(t *testing.T) {
	timeline := &Timeline{Rows: []Row{steady(1_500_000, 1000), steady(1_500_000, 999)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := timeline.WritePage(io.Discard); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 100 {
		t.Errorf("a page of three million events allocated %d MiB", used)
	}
}

func BenchmarkPageOfTenMillionEvents(b *testing.B) {
	timeline := &Timeline{Rows: []Row{steady(5_000_000, 1000), steady(5_000_000, 999)}}
	b.ReportAllocs()
	for b.Loop() {
		if err := timeline.WritePage(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func TestMessageEarlyWithinTheReceiversStampIsNoInversion(t *testing.T) {
	line := clock.Identity()
	events := func(yield func(int, int64) bool) {
		for i, at := range []int64{0, 5_000, 10_000} {
			if !yield(i, at) {
				return
			}
		}
	}
	timeline := &Timeline{
		Rows: []Row{{Map: &line, Events: events, Granularity: 1}, {Map: &line, Events: events, Granularity: 1000}},
		Channels: []trace.Channel{
			{From: 0, To: 1, Messages: []trace.Message{{Sent: 5_000, Received: 4_001}, {Sent: 5_000, Received: 3_990}}},
			{From: 1, To: 0, Messages: []trace.Message{{Sent: 5_000, Received: 4_998}, {Sent: 5_000, Received: 4_990}}},
		},
	}
	var out strings.Builder
	if err := timeline.WritePage(&out); err != nil {
		t.Fatal(err)
	}
	if f := openPage(t, out.String()).facts; f.Inversions != 2 || f.Within != 2 {
		t.Errorf("%d inversions and %d within a step, want one of each in either direction", f.Inversions, f.Within)
	}
}
