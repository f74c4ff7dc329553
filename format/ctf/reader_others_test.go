package ctf

import (
	"strings"
	"testing"

	"meridian/trace"
)

// babeltrace2 2.0.4 does not read CTF 2: what these say must be plausible by itself.
func TestTracesOfOthersInCTF2AreRead(t *testing.T) {
	for _, test := range []struct {
		name          string
		events        int
		first, second string
	}{
		{"CTF2-7.0-debug-info", 0, "", ""},
		{"CTF2-7.0-succeed1", 0, "", ""},
		{"CTF2-7.0-trace-with-index", 0, "", ""},
		{"CTF2-vl-ints", 0, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w trace.Warnings
			got := textOf(t, recorded(t, test.name), &w)
			for _, l := range w.Lines() {
				t.Log(l)
			}
			t.Log(len(got), "\n"+strings.Join(got[:min(len(got), 5)], "\n"))
		})
	}
}
