package keeper

import (
	"bytes"
	"os"
	"strconv"
)

// process is a line of /proc/PID/stat.
type process struct {
	pid, parent int
	zombie      bool
}

// processes returns all processes that /proc shows.
func processes() []process {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		// pid (comm) state ppid ...: comm may have any character, also parentheses.
		at := bytes.LastIndexByte(stat, ')')
		if at < 0 {
			continue
		}
		fields := bytes.Fields(stat[at+1:])
		if len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil {
			continue
		}
		all = append(all, process{pid, parent, fields[0][0] == 'Z' || fields[0][0] == 'X'})
	}
	return all
}

// descendants returns the children of a process, and theirs.
func descendants(of int) []process {
	children := make(map[int][]process)
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	found := children[of]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}
