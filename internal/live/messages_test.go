package live

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"meridian/clock"
	"meridian/internal/lttng"
	"meridian/internal/show/view"
	"meridian/order"
	"meridian/trace"
)

// carried is a packet that two hosts saw: the truth of a message, by the clocks of its sender and its receiver.
type carried struct {
	from, to       string
	sent, received clock.HostTime
}

// exchange writes the kernel traces of two hosts that send each other segments for some seconds, and returns what was sent.
func exchange(t *testing.T, dir string, seconds int) (traces [2]string, all []carried) {
	names := [2]string{"a", "b"}
	clocks := [2]func(clock.TimelineTime) clock.HostTime{
		func(at clock.TimelineTime) clock.HostTime { return clock.HostTime(at) },
		func(at clock.TimelineTime) clock.HostTime { return clock.HostTime(clockB(int64(at))) },
	}
	r := rand.New(rand.NewPCG(7, 7))
	var packets [2][]lttng.Packet
	seq := [2]uint32{1000, 5000}
	for at := int64(origin); at < origin+int64(seconds)*1e9; at += 20_000_000 {
		for from := range names {
			to := 1 - from
			data := segment(t, from, seq[from], seq[to])
			seq[from] += 100
			sent := clock.TimelineTime(at + int64(from)*5_000_000 + r.Int64N(1_000_000))
			received := sent + clock.TimelineTime(100_000+r.Int64N(100_000))
			packets[from] = append(packets[from], lttng.Packet{At: sent, Sent: true, Data: data, Wire: len(data)})
			packets[to] = append(packets[to], lttng.Packet{At: received, Data: data, Wire: len(data)})
			all = append(all, carried{names[from], names[to], clocks[from](sent), clocks[to](received)})
		}
	}
	for i := range names {
		written, err := lttng.Write(filepath.Join(dir, "whole", names[i]), packets[i], lttng.Options{Host: names[i], Clock: clocks[i], PacketSize: 4096})
		if err != nil {
			t.Fatal(err)
		}
		traces[i] = written.Kernel
	}
	return traces, all
}

// segment returns a TCP segment of 100 bytes of one connection.
func segment(t *testing.T, from int, seq, ack uint32) []byte {
	addresses := [2]net.IP{{10, 0, 0, 1}, {10, 0, 0, 2}}
	ports := [2]layers.TCPPort{40_000, 443}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: addresses[from], DstIP: addresses[1-from]}
	tcp := &layers.TCP{SrcPort: ports[from], DstPort: ports[1-from], Seq: seq, Ack: ack, ACK: true, PSH: true, Window: 500}
	if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	out := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(out, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, tcp, gopacket.Payload(make([]byte, 100))); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(out.Bytes())
}

// endSink takes the ends of messages, by their number.
type endSink struct {
	s     *Session
	ends  map[uint64][]shownEnd
	last  clock.TimelineTime
	wrong []string
}

type shownEnd struct {
	trace.TimelineEvent
	note   order.Note
	values []trace.Value
}

func (x *endSink) Write(e *trace.TimelineEvent, n order.Note) error {
	if x.s.Schema().Streams[e.Stream].Kind != trace.Messages {
		x.last = max(x.last, e.Time)
		return nil
	}
	if late := max(x.last.Sub(e.Time), 0); late != n.Behind || n.Late != (late > 0) {
		x.wrong = append(x.wrong, fmt.Sprintf("%v behind, noted as %+v", late, n))
	}
	x.ends[e.Flow] = append(x.ends[e.Flow], shownEnd{*e, n, slices.Clone(e.Values)})
	return nil
}

func (x *endSink) Step(*Session) error { return nil }

func growing(t *testing.T, traces [2]string) (all []*growth, in []Input) {
	dir := t.TempDir()
	for i, name := range []string{"a", "b"} {
		to := filepath.Join(dir, name)
		all = append(all, &growth{from: traces[i], to: to, sizes: map[string]int64{}})
		in = append(in, Input{Host: name, Dir: to})
	}
	return all, in
}

func TestPacketsOfKernelsThatGrowAreTheMessagesThatWereSent(t *testing.T) {
	const seconds = 6
	traces, sent := exchange(t, t.TempDir(), seconds)
	all, in := growing(t, traces)
	now := time.Unix(5, 0)
	var w trace.Warnings
	s, err := New(Options{Inputs: in, Rows: true, Messages: true, Now: func() time.Time { return now }}, &w)
	if err != nil {
		t.Fatal(err)
	}
	x := &endSink{s: s, ends: make(map[uint64][]shownEnd)}
	s.To(x)
	growTo(t, s, &now, all, seconds, 0, 1)
	while := len(x.ends)
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if while < len(sent)/2 {
		t.Errorf("%d of %d messages came while the directories grew", while, len(sent))
	}
	if len(x.wrong) > 0 {
		t.Errorf("lateness of %d ends, the first: %s", len(x.wrong), x.wrong[0])
	}
	var got []carried
	bounded := 0
	hosts := s.Schema().Hosts
	for flow, ends := range x.ends {
		from, to := pairEnds(t, flow, ends)
		got = append(got, carried{hosts[from.Host], hosts[to.Host], from.Event.Time, to.Event.Time})
		checkEnd(t, s, from, "send", hosts[to.Host])
		checkEnd(t, s, to, "receive", hosts[from.Host])
		if delay := to.values[1].Int(); delay != int64(to.Time-from.Time) {
			t.Errorf("a delay of %d ns from %d to %d", delay, from.Time, to.Time)
		}
		if from.Bounded && to.Bounded {
			bounded++
			truth := int64(0) // what the message took, by the clock of a
			if hosts[from.Host] == "a" {
				truth = invertB(int64(to.Event.Time)) - int64(from.Event.Time)
			} else {
				truth = int64(to.Event.Time) - invertB(int64(from.Event.Time))
			}
			if low, high := to.values[2].Int(), to.values[3].Int(); truth+20 < low || truth-20 > high { // 40 ppm of the delay, and rounding
				t.Errorf("a delay from %d to %d ns, which was %d", low, high, truth)
			}
		}
	}
	slices.SortFunc(got, compareCarried)
	slices.SortFunc(sent, compareCarried)
	if !slices.Equal(got, sent) {
		t.Errorf("%d messages, and they are not the %d that were sent", len(got), len(sent))
	}
	if bounded < len(got)/2 {
		t.Errorf("%d of %d messages are bounded", bounded, len(got))
	}
}

func checkEnd(t *testing.T, s *Session, e *shownEnd, class, other string) {
	t.Helper()
	row := &s.Schema().Streams[e.Stream]
	if name := s.Schema().Classes[e.Class].Name; name != class || row.Name != "messages" || row.Host != s.Schema().Hosts[e.Host] || string(e.values[0].Append(nil, &trace.Type{Kind: trace.Text})) != other {
		t.Errorf("event %q on row %q of %q, other host %q", name, row.Name, row.Host, string(e.values[0].Append(nil, &trace.Type{Kind: trace.Text})))
	}
}

// TestPageThatGrowsShowsEachMessageOnceAcrossRestarts also kills the session in between, and goes on with its index.
func TestPageThatGrowsShowsEachMessageOnceAcrossRestarts(t *testing.T) {
	const seconds = 6
	traces, sent := exchange(t, t.TempDir(), seconds)
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			all, in := growing(t, traces)
			now := time.Unix(5, 0)
			var w trace.Warnings
			open := func() *Viewer {
				x, err := OpenViewer(Options{Inputs: in, Now: func() time.Time { return now }}, ViewOptions{Index: filepath.Join(filepath.Dir(in[0].Dir), "index")}, new(view.Live), &w)
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			var noted endTimes
			x, from := open(), 0.0
			x.s.To(stepless{x.p, &noted})
			if restart {
				from = 0.5
				growTo(t, x.s, &now, all, seconds/2, 0, 0.5)
				if err := x.p.sealAll(x.s); err != nil {
					t.Fatal(err)
				}
				if err := x.p.index.Close(); err != nil {
					t.Fatal(err)
				}
				x = open()
				x.s.To(stepless{x.p, &noted})
			}
			growTo(t, x.s, &now, all, seconds, from, 1)
			if err := x.s.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			v := x.p.index.View()
			defer v.Close()
			a := v.About()
			ends := int64(0)
			rows := 0
			for _, r := range a.Rows {
				if r.Kind == trace.Messages.String() {
					rows++
					ends += r.Events
				}
			}
			if a.Messages != int64(len(sent)) || ends != 2*a.Messages || rows != 2 {
				t.Errorf("%d messages with %d ends on %d rows, and %d were sent", a.Messages, ends, rows, len(sent))
			}
			if a.Late > int64(20*time.Millisecond) { // they neither come before the first event nor push others
				t.Errorf("recorded events are shown up to %v late", time.Duration(a.Late))
			}
			var shown []clock.TimelineTime
			for n := int64(0); n < a.Events; {
				events, err := v.Events(n, 1000)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if a.Rows[e.Row].Kind == trace.Messages.String() {
						shown = append(shown, clock.Add(a.Origin, e.At))
					}
				}
				n += int64(len(events))
			}
			if !slices.Equal(shown, noted.at) {
				t.Error("ends of messages are not shown at the instants at which they were written")
			}
			if noted.behind < len(sent) {
				t.Errorf("%d ends came after later events: too little was tried", noted.behind)
			}
		})
	}
}

// stepless writes without publishing, and notes when ends of messages are.
type stepless struct {
	*pictures
	ends *endTimes
}

type endTimes struct {
	at     []clock.TimelineTime
	latest clock.TimelineTime // of all events
	behind int                // of later events
}

func (x stepless) Write(e *trace.TimelineEvent, n order.Note) error {
	if x.index.Schema().Streams[e.Stream].Kind == trace.Messages {
		x.ends.at = append(x.ends.at, e.Time)
		if e.Time < x.ends.latest {
			x.ends.behind++
		}
	}
	x.ends.latest = max(x.ends.latest, e.Time)
	return x.pictures.Write(e, n)
}

func (stepless) Step(*Session) error { return nil }

// growTo steps a session while its directories grow from a share of their length to another, in virtual time.
func growTo(t *testing.T, s *Session, now *time.Time, all []*growth, seconds int, from, to float64) {
	const step = 20 * time.Millisecond
	steps := int(time.Duration(seconds) * time.Second / step)
	for i := range steps {
		*now = now.Add(step)
		for _, g := range all {
			g.advance(t, from+(to-from)*float64(i+1)/float64(steps))
		}
		for busy := true; busy; {
			var err error
			if busy, err = s.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
