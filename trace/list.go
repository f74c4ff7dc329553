package trace

import "meridian/clock"

// List is a file of messages that are matched already: its hosts in order of appearance and the channels between
// them, by index into Hosts. In collectives and broadcasts, Clock is an index into Hosts as well.
type List struct {
	File        string
	Hosts       []string
	Channels    []Channel
	Collectives []Collective
	Broadcasts  []Broadcast
}

// Collective is one operation that no member leaves before all have entered it: a barrier, an all-reduce, an all-gather
// (MPI, NCCL). Operations that let
// members go early (a broadcast's root, a reduction's leaves) are not collectives in this sense.
type Collective struct {
	Name    string // unique in its list
	Members []Member
}

// Member is one participant of a collective: when it entered and when it left, by its clock. Several members may
// share a clock.
type Member struct {
	Clock         int
	Entered, Left clock.HostTime
}
