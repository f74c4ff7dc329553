package view

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// foreign reports whether the other end of a connection is a socket of another user on this machine. The kernel lists the
// sockets with their owners; one that it does not list is on another machine, or hidden, and then the secret is all.
func foreign(c net.Conn) bool {
	uid, found := ownerOfPeer(c)
	return found && !slices.Contains(friends(), uid)
}

// ownerOfPeer returns the user whose socket is the other end of a connection. It looks for any address: a socket may have any of the
// machine's own ones, whatever it connects to.
func ownerOfPeer(c net.Conn) (uid int, found bool) {
	local, ok1 := addressOf(c.LocalAddr())
	remote, ok2 := addressOf(c.RemoteAddr())
	if !ok1 || !ok2 {
		return 0, false
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(table)
		if err != nil {
			continue
		}
		uid, found := ownerOf(file, remote, local)
		file.Close()
		if found {
			return uid, true
		}
	}
	return 0, false
}

// friends are the users whose connections are accepted: that of this process, root, and the user behind sudo.
func friends() []int {
	all := []int{0, os.Geteuid(), os.Getuid()}
	if id, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil {
		all = append(all, id)
	}
	return all
}

// nobody is the owner of a socket that its program has closed: the kernel does not say whose it was, and shows root.
const nobody = -1

// ownerOf looks for a socket by its two ends in a table as proc(5) has it: sl, local, remote, st, queues, timer, retransmits,
// uid, timeout, inode (0 once it is closed).
func ownerOf(table io.Reader, local, remote netip.AddrPort) (uid int, found bool) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 {
			continue
		}
		a, err1 := kernelAddress(f[1])
		b, err2 := kernelAddress(f[2])
		if err1 != nil || err2 != nil || a != local || b != remote {
			continue
		}
		if f[9] == "0" {
			return nobody, true
		}
		if uid, err := strconv.Atoi(f[7]); err == nil {
			return uid, true
		}
	}
	_ = lines.Err() // what cannot be read is as a table that cannot be opened
	return 0, false
}

// kernelAddress reads 0100007F:1F90: words of four bytes in the machine's order, which is little-endian wherever we run,
// and a port.
func kernelAddress(s string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(host)
	if err != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("invalid address in /proc/net/tcp: %q", s)
	}
	for i := 0; i < len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
	addr, ok := netip.AddrFromSlice(b)
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, fmt.Errorf("invalid address in /proc/net/tcp: %q", s)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}
