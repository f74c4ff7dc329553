package record

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// point is where a message can be seen on its way.
type point int

const (
	beforeSend point = iota // by the sensor
	sendCall
	transmit
	softirqBegin
	receipt
	softirqEnd
	callReturn
	afterReceive // by the sensor
	pointCount
)

var points = [pointCount]string{"before sending", "call to send", "transmit", "softirq begins", "receive", "softirq ends", "call returns", "after receiving"}

// links say which point comes before which, for every message; an answer comes after the message that it answers.
var links = []struct {
	before, after point
	next          bool // of the message after it
}{
	{beforeSend, sendCall, false}, {sendCall, transmit, false}, {transmit, receipt, false}, {softirqBegin, receipt, false}, {receipt, softirqEnd, false},
	{receipt, callReturn, false}, {callReturn, afterReceive, false}, {beforeSend, transmit, false}, {receipt, afterReceive, false}, {afterReceive, beforeSend, true},
}

// chain is when a message was at each point, 0 where that is not in the trace.
type chain [pointCount]clock.HostTime

// chains are those of a ping-pong's messages.
type chains struct {
	sides [2]chainSide // of which the first sends the odd ones
	all   []chain      // of message n at n-1
	tcp   bool
	lost  int // events that may be missing

	softirq map[int]clock.HostTime // when the one of network packets began that a processor is in
	inside  map[int][]int          // messages received in it
	reading map[int64]*chainSide   // which side a thread reads for
	of      map[*trace.Class]parts // what a class is, found out once
}

type chainSide struct {
	pid    int64
	socket uint64

	called, sent, arrived int            // how many of its messages
	got                   int            // bytes that it read
	first                 uint32         // its first sequence number
	at                    map[uint32]int // its messages by what lies before them
	returned              int            // of the other one's messages, how many it has
}

// parts are the places of fields in events of a class, -1 for none.
type parts struct {
	name                           string
	pid, tid, arg0, arg2, ret, vec int
}

// read takes the chains from a trace which lacks so many events at most, and returns how many events that says were lost.
func (c *chains) read(t testing.TB, dir string, tcp bool, messages, lost int) uint64 {
	t.Helper()
	c.all, c.tcp, c.lost = make([]chain, messages), tcp, lost
	c.softirq, c.inside, c.reading = map[int]clock.HostTime{}, map[int][]int{}, map[int64]*chainSide{}
	c.of = map[*trace.Class]parts{}
	for i := range c.sides {
		s := &c.sides[i]
		s.at = map[uint32]int{}
		before := 0
		for n := 1 + i; n <= messages; n += 2 {
			s.at[uint32(before)] = n
			before += messageLength(n)
		}
	}
	return eachEvent(t, dir, func(e *trace.Event, class *trace.Class, row *trace.Stream, values []trace.Value) {
		p, ok := c.of[class]
		if !ok {
			p = partsOf(class)
			c.of[class] = p
		}
		switch p.name {
		case "message:message":
			if e.Role == trace.Sends {
				c.pass(int(e.Flow), beforeSend, e.Time)
			} else {
				c.pass(int(e.Flow), afterReceive, e.Time)
			}
		case "syscall_entry_write", "syscall_entry_read":
			for i := range c.sides {
				if s := &c.sides[i]; values[p.pid].Int() == s.pid && values[p.arg0].Uint() == s.socket {
					if p.name == "syscall_entry_read" {
						c.reading[values[p.tid].Int()] = s
						break
					}
					if c.nextMessage(&s.called, i, int(values[p.arg2].Uint())) {
						c.pass(2*s.called-1+i, sendCall, e.Time)
					}
				}
			}
		case "syscall_exit_read":
			c.returns(values[p.tid].Int(), values[p.ret].Int(), e.Time)
		case "irq_softirq_entry":
			if values[p.vec].Uint() == 3 { // NET_RX
				c.softirq[e.Stream] = e.Time
			}
		case "irq_softirq_exit":
			if values[p.vec].Uint() == 3 {
				for _, n := range c.inside[e.Stream] {
					c.pass(n, softirqEnd, e.Time)
				}
				delete(c.softirq, e.Stream)
				c.inside[e.Stream] = c.inside[e.Stream][:0]
			}
		case "net_dev_queue", "netif_receive_skb":
			c.packet(e, class, values, p.name == "net_dev_queue")
		}
	})
}

func partsOf(class *trace.Class) parts {
	find := func(name string) int {
		return slices.IndexFunc(class.Fields, func(f trace.Field) bool { return strings.TrimPrefix(f.Name, "_") == name })
	}
	return parts{class.Name, find("pid"), find("tid"), find("arg0"), find("arg2"), find("ret"), find("vec")}
}

// nextMessage counts a message of a side by its length, and passes over those whose events were lost. It returns false, and counts the
// message, where none of them has that length.
func (c *chains) nextMessage(count *int, side, length int) bool {
	*count++
	for past := 0; past <= min(c.lost, 498); past++ { // 499 messages of a side have different lengths
		if n := 2*(*count+past) - 1 + side; messageLength(n) == length {
			*count += past
			return true
		}
	}
	return false
}

// pass notes that a message was at a point; the first time counts.
func (c *chains) pass(n int, at point, time clock.HostTime) {
	if n >= 1 && n <= len(c.all) && c.all[n-1][at] == 0 {
		c.all[n-1][at] = time
	}
}

// returns takes the end of a call that reads.
func (c *chains) returns(tid, read int64, at clock.HostTime) {
	s := c.reading[tid]
	delete(c.reading, tid)
	if s == nil || read <= 0 {
		return
	}
	other := 1 - slices.IndexFunc(c.sides[:], func(o chainSide) bool { return o.pid == s.pid })
	if from := s.returned; s.got == 0 && c.nextMessage(&from, other, int(read)) {
		s.returned = from - 1 // those between were lost
	}
	s.got += int(read)
	for {
		n := 2*s.returned + 1 + other
		if n > len(c.all) || s.got < messageLength(n) {
			return
		}
		s.got -= messageLength(n)
		s.returned++
		c.pass(n, callReturn, at)
	}
}

// packet finds out of which message a packet is the first: of TCP by its sequence number, of UDP by counting, since it
// shows no more of itself than its length.
func (c *chains) packet(e *trace.Event, class *trace.Class, values []trace.Value, sent bool) {
	h := header{class.Fields, values}.into("network_header")
	l4 := h.into("transport_header")
	from, to := l4.number("source_port"), l4.number("dest_port")
	side := -1
	switch {
	case from == pingPort && to == pongPort:
		side = 0
	case from == pongPort && to == pingPort:
		side = 1
	}
	if side < 0 {
		return
	}
	s, n := &c.sides[side], 0
	if c.tcp {
		const syn = 2
		seq := uint32(l4.number("seq"))
		if l4.number("flags")&syn != 0 {
			s.first = seq + 1
			return
		}
		if h.number("tot_len") <= 4*(h.number("ihl")+l4.number("data_offset")) {
			return // an acknowledgement alone
		}
		n = s.at[seq-s.first]
	} else {
		count := &s.arrived
		if sent {
			count = &s.sent
		}
		if !c.nextMessage(count, side, int(l4.number("len"))-8) {
			return
		}
		n = 2**count - 1 + side
	}
	if sent {
		c.pass(n, transmit, e.Time)
		return
	}
	c.pass(n, receipt, e.Time)
	if began, ok := c.softirq[e.Stream]; ok {
		c.pass(n, softirqBegin, began)
		c.inside[e.Stream] = append(c.inside[e.Stream], n)
	}
}

// header is some fields and their values.
type header struct {
	fields []trace.Field
	values []trace.Value
}

func (h header) find(name string) (*trace.Type, *trace.Value) {
	for i := range h.fields {
		if strings.TrimPrefix(h.fields[i].Name, "_") == name && i < len(h.values) {
			return &h.fields[i].Type, &h.values[i]
		}
	}
	return nil, nil
}

// into returns what is in a choice.
func (h header) into(name string) header {
	t, v := h.find(name)
	if v == nil || v.Kind != trace.Variant {
		return header{}
	}
	return header{t.Fields[v.Bits].Type.Fields, v.Items[0].Items}
}

func (h header) number(name string) uint64 {
	if _, v := h.find(name); v != nil {
		return v.Uint()
	}
	return 0
}

// whole counts the chains of which every point is known.
func (c *chains) whole() (n int) {
	for i := range c.all {
		if !slices.Contains(c.all[i][:], 0) {
			n++
		}
	}
	return n
}

// missing says how often each point is.
func (c *chains) missing() map[string]int {
	m := map[string]int{}
	for i := range c.all {
		for p, at := range c.all[i] {
			if at == 0 {
				m[points[p]]++
			}
		}
	}
	return m
}

// shift moves points of all chains.
func (c *chains) shift(by time.Duration, at ...point) {
	for i := range c.all {
		for _, p := range at {
			if c.all[i][p] != 0 {
				c.all[i][p] += clock.HostTime(by)
			}
		}
	}
}

// verdict is what became of a link.
type verdict struct {
	before, after   point
	checked, beyond int   // beyond what the clocks may be off
	closest         int64 // ns, negative where the later point has the earlier time
}

func (c *chains) check(tolerance time.Duration) (all []verdict) {
	for _, l := range links {
		v := verdict{before: l.before, after: l.after, closest: math.MaxInt64}
		for i := range c.all {
			later := &c.all[i]
			if l.next {
				if i+1 == len(c.all) {
					break
				}
				later = &c.all[i+1]
			}
			if c.all[i][l.before] == 0 || later[l.after] == 0 {
				continue
			}
			v.checked++
			gap := int64(later[l.after] - c.all[i][l.before])
			v.closest = min(v.closest, gap)
			if gap < -int64(tolerance) {
				v.beyond++
			}
		}
		all = append(all, v)
	}
	return all
}
