package sensor_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"meridian/sensor"
)

// Events are declared once, as package variables.
var (
	requestDone = sensor.NewEvent3[int64, string, time.Duration]("shop", "request_done", "id", "path", "took")
	handle      = sensor.NewSlice1[string]("shop", "handle", "path")
	open        = sensor.NewCounter("shop", "open")
	load        = sensor.NewGauge("shop", "load")
	sizes       = sensor.NewHistogram("shop", "sizes")
)

// temporary returns a directory for a trace.
func temporary() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "sensor")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// list prints the files of a trace.
func list(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "metadata"))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println(filepath.Base(f))
	}
}

// A program records itself. The directory is a trace in CTF 1.8, which meridian, babeltrace2 and Trace Compass read.
func Example() {
	dir, remove := temporary()
	defer remove()
	trace := filepath.Join(dir, "trace")

	stop, err := sensor.Record(trace, sensor.Options{Dir: dir, Title: "an example"})
	if err != nil {
		log.Fatal(err)
	}
	requestDone.Emit(42, "/index.html", 250*time.Microsecond)
	if err := stop(); err != nil {
		log.Fatal(err)
	}
	list(trace)
	// Output: metadata
}

// A slice has a begin and an end. It may end in another goroutine.
func ExampleNewSlice1() {
	dir, remove := temporary()
	defer remove()
	stop, err := sensor.Record(filepath.Join(dir, "trace"), sensor.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	serve := func(path string) {
		defer handle.Begin(path).End()
		// ...
	}
	serve("/index.html")

	span := handle.Begin("/later.html")
	fmt.Println("recorded:", span.ID() != 0)
	done := make(chan bool)
	go func() {
		span.End()
		close(done)
	}()
	<-done
	if err := stop(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("recorded after the end:", handle.Begin("/").ID() != 0)
	// Output:
	// recorded: true
	// recorded after the end: false
}

// A counter counts even while nothing is recorded; each change is an event while something is.
func ExampleNewCounter() {
	before := open.Value()
	open.Add(3)
	open.Add(-1)
	fmt.Println(open.Value() - before)
	// Output: 2
}

// A gauge is a number that is measured now and then.
func ExampleNewGauge() {
	load.Set(0.75)
	fmt.Println(load.Value())
	// Output: 0.75
}

// A histogram writes one event an interval, whatever the number of values.
func ExampleNewHistogram() {
	dir, remove := temporary()
	defer remove()
	stop, err := sensor.Record(filepath.Join(dir, "trace"), sensor.Options{Dir: dir, Interval: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	for size := range int64(100_000) {
		sizes.Add(size)
	}
	if err := stop(); err != nil { // writes what came since the last interval
		log.Fatal(err)
	}
	// Output:
}

// The two ends of a message say the same number. A tag makes one that no other process makes, to be carried in the message.
func ExampleTag() {
	tag := sensor.NewTag()
	sensor.Send(tag.ID()) // before the message leaves
	header := tag.String()

	received, err := sensor.ParseTag(header) // in the other process
	if err != nil {
		log.Fatal(err)
	}
	sensor.Receive(received.ID())
	fmt.Println(received == tag)
	// Output: true
}

// A flight recorder keeps the newest events, and writes them when something happens.
func ExampleSnapshot() {
	dir, remove := temporary()
	defer remove()
	if err := sensor.Start(sensor.Options{Dir: dir, Overwrite: true}); err != nil {
		log.Fatal(err)
	}
	defer os.Remove(sensor.Ring())
	defer sensor.Stop()

	requestDone.Emit(42, "/slow.html", 3*time.Second)
	trace := filepath.Join(dir, "slow")
	if err := sensor.Snapshot(trace, sensor.Options{}); err != nil {
		log.Fatal(err)
	}
	list(trace)
	// Output: metadata
}

// What a program emitted before it died is in its ring, whose file stays.
func ExampleRecover() {
	dir, remove := temporary()
	defer remove()
	if err := sensor.Start(sensor.Options{Dir: dir}); err != nil {
		log.Fatal(err)
	}
	requestDone.Emit(42, "/last.html", time.Millisecond)
	ring := sensor.Ring()
	if err := sensor.Stop(); err != nil { // or a crash
		log.Fatal(err)
	}
	trace := filepath.Join(dir, "trace")
	if err := sensor.Recover(ring, trace, sensor.Options{}); err != nil {
		log.Fatal(err)
	}
	list(trace)
	// Output: metadata
}

// Categories and single events are switched while the program runs.
func ExampleEnable() {
	debug := sensor.NewEvent0("example", "debug")
	dir, remove := temporary()
	defer remove()
	if err := sensor.Start(sensor.Options{Dir: dir}); err != nil {
		log.Fatal(err)
	}
	defer sensor.Stop()

	sensor.Disable("example:deb*")
	fmt.Println(debug.Enabled())
	sensor.Enable("example:debug")
	fmt.Println(debug.Enabled())
	// Output:
	// false
	// true
}
