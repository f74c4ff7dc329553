package live

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/match"
	"meridian/trace"
)

// TestTagsThatComeOneByOneGiveTheMessagesOfTheWholeTrace draws ends in any order of arrival: keys whose ends all come within the time to
// settle give what match.Tagged gives.
func TestTagsThatComeOneByOneGiveTheMessagesOfTheWholeTrace(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		const clocks, settle, lifetime = 3, 10, 50
		marks := make([]*trace.Marks, clocks)
		for i := range marks {
			marks[i] = &trace.Marks{Hosts: []string{""}}
		}
		type end struct {
			at   int64
			key  trace.Key
			role trace.Role
			tagEnd
		}
		var ends []end
		for k := range rapid.IntRange(1, 60).Draw(t, "keys") {
			key, born := trace.KeyOf("k", fmt.Sprint(k)), rapid.Int64Range(0, 1000).Draw(t, "born")
			for range rapid.IntRange(1, 4).Draw(t, "ends") {
				e := end{born + rapid.Int64Range(0, settle-1).Draw(t, "later"), key, rapid.SampledFrom([]trace.Role{trace.Sends, trace.Receives, trace.Receives}).Draw(t, "role"),
					tagEnd{rapid.IntRange(0, clocks-1).Draw(t, "clock"), clock.HostTime(rapid.Int64Range(0, 1<<40).Draw(t, "time"))}}
				ends = append(ends, e)
				m := marks[e.clock]
				m.Marks = append(m.Marks, trace.Mark{Time: e.time, Key: key, Role: e.role})
			}
		}
		slices.SortStableFunc(ends, func(a, b end) int { return int(a.at - b.at) })
		var files []match.TaggedFile
		for i, m := range marks {
			files = append(files, match.TaggedFile{Marks: m, Clocks: []int{i}})
		}
		var want, got []string
		name := func(from, to int, m trace.Message) string { return fmt.Sprint(from, to, m) }
		r := match.Tagged(files, nil)
		for _, c := range r.Channels {
			for _, m := range c.Messages {
				want = append(want, name(c.From, c.To, m))
			}
		}
		x := newTags(settle, lifetime)
		message := func(from, to int, m trace.Message) { got = append(got, name(from, to, m)) }
		for _, e := range ends {
			x.advance(e.at, message)
			x.add(e.at, e.key, e.role, e.tagEnd)
		}
		x.advance(2000, message)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("messages\n%q\nnot\n%q", got, want)
		}
		if len(x.open) != 0 {
			t.Fatalf("%d keys are never forgotten", len(x.open))
		}
		if c := x.counted; c.Ambiguous != r.Tally.Ambiguous || c.Alone != r.Tally.Alone || c.Messages != r.Tally.Messages || c.Dropped != 0 {
			t.Fatalf("counted %+v, the whole trace %+v", c, r.Tally)
		}
	})
}

func TestKeysAreForgottenInBoundedMemory(t *testing.T) {
	x := newTags(10, 100)
	for i := range 200_000 {
		now := int64(i)
		x.advance(now, func(int, int, trace.Message) { t.Fatal("a message of one end") })
		x.add(now, trace.KeyOf(fmt.Sprint(i)), trace.Sends, tagEnd{})
	}
	if len(x.open) > 102 || len(x.spare) > 102 || cap(x.old.entries) > 8192 || cap(x.unsettled.entries) > 8192 {
		t.Errorf("%d open, %d spare, queues of %d and %d", len(x.open), len(x.spare), cap(x.old.entries), cap(x.unsettled.entries))
	}
	if x.counted.Alone < 199_800 {
		t.Errorf("%d alone", x.counted.Alone)
	}
}
