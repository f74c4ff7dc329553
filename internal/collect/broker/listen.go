package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"syscall"
)

// CheckFree listens at an address for an instant, and returns why that fails and what to do. The NATS server prints such an error and gives it to nobody;
// a caller that asks first has made nothing yet.
func CheckFree(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", address, err)
	}
	number, err := strconv.Atoi(port)
	if err != nil || number < 0 || number > 65535 {
		return fmt.Errorf("listen address %q: %q is no port: write a number from 0 to 65535", address, port)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return explain(err, address, number)
	}
	return l.Close()
}

// firstFreePort is the first port that needs no right, unless the system is set otherwise (ip_unprivileged_port_start).
const firstFreePort = 1024

// explain adds to an error of listening what to do.
func explain(err error, address string, port int) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listen address %q: another program, perhaps another server, uses the port: end it or choose another port", address)
	case errors.Is(err, fs.ErrPermission) && port < firstFreePort:
		return fmt.Errorf("listen address %q: permission denied: ports below %d need root or CAP_NET_BIND_SERVICE; choose another port", address, firstFreePort)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("listen address %q: no interface of this machine has the address: choose one that it has", address)
	}
	return fmt.Errorf("listen address %q: %w: choose another address or port", address, err)
}
