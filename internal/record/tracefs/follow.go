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
