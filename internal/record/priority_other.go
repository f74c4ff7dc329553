//go:build !linux

package record

import "time"

func raisePriority() (restore func()) { return func() {} }

func pause(d time.Duration) { time.Sleep(d) }
