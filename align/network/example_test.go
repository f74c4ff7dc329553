package network_test

import (
	"fmt"
	"log"

	"meridian/align/network"
	"meridian/clock"
)

const web, app, db = 0, 1, 2

var names = []string{"web", "app", "db"}

// ahead is the map between two clocks of which the second is ahead by so many µs, give or take so many.
func ahead(by, error int64) clock.PairMap {
	line := func(by int64) clock.PairCurve { return clock.PairCurve{{X: 0, Y: clock.HostTime(by * 1000)}} }
	return clock.PairMap{Mid: line(by), Low: line(by - error), High: line(by + error)}
}

// edges is what pairs of hosts know of each other: web and db talk over a slow path.
func edges() []network.Edge {
	return []network.Edge{
		{A: web, B: app, Map: ahead(500, 20), Weight: 20_000},
		{A: app, B: db, Map: ahead(300, 10), Weight: 10_000},
		{A: web, B: db, Map: ahead(810, 90), Weight: 90_000},
	}
}

// show prints by how much the timeline is ahead of each clock.
func show(maps []clock.Map) {
	for i, m := range maps {
		low, high, _, _ := m.Bounds(0)
		fmt.Printf("%s: %d µs, between %d and %d\n", names[i], m.At(0)/1000, low/1000, high/1000)
	}
}

// Put three hosts on the clock of the one that is nearest to all.
func ExampleBuild() {
	tree, err := network.Build("", 3, edges(), -1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the timeline is the clock of", names[tree.Reference(db)])
	show(tree.Maps)
	// Output:
	// the timeline is the clock of app
	// web: 500 µs, between 480 and 520
	// app: 0 µs, between 0 and 0
	// db: -300 µs, between -310 and -290
}

// Intersect what all paths say: here the one from web over app is better than the direct one.
func ExampleTighten() {
	// Along the fewest hops, db's clock is known by the slow path.
	tree, err := network.Build("jezequel", 3, edges(), web)
	if err != nil {
		log.Fatal(err)
	}
	show(tree.Maps)
	maps, contradictions, err := network.Tighten(edges(), tree, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("tightened, with", len(contradictions), "contradictions:")
	show(maps)
	// Output:
	// web: 0 µs, between 0 and 0
	// app: -500 µs, between -520 and -480
	// db: -810 µs, between -900 and -720
	// tightened, with 0 contradictions:
	// web: 0 µs, between 0 and 0
	// app: -500 µs, between -520 and -480
	// db: -810 µs, between -830 and -770
}
