package broker

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestAnAddressThatIsNotFreeIsRefusedByItsCause(t *testing.T) {
	t.Parallel()
	failed := func(err error) error {
		return &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", err)}
	}
	for _, test := range []struct {
		err  error
		port int
		says string
	}{
		{failed(syscall.EACCES), 80, "permission denied: ports below 1024 need root or CAP_NET_BIND_SERVICE"},
		{failed(syscall.EACCES), 4222, "permission denied: choose another address or port"},
		{failed(syscall.EADDRINUSE), 80, "uses the port: end it or choose another port"},
		{failed(syscall.EADDRNOTAVAIL), 80, "no interface of this machine has the address"},
		{errors.New("no buffers"), 80, "no buffers: choose another"},
	} {
		if got := explain(test.err, "127.0.0.1:80", test.port).Error(); !strings.Contains(got, test.says) || !strings.Contains(got, "127.0.0.1:80") || strings.Contains(got, "bind: address") {
			t.Errorf("%v: %s", test.err, got)
		}
	}
}

func TestABrokerWhosePortIsTakenSaysSoOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var lines atomic.Int64
	b, err := Start(Options{Listen: l.Addr().String(), Name: "test", Log: func(string, ...any) { lines.Add(1) }})
	if err == nil {
		b.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "uses the port") || lines.Load() != 0 {
		t.Errorf("%v, and %d lines beside it", err, lines.Load())
	}
}
