package main

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/match"
	"meridian/trace"
)

// sight is a frame that a capture holds.
type sight struct {
	at      int64
	sending int
	place   int
}

// capture lists what host h's capture holds, in the order of its clock, no two at one instant.
func (w *world) capture(h int) []sight {
	var list []sight
	habit := &w.habits[h]
	see := func(at int64, sending int) {
		places := 1
		if habit.doubled != single {
			places = 2
		}
		for place := range places {
			if !w.missed(h, at) {
				list = append(list, sight{habit.clock(at) + habit.offset, sending, place})
			}
			at += 2_000 + w.Int64N(10_000)
		}
	}
	for i := range w.sent {
		s := &w.sent[i]
		if s.from == h {
			see(s.at, i)
			continue
		}
		for _, at := range s.arrived {
			see(at, i)
		}
	}
	slices.SortStableFunc(list, func(a, b sight) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(list); i++ {
		list[i].at = max(list[i].at, list[i-1].at+1)
	}
	return list
}

// decoded reduces the frames that a capture holds.
func (w *world) decoded(h int, list []sight) *trace.Capture {
	host := string(rune('a' + h))
	c := &trace.Capture{Host: host, File: host + ".pcap", Granularity: 1}
	d := pcap.NewDecoder(c.File, nil)
	link := uint16(1)
	if w.habits[h].doubled == cooked {
		link = 113
	}
	for n, s := range list {
		hops := uint8(64)
		if from := w.sent[s.sending].from; from != h && w.habits[from].doubled == routed {
			hops--
		}
		data, wire := w.sent[s.sending].frame(s.place, w.habits[h].doubled, w.habits[h].snap, hops)
		d.Decode(link, &trace.Frame{Number: n, Time: clock.HostTime(s.at), Data: data, Wire: wire}, c.Packets.Append())
	}
	c.Flows = d.Flows()
	return c
}

// score counts messages by class.
type score struct {
	about  string
	counts [2][classes]count // of worlds whose captures hold frames once, and twice
	empty  int               // worlds without messages
	worlds int
}

type count struct{ common, matched, false, wrong int64 }

func newScore() *score { return &score{} }

func (s *score) add(o *score) {
	for i := range s.counts {
		for c := range s.counts[i] {
			a, b := &s.counts[i][c], &o.counts[i][c]
			a.common, a.matched, a.false, a.wrong = a.common+b.common, a.matched+b.matched, a.false+b.false, a.wrong+b.wrong
		}
	}
	s.worlds += o.worlds
	s.empty += o.empty
}

func (s *score) sum(f func(*count) int64) (n int64) {
	for i := range s.counts {
		for c := range s.counts[i] {
			n += f(&s.counts[i][c])
		}
	}
	return n
}

func (s *score) found() int64 { return s.sum(func(c *count) int64 { return c.matched }) }
func (s *score) wrong() int64 { return s.sum(func(c *count) int64 { return c.false }) }

func (s *score) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d worlds, %d without messages, %d messages, %d false\n", s.worlds, s.empty, s.found(), s.wrong())
	for i, name := range []string{"frames once", "frames twice"} {
		for c := range s.counts[i] {
			if n := &s.counts[i][c]; n.common > 0 {
				fmt.Fprintf(&b, "  %-13s %-18s seen at both ends %8d  matched %8d  %5.1f %%  false %d  wrong %d\n", name, classNames[c],
					n.common, n.matched, 100*float64(n.matched)/float64(n.common), n.false, n.wrong)
			}
		}
	}
	return b.String()
}

// minShare is the least share of messages among what was sent and seen at both ends.
const minShare = 0.9

// fault names what is against the bars; "" is nothing.
func (s *score) fault(hostile bool) string {
	if n := s.wrong(); n > 0 {
		return fmt.Sprintf("%d false messages", n)
	}
	if hostile {
		return ""
	}
	protocols := map[string][]class{"TCP": {tcpLinux, tcpSix, tcpPlain}, "UDP": {udpOwn, udpNumber, dns}, "ICMP": {icmpEcho}}
	for name, list := range protocols {
		var n count
		for _, c := range list {
			n.common += s.counts[0][c].common
			n.matched += s.counts[0][c].matched
		}
		if float64(n.matched) < minShare*float64(n.common) {
			return fmt.Sprintf("%s: %d of %d packets seen at both ends matched", name, n.matched, n.common)
		}
	}
	return ""
}

// judge matches a world and compares with what happened.
func judge(w *world) (*score, error) {
	s := &score{about: w.about(), worlds: 1}
	var seen [2]map[int64]int // sending by stamp
	var captures []*trace.Capture
	both := make([][2]bool, len(w.sent))
	for h := range 2 {
		list := w.capture(h)
		seen[h] = make(map[int64]int, len(list))
		for _, x := range list {
			seen[h][x.at] = x.sending
			both[x.sending][h] = true
		}
		captures = append(captures, w.decoded(h, list))
	}
	counts := &s.counts[0]
	if w.habits[0].doubled != single || w.habits[1].doubled != single {
		counts = &s.counts[1]
	}
	for i, b := range both {
		if b[0] && b[1] {
			counts[w.sent[i].class].common++
		}
	}
	var o match.Options
	if w.seed%2 == 0 { // of one way alone nothing else tells the sender
		o.Addresses = map[string][]netip.Addr{"a": {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}}
	}
	r, err := match.Match(context.Background(), captures, o, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range r.Channels {
		for _, m := range c.Messages {
			i, known := seen[c.From][int64(m.Sent)]
			k, came := seen[c.To][int64(m.Received)]
			if !known || !came {
				return nil, fmt.Errorf("a message from %d to %d of which a capture has no packet", m.Sent, m.Received)
			}
			n := &counts[w.sent[i].class]
			n.matched++
			if i != k || w.sent[i].from != c.From {
				n.false++
			}
			if w.sent[i].at > w.sent[k].at || w.sent[i].from != c.From {
				n.wrong++
			}
		}
	}
	if s.found() == 0 {
		s.empty = 1
	}
	return s, nil
}
