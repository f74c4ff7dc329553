package proc

import (
	"fmt"
	"strings"
)

// maxComm is the most bytes that the kernel keeps of a program's name (TASK_COMM_LEN without its NUL).
const maxComm = 15

// NamePattern selects programs by /proc/PID/comm: by the whole name, or by its beginning. The zero value matches none.
type NamePattern struct {
	Name   string
	Prefix bool
}

// ParseNamePattern reads "NAME" or "PREFIX*". The empty string gives the zero value.
func ParseNamePattern(s string) (NamePattern, error) {
	if s == "" {
		return NamePattern{}, nil
	}
	name, prefix := strings.CutSuffix(s, "*")
	if name == "" || len(name) > maxComm || strings.ContainsAny(name, "*\x00") {
		return NamePattern{}, fmt.Errorf("invalid program name %q: 1 to %d bytes, with * only at the end", s, maxComm)
	}
	return NamePattern{name, prefix}, nil
}

// Matches reports whether a program of that comm is selected.
func (p NamePattern) Matches(comm string) bool {
	if p.Prefix {
		return strings.HasPrefix(comm, p.Name)
	}
	return p.Name != "" && comm == p.Name
}
