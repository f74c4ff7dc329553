package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

func TestAnAddressThatNobodyCanListenAtIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ listen, says string }{
		{"127.0.0.1", "missing port"},
		{"127.0.0.1:nats", "is no port"},
		{"127.0.0.1:65536", "is no port"},
		{"127.0.0.1:-1", "is no port"},
	} {
		if b, err := Start(Options{Listen: test.listen, Name: "test"}); err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), test.listen) {
			t.Errorf("%s: %v, %v", test.listen, b, err)
		}
	}
	if _, err := Start(Options{Listen: "127.0.0.1:0", Name: "test", Users: []wire.User{{Role: "root", Name: "x", Key: "U"}}}); err == nil {
		t.Error("a broker for a role that there is not")
	}
}

// Without keys everybody who reaches the broker may read and send: nobody beyond this machine may.
func TestOnlyAddressesOfThisMachineNeedNoKeys(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"127.0.0.1:4222": true, "127.9.9.9:1": true, "[::1]:4222": true, "localhost:4222": true,
		"0.0.0.0:4222": false, ":4222": false, "[::]:4222": false, "192.0.2.1:4222": false, "host:4222": false, "127.0.0.1": false, "localhost.example.org:1": false,
	} {
		if err := CheckListen(address); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestABrokerWithoutKeysDoesNotGetSome(t *testing.T) {
	t.Parallel()
	b, err := Start(Options{Listen: "0.0.0.0:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.SetUsers([]wire.User{{Role: wire.HostRole, Name: "web", Key: "U"}}); err == nil {
		t.Error("users of a broker without")
	}
	if !strings.HasPrefix(b.URL(), "nats://127.0.0.1:") {
		t.Errorf("clients here connect to %s", b.URL())
	}
	url, inProcess := b.InProcess()
	c, err := nats.Connect(url, inProcess, nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Flush(); err != nil {
		t.Error(err)
	}
}
