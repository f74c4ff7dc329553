package netstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// errInterrupted: the interfaces changed while the kernel listed them, and the list may lack some.
var errInterrupted = errors.New("the list was interrupted by changes")

// errRestless: every list that was asked for was interrupted.
var errRestless = errors.New("interfaces: netlink: changes are faster than the kernel lists the interfaces")

// list asks for all interfaces and addresses.
func (w *Watcher) list() ([]Interface, error) {
	for range 100 {
		s := state{interfaces: make(map[int]*Interface)}
		err := w.dump(unix.RTM_GETLINK, &s)
		if err == nil {
			err = w.dump(unix.RTM_GETADDR, &s)
		}
		if err == nil {
			return s.snapshot(), nil
		}
		if !errors.Is(err, errInterrupted) {
			return nil, fmt.Errorf("interfaces: netlink: %w", err)
		}
	}
	return nil, errRestless
}

// dump sends one request and takes the answer, many messages in many datagrams up to NLMSG_DONE. An interrupted one is read to
// its end, lest the next request find the rest.
//
//	length (4) | type (2) | flags (2) | sequence (4) | port (4) | family and zeros (4)
func (w *Watcher) dump(request uint16, s *state) error {
	msg := make([]byte, unix.SizeofNlMsghdr+4)
	binary.NativeEndian.PutUint32(msg, uint32(len(msg)))
	binary.NativeEndian.PutUint16(msg[4:], request)
	binary.NativeEndian.PutUint16(msg[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	if err := unix.Sendto(w.ask, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	interrupted := false
	for {
		n, _, err := unix.Recvfrom(w.ask, w.buf, unix.MSG_TRUNC)
		if err == unix.EINTR {
			continue
		} else if err != nil {
			return err
		} else if n > len(w.buf) {
			return fmt.Errorf("a message of %d bytes is longer than the kernel's longest", n)
		}
		messages, err := syscall.ParseNetlinkMessage(w.buf[:n])
		if err != nil {
			return err
		}
		for i := range messages {
			m := &messages[i]
			interrupted = interrupted || m.Header.Flags&unix.NLM_F_DUMP_INTR != 0
			switch m.Header.Type {
			case unix.NLMSG_DONE:
				if interrupted {
					return errInterrupted
				}
				return nil
			case unix.NLMSG_ERROR:
				if len(m.Data) >= 4 {
					return unix.Errno(-int32(binary.NativeEndian.Uint32(m.Data)))
				}
				return unix.EPROTO
			}
			s.apply(m)
		}
	}
}
