package steps_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"meridian/align/network"
	"meridian/align/pair"
	"meridian/align/steps"
	"meridian/clock"
	"meridian/trace"
)

// Find when db's clock was set, and how far. Someone put it forward by 5 ms after half a minute.
func ExampleFind() {
	const web, db = 0, 1
	onDB := func(web clock.HostTime) clock.HostTime {
		if web > 30_000_000_000 {
			return web + 5_000_000
		}
		return web
	}
	var asked, answered []trace.Message
	for i := range clock.HostTime(600) { // ten requests a second, 50 µs each way
		at := i * 100_000_000
		asked = append(asked, trace.Message{Sent: at, Received: onDB(at + 50_000)})
		answered = append(answered, trace.Message{Sent: onDB(at + 50_000), Received: at + 100_000})
	}
	p := &trace.Problem{
		Clocks: []trace.Clock{
			{Name: "web", Granularity: 1, First: 0, Last: 60_000_000_000, Events: 1200},
			{Name: "db", Granularity: 1, First: 50_000, Last: 60_005_000_000, Events: 1200},
		},
		Channels: []trace.Channel{{From: web, To: db, Messages: asked}, {From: db, To: web, Messages: answered}},
	}
	pairs := []steps.Pair{{A: web, B: db, Messages: pair.Problem{A: p.Clocks[web], B: p.Clocks[db], AB: pair.Messages{asked}, BA: pair.Messages{answered}}}}
	parted, err := steps.Find(context.Background(), p, pairs, 100, web)
	if err != nil || parted == nil {
		log.Fatal("no step: ", err)
	}
	// Align the pieces like any other clocks; their maps know the size of the step.
	var edges []network.Edge
	for i, k := range parted.Pieces(db) {
		q := &pair.Problem{A: parted.Clocks[k], B: parted.Clocks[web]}
		for _, c := range parted.Channels {
			switch {
			case c.From == k:
				q.AB = append(q.AB, c.Messages)
			case c.To == k:
				q.BA = append(q.BA, c.Messages)
			}
		}
		edges = append(edges, network.Edge{A: k, B: web, Map: pair.Hull(q).Map})
		fmt.Println("piece", i, "of db has", q.AB.Len()+q.BA.Len(), "messages")
	}
	tree, err := network.Build("", len(parted.Clocks), edges, web)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range parted.Steps(tree) {
		fmt.Println("set after", time.Duration(s.At).Round(time.Second), "by", time.Duration(s.By).Round(100*time.Microsecond))
	}
	// Output:
	// piece 0 of db has 599 messages
	// piece 1 of db has 599 messages
	// set after 30s by 5ms
}
