// Package sensor records events inside a program, for some ten nanoseconds an event.
//
// A program declares the types of its events once: events with typed fields, slices (spans of time), counters, histograms, and the
// two ends of messages. It emits them into shared memory (package ring), which an agent reads, or which this package writes
// to a directory in CTF 1.8 itself:
//
//	var requestDone = sensor.NewEvent3[int64, string, float64]("http", "request_done", "id", "path", "seconds")
//	var handle = sensor.NewSlice("http", "handle")
//
//	func main() {
//		stop, err := sensor.Record("trace", sensor.Options{})
//		...
//		defer stop()
//	}
//
//	func serve(id int64, path string) {
//		defer handle.Begin().End()
//		requestDone.Emit(id, path, 0.25)
//	}
//
// babeltrace2, Trace Compass and Meridian read the directory: meridian convert trace -o trace.pftrace.
//
// # Names
//
// The name of an event has 1 to 160 bytes, or 154 if it is a slice's. A category has at most 64 and may be empty. Both are UTF-8
// without quotes, backslashes and control characters. Types of events come from NewEvent1 and its like, whose zero values must not be
// used. These functions panic if a name is not valid: declarations are package variables, so that the program fails at its
// start. The same declaration in two places is one type.
//
// # Layout
//
// An event is its stamp, its class and its fields, packed, in the memory of the ring:
//
//	stamp 8 | class 2, length 2 | fields ...        a number as the machine has it, a string up to a NUL, bytes behind their length
//
// Each processor of Go's scheduler (P) has a part of the ring of its own, a shard. A goroutine that emits is pinned to its P
// for these few instructions. So a shard needs neither lock nor atomic read-modify-write, and processors share no cache line.
// The stamp is the processor's cycle counter, read while pinned. The types of fields are known when the program is compiled, so
// nothing is looked up, boxed or allocated.
//
// # On and off
//
// Nothing is mapped before [Start] or [Record], and no goroutine runs; MERIDIAN=1 in the environment is a Start before main,
// and the program's own Start then returns nil.
// An event that is switched off costs two loads and a branch. [Enable], [Disable] and MERIDIAN_EVENTS="http:*,!http:debug" switch
// by category and name, and so does an agent through the switches in the ring, while the program runs.
//
// # Rows
//
// Goroutines have no number that is cheap to read, and move between processors. So all events of a process are one row of the
// timeline. Slices carry numbers, and those that overlap are drawn beside each other.
//
// # Loss
//
// If the ring is full, new events are discarded (with Options.Overwrite the oldest are overwritten) and counted: each packet of
// the trace says how many. Three counters tell the other losses: meridian:cut (texts longer than MaxText), meridian:lost
// (events of processors beyond the ring's shards) and meridian:saturated (sums of histograms beyond 2^63-1).
//
// # Cost
//
// Six integers: 1.1 times of reading the counter and storing 64 bytes (12 ns on an AMD EPYC). A string: some 3 ns more. Switched
// off: 1 ns. tools/sensorbench compares them with LTTng-UST, loggers and tracers.
//
// The sources are BRISK's internal sensors (Bakic, Mutka, Rover: typed fields, shared memory, marks of reason and consequence) and
// LTTng's rings.
package sensor
