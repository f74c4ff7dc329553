package tracefs

import (
	"strconv"
	"strings"
)

// maxComm is the most bytes that the kernel keeps of a program's name.
const maxComm = 15

// parseStatus reads the name and the process of a thread from /proc/TID/status.
func parseStatus(s string) (t task, ok bool) {
	for line := range strings.Lines(s) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			copy(t.comm[:maxComm], value)
		case "Tgid":
			n, err := strconv.ParseInt(value, 10, 32)
			t.process = int32(n)
			return t, err == nil
		}
	}
	return t, false
}
