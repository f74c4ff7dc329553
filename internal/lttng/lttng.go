// Package lttng writes traces as LTTng's kernel tracer would have written them of packets that a test knows, and says of
// every event when it truly happened.
//
// In go packets with their true instants and directions: frames of a capture ([FromCapture]) or of a simulation. Out
// comes the directory of a session:
//
//	DIR/
//	    kernel/            metadata (in packets, as LTTng's is), channel0_0, channel0_1, ... one for each processor
//	    ust/uid/0/64-bit/  the same of a program, if one was asked for
//
// A host of a few processors lives around the packets. A conversation keeps its processor and its thread:
//
//	interrupt, softirq NET_RX [ net_if_receive_skb, sched_waking ], sched_switch, return from recvfrom
//	sendto [ net_dev_queue, net_dev_xmit ], recvfrom, sched_switch
//
// What does not fit between two packets is left out, so that packets keep their instants to the nanosecond. Network
// events have the fields of one of four [Style]s. Metadata is the text that LTTng's versions write, read by format/ctf's
// parser; packets go through its StreamWriter. The layouts of fields are this package's own, so that a test that reads
// with format/ctf and kernel does not compare them with themselves. The package's tests have babeltrace2 read it all.
//
// Faults on demand: events written out of order by up to 5 us, as nested interrupts leave them; an interval in which one
// processor lost all events, counted in the packets as LTTng counts it.
//
// Source: the instrumentation and the metadata of lttng-modules 2.4, 2.8 and 2.13; Clement and Dagenais 2009 for 0.x.
package lttng

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"meridian/clock"
)

// Style is how a version of the tracer describes packets.
type Style int

const (
	Nested      Style = iota // 2.10 and later: the transport header lies within the network header
	Separate                 // 2.8: it follows it
	Extended                 // 0.x: flat, TCP over IPv4 alone; what came in is told by buffer first and by header later
	Unaddressed              // addons of 2.4: TCP alone, without addresses or lengths
	Styles                   // how many there are
)

func (s Style) String() string {
	if s < 0 || s >= Styles {
		return "unknown"
	}
	return [...]string{"nested", "separate", "extended", "unaddressed"}[s]
}

// Packet is what passed a host's network interface.
type Packet struct {
	At   clock.TimelineTime // true instant, ns since 1970
	Sent bool               // or received
	Data []byte             // from the IP header on, at least to the end of the transport header
	Wire int                // length from the IP header on
}

// Options says what is written; the zero value is ready.
type Options struct {
	Host       string // 0: "host"
	Style      Style
	Clock      func(clock.TimelineTime) clock.HostTime // what the host's clock shows at a true instant; nil: just that
	Processors int                                     // 0: 4
	Program    string                                  // the name of the threads that send and receive; "": "server"
	Quiet      bool                                    // nothing but packets
	OutOfOrder bool                                    // some events are written up to 5 us after ones that happened later
	Gap        time.Duration                           // for so long, from the middle of the trace on, one processor's events are discarded
	User       bool                                    // the program is traced too
	PacketSize int                                     // bytes of a packet; 0: 64 KiB
	Plain      bool                                    // metadata as plain text instead of in packets
}

// Trace is what was written.
type Trace struct {
	Dir        string
	Kernel     string // the directory of the kernel's trace
	Events     []Stamp
	Packets    int   // events that tell of packets: those that the style can tell of
	Discarded  int64 // events of the gap
	OutOfOrder int64 // events that a later one precedes in its stream
}

// Stamp is when an event happened, and when by the host's clock.
type Stamp struct {
	True  clock.TimelineTime
	Shown clock.HostTime
}

// Write writes a session's directory. Packets may be in any order.
func Write(dir string, packets []Packet, o Options) (*Trace, error) {
	if o.Style < 0 || o.Style >= Styles {
		return nil, fmt.Errorf("lttng: unknown style %d", o.Style)
	}
	if o.Clock == nil {
		o.Clock = func(t clock.TimelineTime) clock.HostTime { return clock.HostTime(t) }
	}
	if o.Host == "" {
		o.Host = "host"
	}
	if o.Program == "" {
		o.Program = "server"
	}
	if o.Processors <= 0 {
		o.Processors = 4
	}
	if o.PacketSize <= 0 {
		o.PacketSize = 64 << 10
	}
	h := newHost(&o)
	if err := h.live(packets); err != nil {
		return nil, fmt.Errorf("lttng: %s: %w", dir, err)
	}
	t := &Trace{Dir: dir, Kernel: filepath.Join(dir, "kernel"), Packets: h.packets}
	domains := []domain{{dir: t.Kernel, classes: h.classes, channels: h.kernel}}
	if o.User {
		domains = append(domains, domain{dir: filepath.Join(dir, "ust", "uid", "0", "64-bit"), classes: userClasses(), channels: h.user, user: true})
	}
	// LTTng's clock counts from the start of the machine; its metadata says how far that was from 1970 by the host's.
	boot := h.first(o.Clock) - uptime
	for i := range domains {
		if err := os.MkdirAll(domains[i].dir, 0o777); err != nil {
			return nil, err
		}
		if err := domains[i].write(t, &o, boot); err != nil {
			return nil, fmt.Errorf("lttng: %w", err)
		}
	}
	return t, nil
}

// uptime is how long the host had been running when its trace began, ns.
const uptime = 5_000_000_000_000
