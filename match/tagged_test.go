package match

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestAKeyWithOneSenderAndReceiversOnOtherClocksIsMessages(t *testing.T) {
	var w trace.Warnings
	k := trace.KeyOf("request", "1")
	r := Tagged([]TaggedFile{
		{&trace.Marks{Hosts: []string{"web"}, Marks: []trace.Mark{{Time: 10, Key: k, Stream: 3, Role: trace.Sends}}}, []int{7}},
		{&trace.Marks{Hosts: []string{"db", "web"}, Marks: []trace.Mark{
			{Time: 30, Key: k, Stream: 1, Role: trace.Receives},
			{Time: 40, Key: k, Host: 1, Stream: -1, Role: trace.Receives}}}, []int{2, 7}},
	}, &w)
	want := &TaggedResult{
		Channels: []trace.Channel{{From: 7, To: 2, Messages: []trace.Message{{Sent: 10, Received: 30}}}},
		Tally:    TagTally{Messages: 1, Local: 1},
	}
	if !reflect.DeepEqual(r, want) || len(w.Lines()) > 0 {
		t.Errorf("got %+v, want %+v; %q", r, want, w.Lines())
	}
}

func TestAKeyOfSeveralSendersIsLeftOutAndSaid(t *testing.T) {
	var w trace.Warnings
	k := trace.KeyOf("id", "5")
	r := Tagged([]TaggedFile{
		{&trace.Marks{Marks: []trace.Mark{{Key: k, Role: trace.Sends}, {Key: k, Role: trace.Receives}}}, []int{0}},
		{&trace.Marks{Marks: []trace.Mark{{Key: k, Role: trace.Sends}, {Key: k, Role: trace.Receives}}}, []int{1}},
	}, &w)
	if len(r.Channels) > 0 || r.Tally != (TagTally{Ambiguous: 1}) || len(w.Lines()) != 1 {
		t.Errorf("%+v, %q", r, w.Lines())
	}
}

func TestStaysOfOneKeyAreACollective(t *testing.T) {
	var w trace.Warnings
	k := trace.KeyOf("all_reduce", "1")
	stay := func(entered, left clock.HostTime) *trace.Marks {
		return &trace.Marks{Marks: []trace.Mark{{Time: entered, Key: k, Role: trace.Enters}, {Time: left, Key: k, Role: trace.Leaves}}}
	}
	half := &trace.Marks{Marks: []trace.Mark{{Time: 1, Key: k, Role: trace.Enters}}}
	r := Tagged([]TaggedFile{{stay(1, 5), []int{0}}, {half, []int{1}}, {stay(2, 6), []int{2}}}, &w)
	if len(r.Collectives) != 1 || !reflect.DeepEqual(r.Collectives[0].Members,
		[]trace.Member{{Clock: 0, Entered: 1, Left: 5}, {Clock: 2, Entered: 2, Left: 6}}) || r.Tally != (TagTally{Collectives: 1}) {
		t.Errorf("%+v", r)
	}
	r = Tagged([]TaggedFile{{stay(1, 5), []int{0}}, {stay(2, 6), []int{0}}}, &w)
	if len(r.Collectives) != 0 || r.Tally != (TagTally{Local: 1}) {
		t.Errorf("on one clock: %+v", r)
	}
	two := &trace.Marks{Marks: []trace.Mark{{Time: 1, Key: k, Stream: 1, Role: trace.Enters}, {Time: 2, Key: k, Stream: 2, Role: trace.Enters},
		{Time: 5, Key: k, Stream: 1, Role: trace.Leaves}, {Time: 6, Key: k, Stream: 2, Role: trace.Leaves}}}
	r = Tagged([]TaggedFile{{two, []int{0}}, {stay(2, 6), []int{1}}}, &w)
	if len(r.Collectives) != 1 || len(r.Collectives[0].Members) != 3 {
		t.Errorf("two rows of one file: %+v", r)
	}
	twice := &trace.Marks{Marks: append(stay(1, 5).Marks, stay(7, 9).Marks...)}
	r = Tagged([]TaggedFile{{twice, []int{0}}, {stay(2, 6), []int{1}}}, &w)
	if len(r.Collectives) != 0 || r.Tally != (TagTally{Ambiguous: 1}) {
		t.Errorf("twice: %+v", r)
	}
}

func TestMarksOfNoHostOrNoRoleAreLeftOut(t *testing.T) {
	var w trace.Warnings
	k := trace.KeyOf("x")
	r := Tagged([]TaggedFile{{&trace.Marks{Marks: []trace.Mark{
		{Key: k, Role: trace.Sends, Host: 3}, {Key: k, Role: trace.NoRole}, {Key: k, Host: -1, Role: trace.Receives}, {Key: k, Role: 99}}}, []int{0}}}, &w)
	if !reflect.DeepEqual(r, &TaggedResult{}) || len(w.Lines()) != 1 {
		t.Errorf("%+v, %q", r, w.Lines())
	}
}

// The truth looks at every pair of marks.
func TestTaggedIsWhatEveryPairOfMarksSays(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var files []TaggedFile
		type flat struct {
			trace.Mark
			clock, file int
		}
		var all []flat
		for f := range rapid.IntRange(0, 4).Draw(t, "files") {
			file := TaggedFile{&trace.Marks{Hosts: make([]string, 2)}, []int{rapid.IntRange(-1, 3).Draw(t, "clock"), rapid.IntRange(-1, 3).Draw(t, "clock")}}
			for range rapid.IntRange(0, 8).Draw(t, "marks") {
				m := trace.Mark{
					Time: clock.HostTime(rapid.Int64Range(0, 9).Draw(t, "time")), Key: trace.Key{byte(rapid.IntRange(0, 4).Draw(t, "key"))},
					Host: rapid.IntRange(0, 1).Draw(t, "host"), Role: rapid.SampledFrom([]trace.Role{trace.Sends, trace.Receives}).Draw(t, "role")}
				file.Marks.Marks = append(file.Marks.Marks, m)
				if c := file.Clocks[m.Host]; c >= 0 {
					all = append(all, flat{m, c, f})
				}
			}
			files = append(files, file)
		}
		type message [4]int64 // from, to, sent, received
		var want, got []message
		arrows, ambiguous := 0, make(map[trace.Key]bool)
		for _, a := range all {
			for _, b := range all {
				if a.Key != b.Key || a.Role != trace.Sends || b.Role != trace.Receives {
					continue
				}
				senders := 0
				for _, x := range all {
					if x.Key == a.Key && x.Role == trace.Sends {
						senders++
					}
				}
				if senders > 1 {
					ambiguous[a.Key] = true
					continue
				}
				arrows++
				if a.clock != b.clock {
					want = append(want, message{int64(a.clock), int64(b.clock), int64(a.Time), int64(b.Time)})
				}
			}
		}
		var w trace.Warnings
		r := Tagged(files, &w)
		for i, c := range r.Channels {
			if p := i - 1; p >= 0 && (r.Channels[p].From > c.From || r.Channels[p].From == c.From && r.Channels[p].To >= c.To) {
				t.Fatalf("channels out of order: %v", r.Channels)
			}
			for _, m := range c.Messages {
				got = append(got, message{int64(c.From), int64(c.To), int64(m.Sent), int64(m.Received)})
			}
		}
		slices.SortFunc(want, func(a, b message) int { return slices.Compare(a[:], b[:]) })
		slices.SortFunc(got, func(a, b message) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(got, want) || r.Tally.Messages+r.Tally.Local != int64(arrows) || r.Tally.Ambiguous != int64(len(ambiguous)) ||
			r.Tally.Messages != int64(len(want)) || r.Tally.Local != int64(arrows-len(want)) {
			t.Fatalf("got %v %+v, want %v, %d arrows, %d ambiguous", got, r.Tally, want, arrows, len(ambiguous))
		}
		if again := Tagged(files, &w); !reflect.DeepEqual(r, again) {
			t.Fatal("not the same twice")
		}
	})
}

func BenchmarkTagged(b *testing.B) {
	a, z := &trace.Marks{Hosts: []string{""}}, &trace.Marks{Hosts: []string{""}}
	for i := range 500_000 {
		k := trace.KeyOf("m", string(rune(i)), string(rune(i>>4)))
		a.Marks = append(a.Marks, trace.Mark{Key: k, Role: trace.Sends})
		z.Marks = append(z.Marks, trace.Mark{Key: k, Role: trace.Receives})
	}
	for b.Loop() {
		var w trace.Warnings
		Tagged([]TaggedFile{{a, []int{0}}, {z, []int{1}}}, &w)
	}
}

func TestEndsThatStandAloneAreCountedByKeys(t *testing.T) {
	m := func(key byte, role trace.Role, stream int) trace.Mark {
		return trace.Mark{Key: trace.Key{key}, Role: role, Stream: stream}
	}
	for name, c := range map[string]struct {
		a, b []trace.Mark
		want TagTally
	}{
		"a sender":                    {[]trace.Mark{m(1, trace.Sends, 0)}, nil, TagTally{Alone: 1}},
		"a receiver":                  {nil, []trace.Mark{m(1, trace.Receives, 0)}, TagTally{Alone: 1}},
		"two senders":                 {[]trace.Mark{m(1, trace.Sends, 0), m(1, trace.Sends, 0)}, nil, TagTally{Alone: 1}},
		"two receivers":               {[]trace.Mark{m(1, trace.Receives, 0)}, []trace.Mark{m(1, trace.Receives, 0)}, TagTally{Alone: 1}},
		"two keys":                    {[]trace.Mark{m(1, trace.Sends, 0), m(2, trace.Sends, 0)}, nil, TagTally{Alone: 2}},
		"a member":                    {[]trace.Mark{m(1, trace.Enters, 0), m(1, trace.Leaves, 0)}, nil, TagTally{Alone: 1}},
		"a member that left only":     {[]trace.Mark{m(1, trace.Leaves, 0)}, []trace.Mark{m(1, trace.Enters, 0), m(1, trace.Leaves, 0)}, TagTally{Alone: 1}},
		"members":                     {[]trace.Mark{m(1, trace.Enters, 0), m(1, trace.Leaves, 0)}, []trace.Mark{m(1, trace.Enters, 0), m(1, trace.Leaves, 0)}, TagTally{Collectives: 1}},
		"a member that entered twice": {[]trace.Mark{m(1, trace.Enters, 0), m(1, trace.Enters, 0), m(1, trace.Leaves, 0)}, []trace.Mark{m(1, trace.Enters, 0), m(1, trace.Leaves, 0)}, TagTally{Ambiguous: 1}},
		"a member that left twice":    {[]trace.Mark{m(1, trace.Enters, 0), m(1, trace.Leaves, 0), m(1, trace.Leaves, 0)}, []trace.Mark{m(1, trace.Enters, 0), m(1, trace.Leaves, 0)}, TagTally{Ambiguous: 1}},
	} {
		r := Tagged([]TaggedFile{{&trace.Marks{Marks: c.a}, []int{0}}, {&trace.Marks{Marks: c.b}, []int{1}}}, nil)
		if r.Tally != c.want {
			t.Errorf("%s: %+v", name, r.Tally)
		}
	}
	var w trace.Warnings
	Tagged([]TaggedFile{{&trace.Marks{Marks: []trace.Mark{{Host: 1, Role: trace.Sends}}}, []int{0}}, {}}, &w)
	if len(w.Lines()) != 1 {
		t.Errorf("a host beyond the clocks: %q", w.Lines())
	}
}
