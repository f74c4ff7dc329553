package order

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
	"meridian/trace"
)

func drawValue(t *rapid.T, depth int) trace.Value {
	v := trace.Value{Kind: trace.ValueKind(rapid.IntRange(0, int(trace.Variant)).Draw(t, "kind")), Bits: rapid.Uint64().Draw(t, "bits")}
	if rapid.Bool().Draw(t, "has data") {
		v.Data = rapid.SliceOfN(rapid.Byte(), 1, 150).Draw(t, "data")
	}
	if depth > 0 && rapid.Bool().Draw(t, "has items") {
		v.Items = drawValues(t, depth-1, 1)
	}
	return v
}

func drawValues(t *rapid.T, depth, least int) (values []trace.Value) {
	for range rapid.IntRange(least, 4).Draw(t, "values") {
		values = append(values, drawValue(t, depth))
	}
	return values
}

func TestAStoreGivesBackWhatItWasGiven(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		s := newEventStore()
		held := map[int32]trace.TimelineEvent{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "free") {
				var slots []int32
				for i := range held {
					slots = append(slots, i)
				}
				slices.Sort(slots)
				i := rapid.SampledFrom(slots).Draw(t, "slot")
				s.free(i)
				delete(held, i)
			} else {
				e := trace.TimelineEvent{Time: 1, Low: -2, High: 3, Host: 4, Map: -1, Bounded: true, Values: drawValues(t, 2, 0)}
				e.Event = trace.Event{Time: rapid.Just(e.Event.Time).Draw(t, "time") + 7, Slice: 8, Flow: 9, Stream: 10, Class: 11, Phase: trace.End, Role: trace.Sends}
				before := s.bytes()
				size := s.encode(e.Values)
				i, _ := s.add(&e)
				if s.bytes() != before+size {
					t.Fatalf("%d bytes, then %d for one of %d", before, s.bytes(), size)
				}
				if _, ok := held[i]; ok {
					t.Fatalf("slot %d was given twice", i)
				}
				held[i] = e
			}
			for i, want := range held {
				var got trace.TimelineEvent
				s.read(s.at(i), &got)
				if len(got.Values) == 0 {
					got.Values = nil
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%+v, want %+v", got, want)
				}
			}
		}
		for i := range held {
			s.free(i)
		}
		if s.bytes() != 0 {
			t.Fatalf("%d bytes are left", s.bytes())
		}
	})
}

func TestAFlowTableIsAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var table flowTable
	model := map[uint64]int32{}
	ids := make([]uint64, 700) // so few that most come again, so many that runs of taken places meet
	for i := range ids {
		ids[i] = r.Uint64() | 1
	}
	for step := range 200_000 {
		id := ids[r.IntN(len(ids))]
		switch f := table.find(id); {
		case (f != nil) != (model[id] != 0) || f != nil && f.host != model[id]:
			t.Fatalf("step %d: %d is %+v, want %d", step, id, f, model[id])
		case f != nil && r.IntN(2+step/50_000) > 0:
			table.remove(f)
			delete(model, id)
		case f == nil:
			table.add(id).host = int32(step + 1)
			model[id] = int32(step + 1)
		}
		if table.taken != len(model) {
			t.Fatalf("step %d: %d of %d", step, table.taken, len(model))
		}
	}
}

func TestQuantilesAreWithinASixteenthOfTheSortedSpans(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64().Draw(t, "ns")>>rapid.IntRange(0, 63).Draw(t, "shift")) &^ (-1 << 63)
		}), 1, 50).Draw(t, "spans")
		var l Latencies
		for _, d := range spans {
			l.add(d)
		}
		slices.SortFunc(spans, func(a, b time.Duration) int { return cmp.Compare(a, b) })
		for i := range spans {
			got, want := l.Quantile(float64(i+1)/float64(len(spans))), spans[i]
			// Rounding may take the quantile to the neighbouring rank.
			next := spans[min(i+1, len(spans)-1)]
			if got < want || got-next > next/16 {
				t.Fatalf("quantile %d of %v is %d", i, spans, got)
			}
		}
		if l.Max() != spans[len(spans)-1] || l.Count() != int64(len(spans)) {
			t.Fatalf("%v of %d", l.Max(), l.Count())
		}
	})
}

// Counters in some of the bits of an id are spread, however many bits are the same.
func TestAFlowTableSpreadsIds(t *testing.T) {
	for shift := 0; shift <= 52; shift += 4 {
		var table flowTable
		for i := range uint64(4096) {
			table.add(1 + i<<shift)
		}
		run, most := 0, 0
		for i := range table.places {
			if run++; table.places[i].id == 0 {
				run = 0
			}
			most = max(most, run)
		}
		if most > 200 {
			t.Errorf("bits from %d: %d places in a row are taken", shift, most)
		}
	}
}
