//go:build !race && !meridian_nopin

package sensor

import (
	"os/exec"
	"strings"
	"testing"
)

// A call around procPin costs as much as procPin, and the inliner says nothing when enter comes to cost it 81 of 80.
func TestEnterAndSizeAreInlined(t *testing.T) {
	t.Parallel()
	// The compiler's output is kept in the build cache, and replayed.
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build -gcflags=-m: %v\n%s", err, out)
	}
	for _, want := range []string{"can inline enter", "can inline size[", "inlining call to enter", "can inline leave"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the compiler does not say %q: an event has one call more", want)
		}
	}
}
