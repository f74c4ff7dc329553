package index

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbersOfAStretchAreThoseOfItsItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
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
