package main

import (
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/pipeline/input"
)

func TestMemoryIsThatOfTheTightestControlGroup(t *testing.T) {
	const meminfo = "MemTotal:       16000 kB\nMemFree:         100 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"the machine's":       {map[string]string{"proc/meminfo": meminfo}, 16000 << 10},
		"nothing known":       {nil, 0},
		"no limit":            {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 16000 << 10},
		"its group":           {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "4096\n", "sys/fs/cgroup/a/memory.max": "8192\n"}, 4096},
		"a group above":       {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "8192\n"}, 8192},
		"in a namespace":      {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "8192\n"}, 8192},
		"more than there is":  {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999\n"}, 16000 << 10},
		"version 1":           {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu:/\n2:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "8192\n"}, 8192},
		"outside of its root": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../a\n", "sys/fs/cgroup/a/memory.max": "8192\n"}, 8192},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			full := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got := machineMemory(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestMemoryIsASizeOfAtLeast256MiB(t *testing.T) {
	for text, want := range map[string]int64{"256MiB": 256 << 20, "1GiB": 1 << 30, "255MiB": 0, "12": 0, "lots": 0, "-1GiB": 0, "": 0} {
		var m memoryValue
		if err := m.Set(text); (err == nil) != (want > 0) || int64(m) != want {
			t.Errorf("%q: %d (%v), want %d", text, m, err, want)
		}
	}
}

func TestMemoryNeededIsSaidWhereWhatNoFileTakesIsMoreThanAQuarter(t *testing.T) {
	const limit = 256 << 20
	for _, c := range []struct {
		held input.Held
		want int64 // MiB; 0 where the limit is kept
	}{{input.Held{}, 0}, {input.Held{Flows: 64 << 20}, 0}, {input.Held{Flows: 64<<20 + 1}, 256}, {input.Held{Flows: 40 << 20, Marks: 30 << 20}, 262}, {input.Held{Messages: 1 << 30}, 1216}} {
		switch need := memoryNeed(limit, c.held); {
		case need == nil && c.want != 0, need != nil && need.Needed>>20 != c.want:
			t.Errorf("%+v: %+v, want %d MiB", c.held, need, c.want)
		case need != nil && need.Flows+need.Marks+need.Lists != c.held.Sum():
			t.Errorf("%+v: parts %+v", c.held, need)
		}
	}
}
