package tracing

import (
	"slices"
	"testing"
)

func TestMountsAreFoundByTheirType(t *testing.T) {
	const table = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
36 22 0:12 / /sys/kernel/tracing rw,nosuid shared:15 master:2 - tracefs nodev rw
37 22 0:12 /instances/mine /some/instance rw - tracefs nodev rw
38 22 0:12 / /a\040place rw - tracefs nodev rw
39 22 0:12
`
	if got := MountsOf(table, "tracefs"); !slices.Equal(got, []string{"/sys/kernel/tracing", "/a place"}) {
		t.Errorf("%q", got)
	}
}
