// Package probe exchanges datagrams with other hosts and stamps them, so that estimators (align/online) can tell how the clocks
// of two hosts stand.
//
//	client                                server
//	T1 ---- question n ------------------> T2
//	T4 <--- answer n: T2, T3 user, ------- T3
//	        and T3 of answer n-1
//
// In go the address of a server and the key that both ends share. Out come samples: T1 to T4, each with the kind of its stamp
// (hardware, kernel, user space) and its error. The kernel's stamp of an answer's sending is known only after the sending, so
// it comes with the next answer (interleaved); the answer itself holds a stamp of user space from before the sending, which is a
// weaker but strict floor.
//
// Stamps are on the host's free clock, CLOCK_MONOTONIC_RAW plus a constant, so that a steered system clock does not bend them.
// docs/clock-protocol.md draws the datagrams and says what the protocol withstands.
package probe

import (
	"encoding/binary"
	"net/netip"
	"time"

	"meridian/clock"
)

// Options are of both ends; zero values are the defaults.
type Options struct {
	Key   Key
	Clock Clock // default System()
	// Windows are those of every day in which a client asks nothing and a server answers nothing.
	Windows Daily

	// Interface names one whose hardware stamps are used, if it has them: the socket sends and receives through it alone. "" for none.
	Interface string
	// PHC is the clock of the hardware's stamps in place of that of Interface, for tests.
	PHC PHC

	// Of a client.

	Rate     float64 // most exchanges per second, default 32, at most 1000
	MinRate  float64 // fewest, when the bound is narrow and stable; default an eighth of Rate
	Single   bool    // probes one by one, not in pairs
	Together bool    // asks all hosts in common rounds, at the pace of the quickest
	Burst    int     // exchanges at once at the start and at slow polls, default 8; negative: none
	Local    string  // the address to send from, default any

	// Of a server.

	MaxSessions int     // default 4096
	MaxRate     float64 // questions per second of a session, default 1024

	// Record is called with each stamp of this end as soon as it is final, in the goroutine of Run or Serve.
	Record func(Event)
}

const (
	defaultRate        = 32
	greatestRate       = 1000
	defaultBurst       = 8
	defaultMaxSessions = 4096
	defaultMaxRate     = 1024
	pairSpacing        = 20 * time.Microsecond
)

// Sample is one exchange.
type Sample struct {
	Host           int            // index of the server among those of the client
	Peer           netip.AddrPort // its address
	Session        uint32
	Number         uint64 // of the exchange within the session, from 1
	T1, T2, T3, T4 Stamp  // T1 and T4 on this host's clock, T2 and T3 on the server's
	// Late marks the second sample of an exchange, which differs from the first in T3 alone: the server's kernel or hardware
	// stamp in place of the one of user space. It comes with the answer to a later question.
	Late   bool
	Length int // of each datagram, UDP payload
	// SteeringHere and SteeringThere are numbers that change when the rate of a REALTIME was changed; 0: not known.
	SteeringHere, SteeringThere uint8
}

// Event is one stamp of this end, for the trace.
type Event struct {
	Send    bool
	Answer  bool // false: a question
	Session uint32
	Number  uint64
	Flow    uint64 // the datagram's tag, the same at both ends and unlike all others
	Off     int64  // by how much Stamp.Monotonic may be off, ns, beyond what readings of the clocks show
	Stamp   Stamp
	Peer    netip.AddrPort
}

// Offset is REALTIME of the host whose stamp it is less its free clock, where known.
func (s Stamp) Offset() int64 { return clock.Sub(s.Wall, s.Time) }

// flowLabel keeps tags apart from other codes of a session.
var flowLabel = []byte("meridian clock tags 1")

// flows returns the number from which a session's tags count: two for each exchange.
func flows(a *authCode) uint64 { return binary.BigEndian.Uint64(a.of(flowLabel)) }

// flow returns the tag of a datagram.
func flow(first uint64, number uint32, isAnswer bool) uint64 {
	f := first + 2*uint64(number)
	if isAnswer {
		f++
	}
	return max(f, 1) // 0 stands for no tag
}
