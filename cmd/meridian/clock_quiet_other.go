//go:build !unix

package main

import "os"

// quietSignals returns none: there are no signals to spare.
func quietSignals() (<-chan os.Signal, func()) { return nil, func() {} }

func beginsQuiet(os.Signal) bool { return false }
