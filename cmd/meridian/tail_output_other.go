//go:build !unix

package main

import (
	"os"
	"time"
)

const canWaitForRoom = false

// hasRoom cannot wait here: the pipe is written to, which may block.
func hasRoom(*os.File, time.Duration) (bool, error) { return true, nil }
