package probe

import "sync/atomic"

// Cause is what became of a datagram.
type Cause int

const (
	Malformed Cause = iota // not of the protocol, or of a kind that this end does not take
	Short                  // cut short
	BadMAC                 // the code is wrong: damaged, or by somebody without the key
	Replayed               // the same was taken before
	Unknown                // of a session that is not, or no longer, or of another address
	BadCookie              // the cookie is not of this server, too old, or of another address
	Limited                // more than the source may send
	Full                   // the table of sessions is full
	Quiet                  // within a quiet window
	Unasked                // an answer to no question, or late by more than the last 256
	causes
	accepted Cause = -1
)

var causeNames = [causes]string{"malformed", "short", "bad_mac", "replayed", "unknown_session", "bad_cookie", "limited", "full", "quiet", "unasked"}

func (c Cause) String() string { return causeNames[c] }

// Causes returns all causes for which a datagram is dropped.
func Causes() []Cause {
	all := make([]Cause, causes)
	for c := range all {
		all[c] = Cause(c)
	}
	return all
}

// Stats counts datagrams. All lengths are UDP's payload; each datagram has 28 bytes of headers more with IPv4, 48 with IPv6.
type Stats struct {
	Sent, Received   uint64 // datagrams
	Exchanges        uint64 // questions answered (server), answers taken (client)
	Lost             uint64 // questions without an answer after 32 others (client)
	Sessions         int    // open now
	Opened           uint64 // sessions since the start
	Failed           uint64 // datagrams that the kernel did not send
	Kernel, Hardware uint64 // stamps of this end by kind
	User             uint64
	Dropped          [causes]uint64 // by [Cause]
}

// counts are the same as they are counted.
type counts struct {
	sent, received, exchanges, lost, opened, failed atomic.Uint64
	stamps                                          [Hardware + 1]atomic.Uint64
	sessions                                        atomic.Int64
	dropped                                         [causes]atomic.Uint64
}

func (c *counts) drop(why Cause) { c.dropped[why].Add(1) }

func (c *counts) stats() Stats {
	s := Stats{
		Sent: c.sent.Load(), Received: c.received.Load(), Exchanges: c.exchanges.Load(), Lost: c.lost.Load(),
		Sessions: int(c.sessions.Load()), Opened: c.opened.Load(), Failed: c.failed.Load(),
		User: c.stamps[User].Load(), Kernel: c.stamps[Kernel].Load(), Hardware: c.stamps[Hardware].Load(),
	}
	for i := range s.Dropped {
		s.Dropped[i] = c.dropped[i].Load()
	}
	return s
}
