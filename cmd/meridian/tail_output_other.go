//go:build !unix

package main

import (
	"os"
	"time"
)

const canWaitForRoom = false

// roomOf cannot wait here: the pipe is written to, which may block.
func roomOf(*os.File, time.Duration) (int, error) { return pipeRoom, nil }
