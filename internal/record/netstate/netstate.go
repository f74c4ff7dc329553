// Package netstate watches the network interfaces of a host, or of one of its network namespaces, while it is recorded.
//
// In goes the kernel's routing netlink. Out come the interfaces as they were at the start, every change of them in the order
// in which the kernel made it, and at any time what they are now:
//
//	Open --> Snapshot                                    the host: names, MACs, MTUs, addresses
//	     \-> Read: present, present, ... | added | address added | changed | ...   as changes, or as [trace] events by Values
//
// Packets have addresses; only this says to which host an address belonged, and when. An address may move to another host during a
// recording: hence the stamps of changes.
//
// The socket for changes is bound before the state is requested, so that no change is missed between the two. Each message is
// compared with the state, and only differences are reported, since the kernel repeats itself. When the kernel drops messages
// that were not read in time, the state is requested again. Differences then get the stamp of that moment, and
// [Watcher.Lost] counts the loss.
//
// # Stamps
//
// The kernel does not stamp netlink messages. A change is stamped when it is read, on CLOCK_MONOTONIC and on REALTIME. So it
// happened before its stamp, by the wakeup of a thread (some 50 us on an idle machine). Use MONOTONIC for order: REALTIME may
// be set meanwhile.
//
// A change costs a few microseconds and there are few. No privilege is needed but to enter another network namespace
// (CAP_SYS_ADMIN). Sources: rtnetlink(7), netlink(7), RFC 3549; Clement and Dagenais 2009, section 8.
package netstate

import (
	"bytes"
	"net"
	"net/netip"
	"slices"

	"meridian/clock"
)

// Interface is a network interface as the kernel describes it.
type Interface struct {
	Index     int
	Name      string
	Hardware  uint16 // ARPHRD_ number: 1 Ethernet, 772 loopback, 65534 none
	MAC       net.HardwareAddr
	MTU       int
	Up        bool // switched on
	Running   bool // and it has a carrier
	Addresses []netip.Prefix
}

// alike reports whether two states of one interface differ in nothing but addresses.
func (i *Interface) alike(o *Interface) bool {
	return i.Name == o.Name && i.Hardware == o.Hardware && bytes.Equal(i.MAC, o.MAC) && i.MTU == o.MTU && i.Up == o.Up && i.Running == o.Running
}

func (i *Interface) clone() Interface {
	c := *i
	c.MAC, c.Addresses = slices.Clone(i.MAC), slices.Clone(i.Addresses)
	return c
}

// Kind says what happened to an interface.
type Kind uint8

// The kinds of changes.
const (
	Present        Kind = iota // so it was when the recording began: once for each address, or once without
	Added                      // it appeared, still without addresses
	Changed                    // its name, MAC, MTU or link state is another
	Removed                    // it is gone
	AddressAdded               // Address is one of its addresses from now on
	AddressRemoved             // and no longer
)

var kinds = [...]string{"present", "added", "changed", "removed", "address_added", "address_removed"}

func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "unknown"
}

// Stamp is an instant on two clocks of the kernel, in ns.
type Stamp struct {
	Monotonic, Realtime int64
	// Error is how far Realtime may be from what that clock showed at Monotonic.
	Error int64
}

// now reads both clocks, MONOTONIC before and after REALTIME.
func now() Stamp {
	before := clock.Monotonic.Now()
	real := clock.Realtime.Now()
	width := int64(clock.Monotonic.Now() - before)
	return Stamp{Monotonic: int64(before) + width/2, Realtime: int64(real), Error: (width + 1) / 2}
}

// Change is what happened to one interface.
type Change struct {
	Stamp
	Kind      Kind
	Interface Interface    // after the change; before it, if it was removed
	Address   netip.Prefix // of Present, AddressAdded, AddressRemoved; invalid if Present without any
}

// Options say what to watch. The zero value watches the namespace of the caller.
type Options struct {
	// NetNS is a network namespace: a name that "ip netns" knows, or a path with a slash such as /proc/1234/ns/net. Empty: the
	// caller's own.
	NetNS string
	// Buffer is how many bytes of messages the kernel may hold for us. 0: 1 MiB, some thousand changes.
	Buffer int
}
