//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"meridian/sensor"
)

const (
	emitWord = "emit"
	rate     = 1_000_000 // events a second
)

var six = sensor.NewEvent6[int64, int64, int64, int64, int64, int64]("start", "six", "a", "b", "c", "d", "e", "f")

// emit is the program that is recorded, in Go; c/emit.c is the same in C. It emits what is due by now and sleeps a millisecond,
// until it has emitted so many events. With WAIT it first waits until its standard input ends.
func emit(args []string) error {
	if sensor.Ring() == "" {
		return errors.New("emit: MERIDIAN is not set, so no recorder runs")
	}
	if len(args) != 2 {
		return errors.New("emit: EVENTS WAIT")
	}
	events, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	if args[1] == "1" {
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
	begin := time.Now()
	for n := int64(0); n < events; {
		for due := min(int64(time.Since(begin).Seconds()*rate)+1, events); n < due; n++ {
			six.Emit(n, 1, 2, 3, 4, 5)
		}
		time.Sleep(time.Millisecond)
	}
	if err := sensor.Stop(); err != nil {
		return fmt.Errorf("emit: %w", err)
	}
	return nil
}
