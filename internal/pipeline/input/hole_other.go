//go:build !linux

package input

import "os"

func makeHole(*os.File, int64, int64) error { return nil }
