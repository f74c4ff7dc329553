//go:build linux

package main

import (
	"errors"
	"flag"
	"time"

	"meridian/sensor"
)

var request = sensor.NewEvent2[int64, int64]("subscribebench", "request", "number", "emitted")

// emit is the program that is recorded: so many events a second, for so long. It emits what is due by now and sleeps a millisecond.
func emit(args []string) error {
	flags := flag.NewFlagSet("emit", flag.ExitOnError)
	rate := flags.Int("rate", 10_000, "events a second")
	length := flags.Duration("length", 20*time.Second, "how long")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if sensor.Ring() == "" {
		return errors.New("emit: MERIDIAN is not set, so no recorder runs")
	}
	begin := time.Now()
	for n := int64(0); ; time.Sleep(time.Millisecond) {
		since := time.Since(begin)
		if since > *length {
			return nil
		}
		for due := int64(since.Seconds() * float64(*rate)); n < due; n++ {
			request.Emit(n, time.Now().UnixNano())
		}
	}
}
