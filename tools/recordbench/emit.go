//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"sync"
	"time"

	"meridian/sensor"
)

// emission is what a program that emits says of itself in the end.
type emission struct {
	Events  uint64  `json:"events"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`     // seconds of all cores
	Longest float64 `json:"longest"` // seconds that a goroutine once emitted nothing, though it was time
}

var request = sensor.NewEvent2[int64, int64]("recordbench", "request", "number", "size")

// emit is the program that is recorded: goroutines that emit so many events a second in all, for so long. Each emits what
// is due by now and sleeps; with spin it looks at the clock until the next is due instead, and leaves no processor to
// anybody. One that got no processor for a while emits at once what it did not.
func emit(args []string) error {
	flags := flag.NewFlagSet("emit", flag.ExitOnError)
	rate := flags.Int("rate", 1_000_000, "events a second of all goroutines")
	goroutines := flags.Int("goroutines", 2, "how many")
	seconds := flags.Float64("seconds", 10, "how long")
	spin := flags.Bool("spin", false, "never sleep")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if sensor.Ring() == "" {
		return errors.New("emit: MERIDIAN is not set, so no recorder runs")
	}
	each := uint64(float64(*rate) * *seconds / float64(*goroutines))
	every := time.Duration(float64(*goroutines) / float64(*rate) * 1e9)
	var said emission
	var all sync.WaitGroup
	var mu sync.Mutex
	begin, before := time.Now(), ownCPU()
	for range *goroutines {
		all.Go(func() {
			var longest time.Duration
			last := begin
			for n := uint64(0); n < each; {
				now := time.Now()
				longest, last = max(longest, now.Sub(last)), now
				for due := min(uint64(now.Sub(begin)/every)+1, each); n < due; n++ {
					request.Emit(int64(n), 4096)
				}
				if !*spin {
					time.Sleep(time.Millisecond)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			said.Events += each
			said.Longest = max(said.Longest, longest.Seconds())
		})
	}
	all.Wait()
	said.Seconds, said.CPU = time.Since(begin).Seconds(), ownCPU()-before
	if err := sensor.Stop(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}
