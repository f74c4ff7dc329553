package tracefs

import (
	"fmt"
	"strconv"
	"strings"
)

// pattern is Options.Command: a program's name, or its beginning.
type pattern struct {
	name   string
	prefix bool
}

// longestName is what the kernel keeps of a program's name.
const longestName = 15

func patternOf(command string) (p pattern, err error) {
	if command == "" {
		return p, nil
	}
	p.name, p.prefix = strings.CutSuffix(command, "*")
	if p.name == "" || len(p.name) > longestName || strings.ContainsAny(p.name, "*\x00") {
		return p, fmt.Errorf("no program has the name %q: it has 1 to %d bytes, and * only at the end", command, longestName)
	}
	return p, nil
}

// matches says whether a program has the name. No pattern matches none.
func (p *pattern) matches(comm string) bool {
	if p.prefix {
		return strings.HasPrefix(comm, p.name)
	}
	return p.name != "" && comm == p.name
}

// process is what /proc says of one: its threads are tasks of their own.
type process struct {
	pid, parent int32
	comm        string
}

// parseStat reads /proc/PID/stat: "PID (COMM) STATE PARENT ...", where COMM may contain anything.
func parseStat(s string) (p process, ok bool) {
	open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if open < 0 || end < open {
		return p, false
	}
	behind := strings.Fields(s[end+1:])
	if len(behind) < 2 {
		return p, false
	}
	pid, err1 := strconv.ParseInt(strings.TrimSpace(s[:open]), 10, 32)
	parent, err2 := strconv.ParseInt(behind[1], 10, 32)
	return process{int32(pid), int32(parent), s[open+1 : end]}, err1 == nil && err2 == nil
}

// descendants returns the numbers of those processes that chosen accepts, and of all their children.
func descendants(all []process, chosen func(*process) bool) []int32 {
	children := make(map[int32][]int32)
	seen := make(map[int32]bool)
	var found []int32
	take := func(pid int32) {
		if !seen[pid] {
			seen[pid] = true
			found = append(found, pid)
		}
	}
	for i := range all {
		children[all[i].parent] = append(children[all[i].parent], all[i].pid)
		if chosen(&all[i]) {
			take(all[i].pid)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, child := range children[found[i]] {
			take(child)
		}
	}
	return found
}

// parseStatus reads the name and the process of a thread from /proc/TID/status.
func parseStatus(s string) (t task, ok bool) {
	for line := range strings.Lines(s) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			copy(t.comm[:longestName], value)
		case "Tgid":
			n, err := strconv.ParseInt(value, 10, 32)
			t.process = int32(n)
			return t, err == nil
		}
	}
	return t, false
}
