//go:build !unix

package main

import "os"

func inForeground() bool { return false }

// snapshotSignals returns none: there is no signal that asks for a snapshot.
func snapshotSignals() (<-chan os.Signal, func()) { return nil, func() {} }
