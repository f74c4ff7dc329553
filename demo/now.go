//go:build !windows

package demo

import "time"

// machineNow is the demo's true time: a clock that all processes of the machine share, ns since 1970.
func machineNow() int64 { return time.Now().UnixNano() }
