package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"meridian/internal/pipeline/input"
	"meridian/internal/show"
)

// minMemory is the least that --memory may be, bytes.
const minMemory = 256 << 20

// memoryValue is the value of --memory: bytes.
type memoryValue int64

func (m *memoryValue) Set(text string) error {
	size, isSize, err := parseSize(text)
	switch {
	case err != nil:
		return err
	case !isSize:
		return fmt.Errorf("%q is not a size: write 512MiB or 4GiB", text)
	case size < minMemory:
		return fmt.Errorf("%s is less than 256MiB, the least that a run needs", text)
	}
	*m = memoryValue(size)
	return nil
}

func (m *memoryValue) String() string {
	if *m == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*m)>>20, 10) + "MiB"
}

func (m *memoryValue) Type() string { return "size" }

// bytes returns the limit of a run: as given, else a quarter of what the process may have, at least minMemory.
func (m *memoryValue) bytes() int64 {
	if *m > 0 {
		return int64(*m)
	}
	return max(machineMemory("/")/4, minMemory)
}

// memoryNeed returns about how much memory a run takes that holds h, nil if that is within its limit. What else a run holds keeps to three
// quarters of the limit.
func memoryNeed(limit int64, h input.Held) *show.Memory {
	if h.Sum() <= limit/4 {
		return nil
	}
	return &show.Memory{Limit: limit, Needed: limit/4*3 + h.Sum(), Flows: h.Flows, Marks: h.Marks, Lists: h.Messages}
}

// machineMemory returns how much memory the process may have, bytes: the machine's, or less where a control group of version 2 or 1 limits
// it (the kernel's Documentation, cgroup-v2.rst: memory.max). It is 0 where the system does not tell. root is "/" but in tests.
func machineMemory(root string) int64 {
	least := int64(math.MaxInt64)
	text, err := os.ReadFile(path.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if f := strings.Fields(string(line)); len(f) == 3 && f[0] == "MemTotal:" {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				least = kib << 10
			}
		}
	}
	groups, _ := os.ReadFile(path.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(groups)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		base, file := "sys/fs/cgroup", "memory.max"
		if f[1] == "memory" {
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if f[1] != "" {
			continue
		}
		for group := path.Clean("/" + f[2]); ; group = path.Dir(group) { // each above limits those below
			if limit, err := os.ReadFile(path.Join(root, base, group, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 64); err == nil && n > 0 {
					least = min(least, n)
				}
			}
			if group == "/" {
				break
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}
