//go:build !linux

package ring

import "os"

// reservePages leaves it to the first store to take a page.
func reservePages(*os.File, []byte, uint64, uint64) error { return nil }

// thread is never 0. Nothing reads it but people who inspect the file.
func thread() uint32 { return uint32(os.Getpid()) }

// boot is for systems that name each of their starts.
func boot() (id [16]byte) { return id }

// network is for systems that have namespaces.
func network() uint64 { return 0 }
