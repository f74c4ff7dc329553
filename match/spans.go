package match

import (
	"cmp"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// SpanFile is the spans of one file and the clock of each of its hosts.
type SpanFile struct {
	*trace.Marks
	Clocks []int // by index of the file's hosts; -1: a host whose spans are not to be used
}

// SpanMessages is what the messages of a channel of spans are.
type SpanMessages uint8

// The kinds of messages between spans.
const (
	Requests  SpanMessages = iota // from where a client began to where its server began
	Replies                       // from where a server ended to where its client ended
	Handovers                     // from where a producer began to where its consumer ended
)

// SpanChannel holds messages of one kind between two clocks.
type SpanChannel struct {
	trace.Channel
	Kind  SpanMessages
	Steps []int64 // of the timestamp of each message's receipt, ns
	// Weaker are, of replies, the same from where the server began: they hold although servers end after their clients.
	// Nil for other kinds.
	Weaker []trace.Message

	sharedSteps []int64 // of replies: the coarser of the steps of both timestamps of each
}

// SpanResult is what spans amount to.
type SpanResult struct {
	Channels []SpanChannel // in the order of From, To and Kind
	Replies  []ReplyPremise
	Names    []NamePremise
	Tally    SpanTally
	// Unjoined are clocks that have a parent or a child on another clock by which they share no message, ascending. The
	// tally has the reasons.
	Unjoined []int
}

// ReplyPremise is the premise on which the replies of one clock to another rest: that a server ends before its client
// does.
type ReplyPremise struct {
	From, To int // the clocks of servers and of their clients
	Messages int64
	// Refuted is how many replies are left out because the server lasted longer than its client, whatever their clocks.
	// Fallen is how many more are left out since most of the same operation were.
	Refuted, Fallen int64
	Shape           ReplyShape // of the others
}

// NamePremise is the premise that all spans of a host are of one clock.
type NamePremise struct {
	Clock    int
	NamedBy  string // the attribute that names the host
	Services []string
	// Pairs is how many spans and their parents are of different processes of the host, Contradicted how many of these
	// no single clock explains.
	Pairs, Contradicted int64
	// Refuted says that they are too many. Apart says that calls of its processes differ as those of different clocks
	// do.
	Refuted, Apart bool
	// Attribute tells the processes apart that cannot share a clock; "" if none does.
	Attribute string
}

// SpanTally counts what became of the spans.
type SpanTally struct {
	Messages  int64 // between two clocks
	Local     int64 // calls and messages on one clock: they say nothing of others
	Ambiguous int64 // spans whose parent's number several spans have, and replies of a client with several servers
	Alone     int64 // servers and consumers whose parent is in no file
	// Spans whose parent is on another clock, and which are no messages, by the reason.
	Kindless    int64 // of the two, one is neither client nor server, neither producer nor consumer
	MarkedLocal int64 // its source says that the parent is of its own process
}

// Spans joins the spans of all files to messages, and tests what these rest on:
//
//	client    |----------------------|     request: client's start -> server's start
//	server       |------------|            reply:   server's end   -> client's end
//	producer  |-----|                      message: producer's start -> consumer's end
//	consumer     |------------|
//
// That a client begins before its server is the one thing that is believed of all. A reply is a message only if the
// server ended before its client. Durations test that without any clock: a server that lasted longer than its client
// ended after it. Such replies are left out, and where they are most of an operation all of its replies: it does not
// wait for its servers. A consumer may begin when it polls, long before the message was sent, so its end alone is
// evidence.
//
// A server has the number of its client as its parent, or as its own (Zipkin's shared spans). A parent and a child on
// one host test whether the host's name stands for one clock.
//
// The cost is O(n log n) for n spans.
func Spans(files []SpanFile) *SpanResult {
	j := newSpanJoin(files)
	r := &SpanResult{}
	r.joinAll(j)
	r.channels(j)
	r.shapes()
	r.names(j)
	return r
}

// spanJoin finds spans by their numbers.
type spanJoin struct {
	files []SpanFile
	spans []spanRef // of all files
	first map[trace.SpanID]int32
	next  []int32 // by span: another with its number, -1 for none

	servers   [][2]int32 // client and server
	handovers [][2]int32 // producer and consumer
	sameClock [][2]int32 // parent and child of different processes on one clock

}

// spanRef is a span: its file and its number there.
type spanRef struct{ file, mark int32 }

func newSpanJoin(files []SpanFile) *spanJoin {
	j := &spanJoin{first: make(map[trace.SpanID]int32)}
	for _, f := range files {
		if f.Marks != nil && len(f.Spans) > 0 {
			j.files = append(j.files, f)
		}
	}
	for f, file := range j.files {
		for m := range file.Spans {
			s := &file.Spans[m]
			if s.Host < 0 || int(s.Host) >= len(file.Clocks) || file.Clocks[s.Host] < 0 {
				continue
			}
			n := int32(len(j.spans))
			j.spans = append(j.spans, spanRef{int32(f), int32(m)})
			j.next = append(j.next, -1)
			if s.Link {
				continue
			}
			if before, known := j.first[s.ID]; known {
				j.next[n] = before
			}
			j.first[s.ID] = n
		}
	}
	return j
}

func (j *spanJoin) at(n int32) *trace.SpanMark {
	r := j.spans[n]
	return &j.files[r.file].Spans[r.mark]
}

// clockOf returns the clock of a span.
func (j *spanJoin) clockOf(n int32) int {
	r := j.spans[n]
	f := &j.files[r.file]
	return f.Clocks[f.Spans[r.mark].Host]
}

// resource returns what its file says of a span's process; nil if it says nothing.
func (j *spanJoin) resource(n int32) *trace.SpanResource {
	f := &j.files[j.spans[n].file]
	k := j.at(n).Resource
	if k < 0 || int(k) >= len(f.Resources) {
		return nil
	}
	return &f.Resources[k]
}

// find returns the one span of a number and a kind, but for n itself. Others says that spans have the number, of
// whatever kind.
func (j *spanJoin) find(id trace.SpanID, kind trace.SpanKind, n int32) (found, other int32, several bool) {
	found, other = -1, -1
	if id == (trace.SpanID{}) {
		return found, other, false
	}
	k, known := j.first[id]
	if !known {
		return found, other, false
	}
	for ; k >= 0; k = j.next[k] {
		switch {
		case k == n:
		case j.at(k).Kind != kind:
			other = k
		case found >= 0:
			several = true
		default:
			found = k
		}
	}
	return found, other, several
}

// joinAll finds the parents of all spans.
func (r *SpanResult) joinAll(j *spanJoin) {
	for k := range j.spans {
		n := int32(k)
		s := j.at(n)
		switch s.Kind {
		case trace.ServerSpan:
			r.joinServer(j, n)
		case trace.ConsumerSpan:
			r.joinConsumer(j, n)
		default:
			if _, parent, _ := j.find(s.Parent, 255, n); parent >= 0 {
				r.joinOther(j, parent, n)
			}
		}
	}
}

func (r *SpanResult) joinServer(j *spanJoin, n int32) {
	s := j.at(n)
	client, _, several := j.find(s.ID, trace.ClientSpan, n) // Zipkin: both have one number
	shared := client >= 0
	other := int32(-1)
	if !shared && !several {
		client, other, several = j.find(s.Parent, trace.ClientSpan, n)
	}
	switch {
	case several:
		r.Tally.Ambiguous++
	case client >= 0 && s.LocalParent && !shared:
		r.joinOther(j, client, n)
	case client >= 0:
		j.servers = append(j.servers, [2]int32{client, n})
	case other >= 0:
		r.joinOther(j, other, n)
	case s.Parent != (trace.SpanID{}):
		r.Tally.Alone++
	}
}

func (r *SpanResult) joinConsumer(j *spanJoin, n int32) {
	s := j.at(n)
	producer, other, several := j.find(s.Parent, trace.ProducerSpan, n)
	switch {
	case several:
		r.Tally.Ambiguous++
	case producer >= 0 && s.LocalParent && j.clockOf(producer) != j.clockOf(n):
		r.Tally.MarkedLocal++
		r.unjoin(j, producer, n)
	case producer >= 0 && s.Ended:
		j.handovers = append(j.handovers, [2]int32{producer, n})
	case producer >= 0: // without an end it says nothing
	case other >= 0 && !s.Link && j.clockOf(other) != j.clockOf(n):
		r.Tally.Kindless++
		r.unjoin(j, other, n)
	case s.Parent != (trace.SpanID{}):
		r.Tally.Alone++
	}
}

// joinOther notes a parent and a child that are no message.
func (r *SpanResult) joinOther(j *spanJoin, parent, child int32) {
	switch s := j.at(child); {
	case j.clockOf(parent) == j.clockOf(child):
		if j.processesDiffer(parent, child) {
			j.sameClock = append(j.sameClock, [2]int32{parent, child})
		}
	case s.LocalParent:
		r.Tally.MarkedLocal++
		r.unjoin(j, parent, child)
	default:
		r.Tally.Kindless++
		r.unjoin(j, parent, child)
	}
}

// unjoin notes that two spans on different clocks are no message.
func (r *SpanResult) unjoin(j *spanJoin, spans ...int32) {
	for _, n := range spans {
		if i, known := slices.BinarySearch(r.Unjoined, j.clockOf(n)); !known {
			r.Unjoined = slices.Insert(r.Unjoined, i, j.clockOf(n))
		}
	}
}

// processesDiffer reports whether two spans are of different processes, as far as their files tell.
func (j *spanJoin) processesDiffer(a, b int32) bool {
	x, y := j.at(a), j.at(b)
	return j.spans[a].file != j.spans[b].file || x.Stream != y.Stream || x.Resource != y.Resource
}

// spanMessage is a message before it is put into its channel.
type spanMessage struct {
	from, to int
	kind     SpanMessages
	step     int64 // of the receipt
	coarser  int64 // of a reply: the coarser of both
	trace.Message
	weaker trace.Message
	class  int // of a reply: index into the classes
}

// channels makes the channels of all messages.
func (r *SpanResult) channels(j *spanJoin) {
	classes := newReplyClasses()
	var all []spanMessage
	servers := make(map[int32]int, len(j.servers)) // by client
	for _, p := range j.servers {
		servers[p[0]]++
	}
	for _, p := range j.servers {
		c, s := j.at(p[0]), j.at(p[1])
		from, to := j.clockOf(p[0]), j.clockOf(p[1])
		if from == to {
			r.Tally.Local++
			if j.processesDiffer(p[0], p[1]) {
				j.sameClock = append(j.sameClock, p)
			}
			continue
		}
		all = append(all, spanMessage{from: from, to: to, kind: Requests, step: s.StartStep, Message: trace.Message{Sent: c.Start, Received: s.Start}})
		switch {
		case !c.Ended || c.Failed || !s.Ended:
		case servers[p[0]] > 1:
			r.Tally.Ambiguous++
		default:
			all = append(all, spanMessage{
				from: to, to: from, kind: Replies, step: c.EndStep, coarser: max(c.EndStep, s.EndStep), class: classes.add(to, from, c, s),
				Message: trace.Message{Sent: s.End, Received: c.End}, weaker: trace.Message{Sent: s.Start, Received: c.End},
			})
		}
	}
	for _, p := range j.handovers {
		c, s := j.at(p[0]), j.at(p[1])
		from, to := j.clockOf(p[0]), j.clockOf(p[1])
		if from == to {
			r.Tally.Local++
			if j.processesDiffer(p[0], p[1]) {
				j.sameClock = append(j.sameClock, p)
			}
			continue
		}
		all = append(all, spanMessage{from: from, to: to, kind: Handovers, step: s.EndStep, Message: trace.Message{Sent: c.Start, Received: s.End}})
	}
	r.Replies = classes.judge(all)
	r.collect(all, classes)
}

// collect puts messages into their channels.
func (r *SpanResult) collect(all []spanMessage, classes *replyClasses) {
	slices.SortStableFunc(all, func(a, b spanMessage) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.kind, b.kind))
	})
	var c *SpanChannel
	for i := range all {
		m := &all[i]
		if m.kind == Replies && classes.leftOut(m) {
			continue
		}
		if c == nil || c.From != m.from || c.To != m.to || c.Kind != m.kind {
			r.Channels = append(r.Channels, SpanChannel{Channel: trace.Channel{From: m.from, To: m.to}, Kind: m.kind})
			c = &r.Channels[len(r.Channels)-1]
		}
		r.Tally.Messages++
		c.Messages = append(c.Messages, m.Message)
		c.Steps = append(c.Steps, m.step)
		if m.kind == Replies {
			c.Weaker, c.sharedSteps = append(c.Weaker, m.weaker), append(c.sharedSteps, m.coarser)
		}
	}
}

// replyClass is the replies of one operation from one clock to another.
type replyClass struct {
	from, to int
	name     uint32
}

// fewReplies is the number of replies of an operation below which those of all such operations of two clocks are judged
// together.
const fewReplies = 4

// replyClasses tests the replies by durations.
type replyClasses struct {
	number map[replyClass]int
	of     []replyClass
	count  []int64 // replies of each class
	bad    []int64 // refuted ones
	reply  []int   // by reply in order: its class
	isBad  []bool  // by reply
	fallen []bool  // by class
}

func newReplyClasses() *replyClasses { return &replyClasses{number: make(map[replyClass]int)} }

// add takes a reply and returns its number.
//
// A server lasted longer than its client if it did so by more than the steps of the two timestamps between which that
// can be lost.
func (x *replyClasses) add(from, to int, client, server *trace.SpanMark) int {
	key := replyClass{from, to, client.Name}
	k, known := x.number[key]
	if !known {
		k = len(x.of)
		x.number[key] = k
		x.of, x.count, x.bad = append(x.of, key), append(x.count, 0), append(x.bad, 0)
	}
	lasted := clock.Sub(server.End, server.Start) - server.StartStep
	bad := lasted > clock.Sub(client.End, client.Start)+client.EndStep
	x.count[k]++
	if bad {
		x.bad[k]++
	}
	x.reply, x.isBad = append(x.reply, k), append(x.isBad, bad)
	return len(x.reply) - 1
}

// judge decides which classes fall, and returns the premises on which replies rest.
func (x *replyClasses) judge(all []spanMessage) []ReplyPremise {
	x.fallen = make([]bool, len(x.of))
	type rest struct{ count, bad int64 }
	small := make(map[[2]int]rest)
	for k, c := range x.of {
		if x.count[k] < fewReplies {
			s := small[[2]int{c.from, c.to}]
			small[[2]int{c.from, c.to}] = rest{s.count + x.count[k], s.bad + x.bad[k]}
		}
		x.fallen[k] = 2*x.bad[k] > x.count[k]
	}
	for k, c := range x.of {
		if s := small[[2]int{c.from, c.to}]; x.count[k] < fewReplies && 2*s.bad > s.count {
			x.fallen[k] = true
		}
	}
	var out []ReplyPremise
	place := make(map[[2]int]int)
	for i := range all {
		m := &all[i]
		if m.kind != Replies {
			continue
		}
		k, known := place[[2]int{m.from, m.to}]
		if !known {
			k = len(out)
			place[[2]int{m.from, m.to}] = k
			out = append(out, ReplyPremise{From: m.from, To: m.to})
		}
		p := &out[k]
		p.Messages++
		switch {
		case x.isBad[m.class]:
			p.Refuted++
		case x.fallen[x.reply[m.class]]:
			p.Fallen++
		}
	}
	slices.SortFunc(out, func(a, b ReplyPremise) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return out
}

// leftOut reports whether a reply is no message.
func (x *replyClasses) leftOut(m *spanMessage) bool {
	return x.isBad[m.class] || x.fallen[x.reply[m.class]]
}
