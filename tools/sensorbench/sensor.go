package main

import (
	"errors"
	"os"
	"time"

	"meridian/sensor"
)

const (
	sixName = "sensor"
	offName = "sensor, disabled"
	twoName = "sensor, two goroutines"
)

type i64 = int64

var (
	six  = sensor.NewEvent6[i64, i64, i64, i64, i64, i64]("bench", "six", "a", "b", "c", "d", "e", "f")
	off  = sensor.NewEvent6[i64, i64, i64, i64, i64, i64]("bench", "off", "a", "b", "c", "d", "e", "f")
	text = sensor.NewEvent2[i64, string]("bench", "text", "a", "path")
	work = sensor.NewSlice("bench", "work")
	mark = sensor.NewMark("bench", "mark")
)

// sensors adds Meridian's. The ring has no reader and overwrites: the writer goes through all of it repeatedly, as with a reader.
func (b *bench) sensors() error {
	if err := sensor.Start(sensor.Options{Overwrite: true, Events: "!bench:off", Interval: time.Hour}); err != nil {
		return err
	}
	path := sensor.Ring()
	b.closing = append(b.closing, func() error { return errors.Join(sensor.Stop(), os.Remove(path)) })
	const keeps = "all, in shared memory"
	b.inside(sixName, keeps, emitSix)
	b.inside(twoName, keeps, both(emitSix, emitSix))
	b.inside(offName, "", emitOff)
	b.inside("sensor, an integer and a string of 22", keeps, emitText)
	b.inside("sensor, a slice: begin and end", keeps, emitSlice)
	b.inside("sensor, a mark", keeps, emitMark)
	return nil
}

// The loops are written out, as a program's are: a call of a closure would cost more than a disabled event.

func emitSix(n int) (time.Duration, error) {
	start := time.Now()
	for i := range int64(n) {
		six.Emit(i, i+1, i+2, i+3, i+4, i+5)
	}
	return time.Since(start), nil
}

func emitOff(n int) (time.Duration, error) {
	start := time.Now()
	for i := range int64(n) {
		off.Emit(i, i+1, i+2, i+3, i+4, i+5)
	}
	return time.Since(start), nil
}

func emitText(n int) (time.Duration, error) {
	start := time.Now()
	for i := range int64(n) {
		text.Emit(i, "/a/path/of/some/length")
	}
	return time.Since(start), nil
}

func emitSlice(n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		work.Begin().End()
	}
	return time.Since(start), nil
}

func emitMark(n int) (time.Duration, error) {
	start := time.Now()
	for i := range uint64(n) {
		mark.Send(i + 1)
	}
	return time.Since(start), nil
}
