// Package trace is the model that all other packages share: hosts, what was recorded on them, and which recorded events are the two
// ends of one message.
//
//	format/*  -->  Capture, Marks, List  -->  match  -->  Problem (Clocks, Channels)  -->  align  -->  clock.Map per clock
//	format/*  -->  Source of Events      -->  order  -->  TimelineEvents  -->  Sink: format/*, the viewer
//	format/*  -->  FrameReader           -->  order  -->  one capture of all hosts
//
// # Two kinds of time
//
// What a host recorded carries the stamp of the host's clock, a [clock.HostTime]. Stamps of different clocks cannot be compared. A
// [TimelineEvent] has a [clock.TimelineTime] as well: where a [clock.Map] puts the stamp on the timeline.
//
// # Packets and messages
//
// A [Capture] is one packet capture reduced to what matching needs: a [Packet] of 40 bytes for every frame of the file,
// so that ten million packets fit into 400 MB. The bytes themselves stay in the file; a [FrameReader] reads them a
// second time when the corrected packets are written. [Marks] are events that name their message themselves.
//
// A [Clock] is what stamps: one per host, or two where a capture's sent and received packets were stamped by different
// ones. A [Channel] holds all messages from one clock to another. A [Problem] is the whole input of alignment.
//
// # Events
//
// A [Source] reads the events of one trace, a [Sink] writes those of a timeline. An [Event] belongs to a [Stream], which is a row
// of the timeline, and to a [Class], which names its fields; [Value] and [Type] describe those. [Warnings] counts and groups
// what was wrong with an input.
package trace

import "meridian/clock"

// Clock is one source of stamps.
type Clock struct {
	Name        string         // unique among the clocks of a problem: the host's name, or "HOST/rx" for its second clock
	Host        string         // the host that it belongs to
	First, Last clock.HostTime // the earliest and the latest of its stamps
	Granularity int64          // step of its stamps in ns, at least 1
	Events      int64          // the number of events that it stamped
	// Free leads from its stamps to a clock of the same host that nobody steers, with bounds: alignment then assumes of that one what it
	// assumes of clocks. Nil where there is none, or the stamps are its own.
	Free *clock.PairMap
	// Activity tells when the clock stamped events; nil where that is not known.
	Activity Activity
}

// Activity tells when a clock stamped events, of messages or not. A clock was not set forward over readings that it
// showed, and one whose readings follow each other showed none twice. Its methods may take as long as going over the
// trace.
type Activity interface {
	// Between reports whether the clock stamped an event between two readings, both excluded.
	Between(from, to clock.HostTime) bool
	// RanBack reports whether the clock showed an event, in the order in which they were recorded, a reading that is
	// behind an earlier one by more than so many ns.
	RanBack(by int64) bool
}

// Message is one message: when it was sent, by the sender's clock, and when it was received, by the receiver's.
type Message struct {
	Sent, Received clock.HostTime
}

// Channel holds messages from one clock to another. From and To are indexes into the clocks of the problem. The messages are in no
// particular order, and several channels may join the same two clocks.
type Channel struct {
	From, To int
	Messages []Message
}

// Stamp is an instant of one clock.
type Stamp struct {
	Clock int // index into the clocks of the problem
	Time  clock.HostTime
}

// Broadcast is one sending over a medium that reaches all its receivers at once, to within the difference of their
// delays. The sender, where it is known, has ordinary messages to them as well.
type Broadcast struct {
	Receptions []Stamp
}

// Sample is one reading of a clock against a reference, which is a clock of the problem like others: when Clock showed
// Host, the clock Against showed Reference, with an error of at most Error ns.
type Sample struct {
	Clock, Against  int
	Host, Reference clock.HostTime
	Error           int64
}

// Problem is the input of alignment: the clocks and what was sent between them.
type Problem struct {
	Clocks     []Clock
	Channels   []Channel
	Broadcasts []Broadcast
	Samples    []Sample
}
