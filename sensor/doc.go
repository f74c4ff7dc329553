// Package sensor records what happens inside a program, for a few nanoseconds an event.
//
// In go events whose types were declared once, with typed fields, slices of time, counters, histograms, and the ends of messages; out
// comes shared memory (package ring) that an agent reads, or a directory in CTF 1.8 that this package writes itself:
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
// babeltrace2 and Trace Compass open the directory, and so does Meridian: meridian convert trace -o trace.pftrace.
//
// # The idea
//
// An event is the time and its fields, written one behind another where the memory of the ring lies:
//
//	stamp 8 | class 2, length 2 | fields ...        a number as the machine has it, a string up to a NUL, bytes behind their length
//
// Each processor of Go's scheduler (P) has a part of the ring of its own, a shard. A goroutine that writes is pinned to its P
// for these few instructions, so the shard needs neither lock nor atomic operation, and processors share no cache line.
// The stamp is the processor's counter, read within. Types of fields are known when the program is compiled, so nothing is
// looked up, boxed or allocated.
//
// # On and off
//
// Nothing is mapped before [Start] or [Record], and no goroutine runs; MERIDIAN=1 in the environment is a Start before main.
// An event that is switched off costs two loads and a branch. [Enable], [Disable] and MERIDIAN_EVENTS="http:*,!http:debug" switch
// by category and name, and so does an agent through the switches in the ring, while the program runs.
//
// # Rows
//
// Goroutines have no number that is cheap to get, and move between processors. So all events of a process are one row of the
// timeline; slices carry numbers, and those that overlap are drawn beside each other.
//
// # Loss
//
// Where the reader is behind, new events are discarded (or the oldest are overwritten, Options.Overwrite) and counted: each packet
// says how many. Texts that were cut (MaxText), events of processors beyond the ring's shards and sums of histograms that are
// too large have counters of their own, meridian:cut, meridian:lost and meridian:saturated.
//
// # Cost
//
// Six numbers: 1.1 times of reading the counter and storing 64 bytes (12 ns on an AMD EPYC); a string some 3 ns more; switched
// off 1 ns. See the benchmarks here, and internal/sensorbench for LTTng-UST, loggers and tracers beside it.
//
// The sources are BRISK's internal sensors (Bakic, Mutka, Rover: typed fields, shared memory, marks of reason and consequence) and
// LTTng's rings.
package sensor
