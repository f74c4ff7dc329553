package main

import (
	"path/filepath"
	"strconv"

	"meridian/internal/record/netstate"
	"meridian/sensor/ring"
)

// inNamespace returns what says whether a program runs in a network namespace: with --netns that is the host, and programs in
// others are those of other hosts. Its ring names the one in which it began to record, also of a program that has ended or that has
// another number in its container; what it says there decides about its own events alone. Of older rings /proc knows, while
// the program runs; one of whom nobody can tell is taken.
func inNamespace(inode uint32) func(ring.Info) bool {
	return func(info ring.Info) bool {
		if info.Network != 0 {
			return info.Network == uint64(inode)
		}
		its, err := netstate.Inode(filepath.Join("/proc", strconv.Itoa(info.PID), "ns/net"))
		return err != nil || its == inode
	}
}
