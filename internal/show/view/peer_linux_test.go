package view

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
)

func TestTheOwnerOfAConnectionIsRead(t *testing.T) {
	us := fmt.Sprint(os.Getuid())
	const other = "4242424"
	for _, test := range []struct {
		table         string
		local, remote string
		want          string // "": not found
	}{
		{"   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  " + us + "        0 1 1 0\n", "127.0.0.1:8080", "127.0.0.1:50000", us},
		{"   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  " + other + "        0 1 1 0\n", "127.0.0.1:8080", "127.0.0.1:50000", other},
		{"   1: 0100007F:1F91 0100007F:C350 01 00000000:00000000 00:00000000 00000000  0        0 1 1 0\n", "127.0.0.1:8080", "127.0.0.1:50000", ""},
		{"   1: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C350 01 0:0 0:0 0 " + other + " 0\n", "127.0.0.1:8080", "127.0.0.1:50000", other},
		{"   1: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:C350 01 0:0 0:0 0 7 0\n", "[::1]:8080", "[::1]:50000", "7"},
		{"sl local rem st\n\n 1: x:y z 01\n 1: 0100007F 0100007F:C350 01 0 0 0 0\n", "127.0.0.1:8080", "127.0.0.1:50000", ""},
	} {
		got := ""
		if uid, found := ownerOf(strings.NewReader(test.table), netip.MustParseAddrPort(test.local), netip.MustParseAddrPort(test.remote)); found {
			got = fmt.Sprint(uid)
		}
		if got != test.want {
			t.Errorf("%s: owner %q", test.table, got)
		}
	}
}
