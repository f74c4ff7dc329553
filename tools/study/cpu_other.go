//go:build !unix

package main

import "time"

var started = time.Now()

// processor returns the time since the process began: the CPU time is not available here.
func processor() time.Duration { return time.Since(started) }
