package match

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// TaggedFile is the marks of one file, nil for none, and the clock of each of its hosts.
type TaggedFile struct {
	*trace.Marks
	Clocks []int // by index of the file's hosts; -1: a host whose marks are not to be used
}

// TaggedResult is what marks amount to.
type TaggedResult struct {
	Channels    []trace.Channel    // messages between two clocks, in order of From, then To
	Collectives []trace.Collective // of members on two clocks at least, for [Collectives]; Name is the key in hexadecimal
	Tally       TagTally
}

// TagTally counts what became of the keys.
type TagTally struct {
	Messages    int64 // between two clocks
	Local       int64 // messages and collectives on one clock: they say nothing of others
	Ambiguous   int64 // keys with several senders, or a member that took part twice
	Alone       int64 // keys of which one end was not recorded
	Collectives int64
}

// Tagged joins marks by their keys, whatever files they come from:
//
//	key   Sends at a           Receives at b, c        a -> b, a -> c: one sender, any number of receivers
//	key   Sends at a, b        Receives at c           ambiguous: either may have sent it
//	key   Enters, Leaves at a  Enters, Leaves at b     a collective of a and b
//
// Wherever a key has several senders all its messages are left out, since a wrong message is worse than none; so is a
// collective in which one row of a file took part more than once: its key does not name one operation. What is left out
// is counted in the tally and named in w.
//
// The cost is O(n) for n marks, some 40 bytes of memory each; the order of the result depends on the order of files and
// marks alone.
//
// Marks of a host beyond the file's Clocks, or of a role that is none, are left out, counted and named in w, which may be
// nil.
func Tagged(files []TaggedFile, w *trace.Warnings) *TaggedResult {
	if w == nil {
		w = &trace.Warnings{}
	}
	j := newJoin(files)
	r := &TaggedResult{}
	index := make(map[[2]int]int)
	for k := range j.first {
		j.gather(k)
		r.messages(j, index)
		r.collective(j, j.key(k))
	}
	slices.SortStableFunc(r.Channels, func(a, b trace.Channel) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	if t := r.Tally; t.Ambiguous > 0 {
		w.AddN("", "tagged messages left out: their key has several senders, or one member twice", "", t.Ambiguous)
	}
	if j.invalid > 0 {
		w.AddN("", "marks left out: invalid host number or role", "", j.invalid)
	}
	return r
}

// join holds the marks of all files as chains, one for each key.
type join struct {
	files   []TaggedFile
	first   []place // by key, in order of appearance
	next    [][]place
	invalid int64
	// The marks of the key at hand, by role.
	sent, received []tagEnd
	members        []stay
	rows           map[[3]int]int // members by file, stream and host
}

// place is a mark: its file and its number there. The one before a chain's end is none.
type place struct{ file, mark int32 }

var none = place{-1, -1}

func newJoin(files []TaggedFile) *join {
	files = slices.DeleteFunc(slices.Clone(files), func(f TaggedFile) bool { return f.Marks == nil })
	j := &join{files: files, next: make([][]place, len(files)), rows: make(map[[3]int]int)}
	n := 0
	for _, f := range files {
		n += len(f.Marks.Marks)
	}
	number := make(map[trace.Key]int32, n/2)
	last := make([]place, 0, n/2)
	for f, file := range files {
		j.next[f] = make([]place, len(file.Marks.Marks))
		for m := range file.Marks.Marks {
			mark := &file.Marks.Marks[m]
			here := place{int32(f), int32(m)}
			j.next[f][m] = none
			if mark.Host < 0 || mark.Host >= len(file.Clocks) || mark.Role < trace.Sends || mark.Role > trace.Leaves {
				j.invalid++
				continue
			}
			if file.Clocks[mark.Host] < 0 {
				continue
			}
			k, known := number[mark.Key]
			if !known {
				number[mark.Key] = int32(len(j.first))
				j.first = append(j.first, here)
				last = append(last, here)
				continue
			}
			j.next[last[k].file][last[k].mark] = here
			last[k] = here
		}
	}
	return j
}

func (j *join) mark(p place) *trace.Mark { return &j.files[p.file].Marks.Marks[p.mark] }
func (j *join) key(k int) trace.Key      { return j.mark(j.first[k]).Key }

// tagEnd is one end of a message.
type tagEnd struct {
	time  clock.HostTime
	clock int
}

// stay is one row's part in a collective.
type stay struct {
	clock          int
	entered, left  clock.HostTime
	enters, leaves int // how many marks said so
}

// gather collects the marks of a key.
func (j *join) gather(k int) {
	j.sent, j.received, j.members = j.sent[:0], j.received[:0], j.members[:0]
	for p := j.first[k]; p != none; p = j.next[p.file][p.mark] {
		m := j.mark(p)
		end := tagEnd{m.Time, j.files[p.file].Clocks[m.Host]}
		switch m.Role {
		case trace.Sends:
			j.sent = append(j.sent, end)
		case trace.Receives:
			j.received = append(j.received, end)
		default:
			s := j.member(int(p.file), m.Stream, m.Host, end.clock)
			if m.Role == trace.Enters {
				s.entered = m.Time
				s.enters++
			} else {
				s.left = m.Time
				s.leaves++
			}
		}
	}
}

// member returns the part of a row in the collective at hand.
func (j *join) member(file, stream, host, clock int) *stay {
	row := [3]int{file, stream, host}
	if len(j.members) == 0 {
		clear(j.rows)
	}
	n, known := j.rows[row]
	if !known {
		n = len(j.members)
		j.rows[row] = n
		j.members = append(j.members, stay{clock: clock})
	}
	return &j.members[n]
}

// messages adds those of the key at hand.
func (r *TaggedResult) messages(j *join, index map[[2]int]int) {
	switch {
	case len(j.sent) > 1 && len(j.received) > 0:
		r.Tally.Ambiguous++
		return
	case len(j.sent) == 0 && len(j.received) == 0:
		return
	case len(j.sent) != 1 || len(j.received) == 0:
		r.Tally.Alone++
		return
	}
	from := j.sent[0]
	for _, to := range j.received {
		if from.clock == to.clock {
			r.Tally.Local++
			continue
		}
		r.Tally.Messages++
		c, ok := index[[2]int{from.clock, to.clock}]
		if !ok {
			c = len(r.Channels)
			index[[2]int{from.clock, to.clock}] = c
			r.Channels = append(r.Channels, trace.Channel{From: from.clock, To: to.clock})
		}
		r.Channels[c].Messages = append(r.Channels[c].Messages, trace.Message{Sent: from.time, Received: to.time})
	}
}

// collective adds that of the key at hand.
func (r *TaggedResult) collective(j *join, key trace.Key) {
	if len(j.members) == 0 {
		return
	}
	var members []trace.Member
	spread := false
	for i := range j.members {
		s := &j.members[i]
		if s.enters > 1 || s.leaves > 1 {
			r.Tally.Ambiguous++
			return
		}
		if s.enters == 0 || s.leaves == 0 {
			continue
		}
		members = append(members, trace.Member{Clock: s.clock, Entered: s.entered, Left: s.left})
		spread = spread || s.clock != members[0].Clock
	}
	switch {
	case len(members) < 2:
		r.Tally.Alone++
	case !spread:
		r.Tally.Local++
	default:
		r.Tally.Collectives++
		r.Collectives = append(r.Collectives, trace.Collective{Name: hex.EncodeToString(key[:]), Members: members})
	}
}

// String says in a line what became of the keys.
func (t TagTally) String() string {
	return fmt.Sprintf("%d messages, %d collectives, %d on one clock, %d ambiguous, %d with one end alone",
		t.Messages, t.Collectives, t.Local, t.Ambiguous, t.Alone)
}
