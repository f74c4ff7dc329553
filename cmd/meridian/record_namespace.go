package main

import (
	"path/filepath"
	"strconv"

	"meridian/record/netstate"
)

// inNamespace returns what says whether a program runs in a network namespace: with --netns that is the host, and programs in
// others are those of other hosts. One of whom nobody can tell, since it has ended, is taken.
func inNamespace(inode uint32) func(pid int) bool {
	return func(pid int) bool {
		its, err := netstate.Inode(filepath.Join("/proc", strconv.Itoa(pid), "ns/net"))
		return err != nil || its == inode
	}
}
