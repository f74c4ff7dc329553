package main

import (
	"fmt"
	"runtime"
	"time"

	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
)

const (
	spansOfRequest = 5 // of indextest.Shop
	requestsBar    = 2 // times the index alone
	queryBar       = 300 * time.Millisecond
	pathBar        = 50 * time.Millisecond
)

// requestsOf compares the list of requests of so many spans, when it is first asked for, with the index of these, which is built of
// events that are there already. Then it asks for another list, and for the first path of a request. Each is a median.
func requestsOf(spans int) (missed []string, err error) {
	schema, events := indextest.ShopEvents(spans / spansOfRequest)
	var built, listed, asked, walked, builtCPU, listedCPU []time.Duration
	for range 3 {
		runtime.GC()
		begun, worked := time.Now(), processorTime()
		b, err := index.NewBuilder(schema, index.Options{})
		if err != nil {
			return nil, err
		}
		for i := range events {
			if err := b.Write(&events[i]); err != nil {
				b.Discard()
				return nil, err
			}
		}
		if err := b.Close(); err != nil {
			return nil, err
		}
		x, err := b.Index()
		if err != nil {
			return nil, err
		}
		built, builtCPU = append(built, time.Since(begun)), append(builtCPU, processorTime()-worked)
		t, err := opened(x)
		if err != nil {
			return nil, err
		}
		for _, list := range []*[]time.Duration{&listed, &asked} {
			begun, worked := time.Now(), processorTime()
			if _, err := t.Requests(view.RequestQuery{Sort: "network", Text: "get"}); err != nil {
				t.Close()
				return nil, err
			}
			*list = append(*list, time.Since(begun))
			if list == &listed {
				listedCPU = append(listedCPU, processorTime()-worked)
			}
		}
		begun = time.Now()
		if _, err := t.Path(0); err != nil {
			t.Close()
			return nil, err
		}
		walked = append(walked, time.Since(begun))
		if err := t.Close(); err != nil {
			return nil, err
		}
	}
	alone, list, query, path := middle(built), middle(listed), middle(asked), middle(walked)
	times := float64(list) / float64(alone)
	fmt.Printf("%d spans: index alone %v, list of requests %v, %.2f times that (bar %d); a query %v, a path %v\n",
		spans, alone.Round(time.Millisecond), list.Round(time.Millisecond), times, requestsBar, query.Round(time.Millisecond), path.Round(time.Microsecond))
	indexCPU, listCPU := middle(builtCPU), middle(listedCPU)
	fmt.Printf("of the processors: index %v, list %v, %.2f times that\n",
		indexCPU.Round(time.Millisecond), listCPU.Round(time.Millisecond), float64(listCPU)/float64(indexCPU))
	if times > requestsBar {
		missed = append(missed, fmt.Sprintf("the list of requests takes %.2f times the index alone, bar %d", times, requestsBar))
	}
	if query > queryBar {
		missed = append(missed, fmt.Sprintf("a query of requests takes %v, bar %v", query, queryBar))
	}
	if path > pathBar {
		missed = append(missed, fmt.Sprintf("a path of a request takes %v, bar %v", path, pathBar))
	}
	return missed, nil
}
