package index

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestLongSlicesAmongManyShortOnesAreBusyInEveryBin(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		l := &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Name: "row", Host: "a", Kind: trace.Thread, Parent: -1}},
			Classes: []trace.Class{{Name: "short"}, {Name: "long"}}}
		x := &timeline{schema: l}
		at := int64(0)
		slice := func(class int, length int64) {
			for _, phase := range []trace.Phase{trace.Begin, trace.End} {
				x.records = append(x.records, trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at), Class: class, Phase: phase}, Map: -1, Time: clock.TimelineTime(at)})
				at += length
			}
			at -= length
		}
		gap := rapid.Int64Range(1, 50).Draw(t, "gap")
		for range rapid.IntRange(1, 3).Draw(t, "long ones") {
			for range rapid.IntRange(600, 3000).Draw(t, "short ones") {
				slice(0, 3)
				at += gap
			}
			slice(1, rapid.Int64Range(1000, 1_000_000).Draw(t, "length"))
		}
		i := x.build(t, Options{})
		defer i.Close()
		items := [][]item{everything(t, i, 0)}
		for level := i.about.Top; level >= 0; level-- {
			for n := range min(i.about.Span>>(level+tileBits)+1, 16) {
				checkTile(t, &subject{i, i.groups, i.mostTile, i.about.Span, fileLanes{i}.kind}, items, 0, level, n)
			}
		}
	})
}
