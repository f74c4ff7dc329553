package main

import (
	"path/filepath"
	"strconv"

	"meridian/internal/record/netstate"
	"meridian/sensor/ring"
)

// inNamespace returns a filter of the programs that run in a network namespace: with --netns that namespace is the host, and
// programs in others belong to other hosts. A ring names the namespace in which its program began to record, which also holds
// for programs that have ended or have another number in their container. A ring of an earlier version does not: then /proc
// decides while the program runs. A program of which neither is known is recorded.
func inNamespace(inode uint32) func(ring.Info) bool {
	return func(info ring.Info) bool {
		if info.Network != 0 {
			return info.Network == uint64(inode)
		}
		its, err := netstate.Inode(filepath.Join("/proc", strconv.Itoa(info.PID), "ns/net"))
		return err != nil || its == inode
	}
}
