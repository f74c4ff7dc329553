package view

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
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
		{"   1: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C350 01 0:0 0:0 0 " + other + " 0 9\n", "127.0.0.1:8080", "127.0.0.1:50000", other},
		{"   1: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:C350 01 0:0 0:0 0 7 0 9\n", "[::1]:8080", "[::1]:50000", "7"},
		{"   1: 0100007F:1F90 0100007F:C350 06 00000000:00000000 03:00000000 00000000  0        0 0 3 0\n", "127.0.0.1:8080", "127.0.0.1:50000", "-1"},
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

// connected returns both ends of a connection to 127.0.0.1, made from an address of this machine.
func connected(t *testing.T, from net.IP) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	client, err = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: time.Minute}).Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Skipf("no connection from %s to 127.0.0.1: %v", from, err)
	}
	t.Cleanup(func() { client.Close() })
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return client, server
}

func TestWhoseAConnectionIsIsKnownFromAnyAddressOfThisMachine(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if !ok || network.IP.To4() == nil {
			continue
		}
		t.Run(network.IP.String(), func(t *testing.T) {
			_, server := connected(t, network.IP)
			if uid, found := ownerOfPeer(server); !found || uid != os.Getuid() {
				t.Errorf("a connection from %s is of user %d (found: %v), want %d", network.IP, uid, found, os.Getuid())
			}
		})
	}
}

func TestAConnectionThatItsUserHasClosedIsNobodys(t *testing.T) {
	client, server := connected(t, net.IPv4(127, 0, 0, 1))
	client.Close()
	if _, err := server.Read(make([]byte, 1)); err != io.EOF { // so that the kernel knows of the end
		t.Fatal(err)
	}
	if !foreign(server) {
		t.Error("what was sent over a connection that its user has closed is believed")
	}
}
