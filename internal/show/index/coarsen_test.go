package index

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// curves is a timeline of rows that each have a counter with so many values at random, in groups of three.
func curves(rows, values int) *timeline {
	one := clock.Identity()
	x := &timeline{schema: &trace.Schema{Title: "curves", Hosts: []string{"a"}, Maps: []trace.HostMap{{Host: 0, Map: &one}},
		Classes: []trace.Class{{Name: "n", Fields: []trace.Field{{Name: "n", Type: trace.Type{Kind: trace.Int}}}}}}}
	for i := range rows {
		x.schema.Streams = append(x.schema.Streams, trace.Stream{Name: fmt.Sprint(i), Host: "a", Parent: -1})
	}
	r := random(1)
	for i := range values {
		at := int64(i/3)*1_000_000 + int64(i%3)*10
		for row := range rows {
			x.records = append(x.records, trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at), Stream: row, Phase: trace.Counter},
				Values: []trace.Value{trace.OfInt(r.n(1 << 50))}, Time: clock.TimelineTime(at)})
		}
	}
	return x
}

// built returns an index of such a timeline with what made it, and the lanes of its counters.
func built(t *testing.T, x *timeline) (b *Builder, lanes []*lane) {
	b, err := NewBuilder(x.schema, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.records {
		if err := b.Write(&x.records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.index.Close() })
	for _, row := range b.sorter.rows {
		lanes = append(lanes, row.counters[0].lane)
	}
	return b, lanes
}

// again makes the coarse levels of an index once more, after a change of what is known of its lanes.
func again(b *Builder, lanes []*lane, change func(roots []laneRoot)) ([]laneRoot, error) {
	roots := slices.Clone(b.index.lanes)
	for i := range roots {
		roots[i].coarse = nil
	}
	change(roots)
	return roots, b.sorter.trees.coarsen(roots, lanes, b.index.limits, topLevel(b.last), tileBins)
}

// impatient is a number of processors with which a lane may have one batch of pages that waits.
const impatient = maxWaiting / batchBytes

func TestCoarseLevelsAreTheSameWhateverTheNumberOfProcessors(t *testing.T) {
	b, lanes := built(t, curves(3, 60_000))
	pages := func(processors int) (all [][]byte) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		roots, err := again(b, lanes, func([]laneRoot) {})
		if err != nil {
			t.Fatal(err)
		}
		reader := newPageReader(b.store.f, b.store.end, new(pageCache))
		size := 0
		for _, r := range roots {
			for _, c := range r.coarse {
				for _, p := range c.pages {
					page, err := reader.page(p.pageRef)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, fmt.Appendf(slices.Clone(page), "%d %d", p.first, p.last))
					size += len(page)
				}
			}
		}
		if size < 2*batchBytes*len(lanes) {
			t.Errorf("pages of %d bytes: no lane waits", size)
		}
		return all
	}
	want := pages(1)
	for _, processors := range []int{2, impatient} {
		if !slices.EqualFunc(pages(processors), want, bytes.Equal) {
			t.Errorf("other pages on %d processors", processors)
		}
	}
}

func TestALaneThatCannotBeReadEndsTheWorkOnAll(t *testing.T) {
	b, lanes := built(t, curves(3, 60_000))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(impatient))
	for bad := range lanes {
		roots, err := again(b, lanes, func(roots []laneRoot) { roots[bad].root.pageRef.size-- })
		if !errors.Is(err, errDamaged) {
			t.Errorf("lane %d: %v", bad, err)
		}
		for i := range roots {
			if made := roots[i].coarse != nil; made != (i < bad) {
				t.Errorf("lane %d damaged: lane %d has levels: %v", bad, i, made)
			}
		}
	}
}
