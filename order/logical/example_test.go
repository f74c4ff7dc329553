package logical_test

import (
	"fmt"
	"log"

	"meridian/order/logical"
)

const web, db = 0, 1

// query is a request from web to db: what web does next, and what db did before, has nothing to do with it.
var query = []logical.Event{
	{Clock: web, Kind: logical.Send, Message: 1}, // 0: web asks
	{Clock: web}, // 1: web logs that it asked
	{Clock: db},  // 2: db flushes
	{Clock: db, Kind: logical.Receive, Message: 1}, // 3: db is asked
}

// Ask which events can have caused which.
func ExampleVector() {
	order, err := logical.Vector(query)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("asking happened before being asked:", order.HappenedBefore(0, 3))
	fmt.Println("web's log line and db's flush are concurrent:", order.Concurrent(1, 2))
	fmt.Println("events of web and db before and at being asked:", order.At(3))
	// Output:
	// asking happened before being asked: true
	// web's log line and db's flush are concurrent: true
	// events of web and db before and at being asked: [1 2]
}

// Number the events so that every cause has a smaller number than its effect.
func ExampleLamport() {
	numbers, err := logical.Lamport(query)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(numbers)
	// Output:
	// [1 2 1 2]
}
