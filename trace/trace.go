// Package trace is the model in which the rooms meet: what a recorded host is, what happened on it, and which pairs of
// happenings are the two ends of one message.
//
//	format/*  -->  Capture, List  -->  match  -->  Problem (Clocks, Channels)  -->  align  -->  clock.Map per clock
//	format/*  -->  Frame by Frame  ----------------------------------------------->  order  -->  format/*, show
//
// A [Capture] is one packet capture reduced to what matching needs: a [Packet] of 40 bytes for every frame of the file,
// so that ten million packets fit into 400 MB. The bytes themselves stay in the file; a [FrameReader] brings them a
// second time when the corrected packets are written.
//
// A [Clock] is what stamps: one per host, or two where a capture's sent and received packets were stamped by different
// ones. A [Channel] holds all messages from one clock to another. A [Problem] is everything that alignment is told.
package trace

import "meridian/clock"

// Clock is one source of stamps.
type Clock struct {
	Name        string // unique among the clocks of a problem: the host's name, or "HOST/rx" for its second clock
	Host        string
	First, Last clock.HostTime // the extent of its stamps, ns of this clock
	Granularity int64          // step of its stamps in ns, at least 1
	Events      int64          // stamped by it
}

// Message is one message: sent at an instant of the sender's clock, received at one of the receiver's, both in ns.
type Message struct {
	Sent, Received clock.HostTime
}

// Channel holds messages from one clock to another, clocks given by their index in the problem. The messages are in no
// particular order, and several channels may join the same two clocks.
type Channel struct {
	From, To int
	Messages []Message
}

// Stamp is an instant of one clock of a problem.
type Stamp struct {
	Clock int
	Time  clock.HostTime
}

// Broadcast is one sending over a medium that reaches all its receivers at once, to within the difference of their
// delays. The sender, where it is known, has ordinary messages to them as well.
type Broadcast struct {
	Receptions []Stamp
}

// Sample is one reading of a clock against a reference, which is a clock of the problem like others: when Clock showed
// Host, the clock Against showed Reference, give or take Error (ns).
type Sample struct {
	Clock, Against  int
	Host, Reference clock.HostTime
	Error           int64
}

// Problem is what alignment is given: the clocks and what was sent between them.
type Problem struct {
	Clocks     []Clock
	Channels   []Channel
	Broadcasts []Broadcast
	Samples    []Sample
}
