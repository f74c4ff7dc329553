package index

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestNumbersOfAStretchAreThoseOfItsItems(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		x := drawTimeline(t, 800).build(t, Options{})
		defer x.Close()
		from := rapid.Int64Range(0, x.about.Span).Draw(t, "from")
		to := from + rapid.Int64Range(1, x.about.Span+1).Draw(t, "length")
		wanted := func(row int) bool { return row%3 != 1 }
		got, err := x.Numbers(context.Background(), from, to, wanted)
		if err != nil {
			t.Fatal(err)
		}
		type key struct {
			row, class int
			instant    bool
		}
		lengths, sums, delays, values := map[key][]int64{}, map[key]int64{}, map[int][]int64{}, int64(0)
		for n := range x.lanes {
			l := &x.lanes[n]
			for _, it := range everything(t, x, n) {
				if !it.touches(l.kind, from, to) {
					continue
				}
				if l.kind == messages {
					k := x.about.Links[slices.IndexFunc(x.about.Links, func(k Link) bool { return k.Lane == n })]
					if wanted(k.From) && wanted(k.To) {
						delays[n] = append(delays[n], it.to-it.at)
					}
					continue
				}
				switch {
				case !wanted(l.owner):
				case l.kind == counter:
					values++
				case l.kind == instants:
					k := key{l.owner, int(it.class), true}
					lengths[k] = append(lengths[k], 0)
				default:
					k := key{l.owner, int(it.class), false}
					lengths[k] = append(lengths[k], it.to-it.at)
					sums[k] += max(0, min(it.to, to)-max(it.at, from))
				}
			}
		}
		if len(got.Names) != len(lengths) || len(got.Links) != len(delays) || got.Skipped["counter"] != values || got.Left != 0 {
			t.Fatalf("%d names, %d links, %v values, want %d, %d, %d", len(got.Names), len(got.Links), got.Skipped, len(lengths), len(delays), values)
		}
		check := func(what any, l Lengths, list []int64) {
			slices.Sort(list)
			for _, p := range []struct{ percent, got int64 }{{50, l.P50}, {90, l.P90}, {99, l.P99}} {
				want := list[(int64(len(list))*p.percent+99)/100-1]
				if far := max(want, -want) / 31; p.got < want || p.got > want+far+1 {
					t.Fatalf("%+v: percentile %d is %d, want %d", what, p.percent, p.got, want)
				}
			}
			if l.Least != list[0] || l.Greatest != list[len(list)-1] {
				t.Fatalf("%+v: from %d to %d, want %v", what, l.Least, l.Greatest, list)
			}
		}
		for _, e := range got.Names {
			k := key{e.Row, e.Class, e.Instant}
			if e.Count != int64(len(lengths[k])) || e.Sum != sums[k] {
				t.Fatalf("%+v, want %d that take %d", e, len(lengths[k]), sums[k])
			}
			check(k, e.Lengths, lengths[k])
		}
		for _, e := range got.Links {
			n := int64(0)
			for _, v := range e.Verdicts {
				n += v
			}
			if e.Count != int64(len(delays[e.Lane])) || n != e.Count {
				t.Fatalf("%+v, want %d", e, len(delays[e.Lane]))
			}
			check(e.Lane, e.Lengths, delays[e.Lane])
		}
	})
}

// compareCounted holds what a view counts, and the items, texts and events that it lists, against an index. Number is the view's number of
// each lane of the index.
func compareCounted(t *rapid.T, v *View, x *Index, number map[int]int) {
	from := rapid.Int64Range(0, x.about.Span).Draw(t, "count from")
	to := from + rapid.Int64Range(1, x.about.Span+1).Draw(t, "count length")
	wanted := func(row int) bool { return row%3 != 1 }
	got, err := v.Numbers(context.Background(), from, to, wanted)
	want, err2 := x.Numbers(context.Background(), from, to, wanted)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for i := range want.Links {
		want.Links[i].Lane = number[want.Links[i].Lane]
	}
	byLane := func(a, b LinkNumbers) int { return a.Lane - b.Lane }
	slices.SortFunc(got.Links, byLane)
	slices.SortFunc(want.Links, byLane)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("numbers of %d to %d are %+v, want %+v", from, to, got, want)
	}
	type source interface {
		Items(lane int, from, to int64, see func(*Item)) error
		Identifiers(from int64, names []string, see func(event int64, ids []uint64)) error
		Scan(from int64, wanted func(class int) bool, see func(*Scanned) error) error
	}
	first := rapid.Int64Range(0, max(0, x.events)).Draw(t, "first event")
	lines := func(s source, number func(lane int) int) (out []string) {
		for n := range x.lanes {
			err := s.Items(number(n), from, to, func(it *Item) { out = append(out, fmt.Sprint(n, *it)) })
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Identifiers(first, []string{"text", "n"}, func(event int64, ids []uint64) { out = append(out, fmt.Sprint(event, ids)) }); err != nil {
			t.Fatal(err)
		}
		err := s.Scan(first, func(class int) bool { return class%2 == 0 }, func(e *Scanned) error {
			values, err := e.Values()
			out = append(out, fmt.Sprint(e.Event, e.At, e.Row, e.Class, e.Phase, values))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got, want := lines(v, func(n int) int { return number[n] }), lines(x, func(n int) int { return n }); !slices.Equal(got, want) {
		t.Fatalf("items, texts and events of %d to %d from event %d on are\n%q\nwant\n%q", from, to, first, got, want)
	}
}

func TestMessagesOfABarAreThoseWithItsDelays(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		x := drawTimeline(t, 800).build(t, Options{})
		defer x.Close()
		n := rapid.SampledFrom([]int{1, 7, 1000}).Draw(t, "at most")
		for _, pair := range x.about.Delays {
			for _, bar := range pair.Buckets {
				got, err := x.Delayed(context.Background(), pair.From, pair.To, bar[0], bar[1], n)
				var all []DelayedMessage
				for _, k := range x.about.Links {
					if x.about.Rows[k.From].Host != pair.From || x.about.Rows[k.To].Host != pair.To {
						continue
					}
					for _, it := range everything(t, x, k.Lane) {
						if d := it.to - it.at; d >= bar[0] && d <= bar[1] {
							all = append(all, DelayedMessage{it.at, d, it.event, it.other, k.Lane, Verdict(it.flags)})
						}
					}
				}
				slices.SortFunc(all, func(a, b DelayedMessage) int {
					return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
				})
				// A message that was sent before the first instant is shown from there on.
				if err != nil || got.Count != int64(len(all)) || len(got.List) != min(n, len(all)) || !slices.Equal(got.List, all[:len(got.List)]) {
					t.Fatalf("%d to %d, from %d to %d ns, at most %d: %+v %v, want %+v", pair.From, pair.To, bar[0], bar[1], n, got, err, all)
				}
			}
		}
	})
}
