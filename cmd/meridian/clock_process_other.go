//go:build !unix

package main

import (
	"os"
	"time"
)

// quietSignals returns none: there are no signals to spare.
func quietSignals() (<-chan os.Signal, func()) { return nil, func() {} }

func beginsQuiet(os.Signal) bool { return false }

func processorTime() (time.Duration, bool) { return 0, false }
