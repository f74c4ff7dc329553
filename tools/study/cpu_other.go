//go:build !unix

package main

import "time"

var started = time.Now()

// processor returns the time since the process began: here nobody says how much of it the process had.
func processor() time.Duration { return time.Since(started) }
