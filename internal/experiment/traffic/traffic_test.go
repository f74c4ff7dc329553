package traffic

import (
	"strings"
	"testing"
)

func TestLossDropsAPartOrAll(t *testing.T) {
	t.Parallel()
	for part, want := range map[float64]string{1e-9: "} numgen random mod 1000000 < 1 drop", 0.25: "} numgen random mod 1000000 < 250000 drop", 1: "}  drop", 2: "}  drop"} {
		if text := Loss("c", "eth0", part); !strings.Contains(text, want) || !strings.Contains(text, `device "eth0"`) || !strings.HasPrefix(text, "chain c {\n") {
			t.Errorf("%v: %s", part, text)
		}
	}
}
