package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"meridian/sensor"
)

func init() { roles["pingpong"] = bePingPong }

// Ports of the two sides, whose messages are numbered from 1: those of the side that begins are odd.
const (
	pingPort = 7001
	pongPort = 7002
)

// messageLength is that of a message, which a packet shows of it: no two that follow each other have the same.
func messageLength(n int) int { return 8 + n%499 }

// bePingPong is one side of a ping-pong: the one that begins, or the other one. It emits marks directly before the call
// that sends a message, and when it has one whole. Its calls are the plain ones, which wait in the kernel.
func bePingPong() {
	if err := pingPong(os.Getenv("NETWORK") == "tcp", os.Getenv("BEGINS") == "1"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func pingPong(tcp, begins bool) error {
	if err := sensor.Start(sensor.Options{Program: os.Getenv("PROGRAM"), Dir: os.Getenv("RING")}); err != nil {
		return err
	}
	messages, err := strconv.Atoi(os.Getenv("MESSAGES"))
	if err != nil {
		return err
	}
	fd, err := paired(tcp, begins, func() error {
		fmt.Println("ready")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	})
	if err != nil {
		return err
	}
	fmt.Println("socket", fd)
	buffer := make([]byte, messageLength(498))
	for n := 1; n <= messages; n++ {
		b := buffer[:messageLength(n)]
		if n%2 == 1 != begins {
			if err := receive(fd, b); err != nil {
				return err
			}
			sensor.Receive(uint64(n))
			if got := binary.LittleEndian.Uint64(b); got != uint64(n) {
				return fmt.Errorf("message %d came for %d", got, n)
			}
			continue
		}
		binary.LittleEndian.PutUint64(b, uint64(n))
		sensor.Send(uint64(n))
		if sent, err := unix.Write(fd, b); err != nil || sent != len(b) {
			return fmt.Errorf("message %d: %d bytes of %d were sent: %w", n, sent, len(b), err)
		}
	}
	return sensor.Stop()
}

// paired returns the socket, which has its partner when both sides were let go.
func paired(tcp, begins bool, wait func() error) (fd int, err error) {
	own, peer := unix.SockaddrInet4{Port: pongPort}, unix.SockaddrInet4{Port: pingPort}
	if begins {
		own.Port, peer.Port = peer.Port, own.Port
	}
	for name, to := range map[string]*[4]byte{"OWN": &own.Addr, "PEER": &peer.Addr} {
		a, err := netip.ParseAddr(os.Getenv(name))
		if err != nil {
			return 0, err
		}
		*to = a.As4()
	}
	kind := unix.SOCK_DGRAM
	if tcp {
		kind = unix.SOCK_STREAM
	}
	if fd, err = unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &own); err != nil {
		return 0, err
	}
	if tcp && !begins {
		if err := errors.Join(unix.Listen(fd, 1), wait()); err != nil {
			return 0, err
		}
		fd, _, err = unix.Accept(fd)
	} else {
		err = errors.Join(wait(), unix.Connect(fd, &peer))
	}
	if tcp && err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	return fd, err
}

// receive fills a buffer.
func receive(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(fd, b)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		b = b[n:]
	}
	return nil
}
