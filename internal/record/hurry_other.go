//go:build !linux

package record

import "time"

func hurry() (done func()) { return func() {} }

func rest(d time.Duration) { time.Sleep(d) }
