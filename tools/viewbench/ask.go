package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"meridian/internal/show/index"
)

const (
	searchBar  = time.Second
	numbersBar = 300 * time.Millisecond
	askedTimes = 5
)

// queries are found nowhere, seldom or often: by names, words, and numbers as such and as digits.
var queries = []string{"nowhere", "key=12345", "12345", "latency_ms>99.9", `row="worker 1003" id<1000`, "receive", "path:item/7"}

// ask searches as the page does, until it has the hits that it keeps, and adds up stretches. Each figure is a median.
func ask(x *index.Index) (missed []string, err error) {
	for _, q := range queries {
		hits := 0
		took, err := medianOf(func() (err error) { hits, err = search(x, q); return err })
		if err != nil {
			return nil, err
		}
		fmt.Printf("search %-28s %6d hits %9v\n", q, hits, took.Round(time.Millisecond))
		if took > searchBar {
			missed = append(missed, fmt.Sprintf("the search for %s takes %v, bar %v", q, took, searchBar))
		}
	}
	span := x.About().Span
	all := func(int) bool { return true }
	for _, q := range []struct {
		name     string
		from, to int64
		wanted   func(row int) bool
	}{{"all", 0, span + 1, all}, {"every third row", 0, span + 1, everyThird}, {"the middle half", span / 4, span * 3 / 4, all}} {
		took, err := medianOf(func() error {
			_, err := x.Numbers(context.Background(), q.from, q.to, q.wanted)
			return err
		})
		if err != nil {
			return nil, err
		}
		fmt.Printf("numbers of %-28s %21v\n", q.name, took.Round(time.Millisecond))
		if took > numbersBar {
			missed = append(missed, fmt.Sprintf("the numbers of %s take %v, bar %v", q.name, took, numbersBar))
		}
	}
	return missed, nil
}

func search(x *index.Index, q string) (hits int, err error) {
	const kept, piece = 10_000, 500 // as in page/search.js
	for after := int64(-1); hits < kept; {
		f, err := x.Search(q, after, piece)
		if err != nil {
			return 0, err
		}
		hits += len(f.Found)
		if after = f.Next; after < 0 {
			break
		}
	}
	return hits, nil
}

func medianOf(do func() error) (time.Duration, error) {
	var times []time.Duration
	for range askedTimes {
		begin := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	return middle(times), nil
}

func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
