package netlab

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// disturb is the work of a wire between eth0 and eth1: it passes every frame on to the other side as the order says, until its
// orders end. It stands for tc's netem, which many kernels lack.
func disturb(orders io.Reader, answers io.Writer) error {
	var how Disturbance
	in := json.NewDecoder(orders)
	if err := in.Decode(&how); err != nil {
		return err
	}
	var sides [2]int
	for i, name := range []string{"eth0", "eth1"} {
		var err error
		if sides[i], err = listen(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for i := range sides {
		go how.pass(sides[i], sides[1-i], rand.New(rand.NewPCG(how.Seed, uint64(i))))
	}
	fmt.Fprintln(answers, "ready")
	_, err := io.Copy(io.Discard, in.Buffered())
	if err == nil {
		_, err = io.Copy(io.Discard, orders)
	}
	return err
}

// listen returns a socket of all frames that come in at an interface, whomever they are for.
func listen(name string) (int, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return 0, err
	}
	const all = uint16(unix.ETH_P_ALL&0xff<<8 | unix.ETH_P_ALL>>8)
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, int(all))
	if err != nil {
		return 0, err
	}
	if err := unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<26); err != nil {
		return 0, err
	}
	if err := unix.Bind(s, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index}); err != nil {
		return 0, err
	}
	m := unix.PacketMreq{Ifindex: int32(i.Index), Type: unix.PACKET_MR_PROMISC}
	return s, unix.SetsockoptPacketMreq(s, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &m)
}

func (how Disturbance) pass(from, to int, rng *rand.Rand) {
	var sending sync.Mutex // the kernel has queues of its own, so order within one instant does not matter
	b := make([]byte, 1<<16)
	for {
		n, source, err := unix.Recvfrom(from, b, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return // the wire is taken down
		}
		if l, ok := source.(*unix.SockaddrLinklayer); !ok || l.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		copies := 1
		if rng.Float64() < how.Lost {
			copies = 0
		} else if rng.Float64() < how.Repeated {
			copies = 2
		}
		frame := append([]byte(nil), b[:n]...)
		for range copies {
			delay := how.Delay
			if rng.Float64() < how.Late {
				delay += time.Duration(rng.Int64N(int64(how.Delay) + 1))
			}
			time.AfterFunc(delay, func() {
				sending.Lock()
				defer sending.Unlock()
				unix.Write(to, frame) // a full queue loses it, as networks do
			})
		}
	}
}
