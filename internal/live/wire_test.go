package live

import (
	"bytes"
	"cmp"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"meridian/align"
	alignlive "meridian/align/live"
	"meridian/clock"
	"meridian/format/pcap"
	"meridian/trace"
)

// wire is two hosts' captures of what they sent each other, which grow with a virtual time. The clock of b is clockB.
type wire struct {
	t     *testing.T
	hosts [2]wireHost
	sent  []carried
	flags bool // the captures say which packets came and which went
	step  time.Duration
}

// wireHost is one of the captures.
type wireHost struct {
	packets []wirePacket
	lag     time.Duration // behind the time, as it is written
	file    string
	bytes   []byte
	ends    []int // of each packet
	written int   // packets
}

type wirePacket struct {
	at    int64
	sent  bool
	bytes []byte
}

// stampOf is what the clock of a host shows.
func stampOf(host int, at int64) clock.HostTime {
	if host == 1 {
		at = clockB(at)
	}
	return clock.HostTime(at)
}

// send has a packet sent an offset after the beginning. Lost says which ends did not see it.
func (w *wire) send(from int, at, took time.Duration, data []byte, lost ...int) {
	sent, received := origin+int64(at), origin+int64(at+took)
	if !slices.Contains(lost, from) {
		w.hosts[from].packets = append(w.hosts[from].packets, wirePacket{sent, true, data})
	}
	if !slices.Contains(lost, 1-from) {
		w.hosts[1-from].packets = append(w.hosts[1-from].packets, wirePacket{received, false, data})
	}
	if len(lost) == 0 {
		names := [2]string{"a", "b"}
		w.sent = append(w.sent, carried{names[from], names[1-from], stampOf(from, sent), stampOf(1-from, received)})
	}
}

// encode makes the captures.
func (w *wire) encode(dir string) (in []Input) {
	for i := range w.hosts {
		h := &w.hosts[i]
		slices.SortStableFunc(h.packets, func(a, b wirePacket) int { return cmp.Compare(a.at, b.at) })
		var b bytes.Buffer
		out, err := pcap.NewWriter(&b, []pcap.WriterInterface{{LinkType: rawIP}}, "")
		if err != nil {
			w.t.Fatal(err)
		}
		for _, p := range h.packets {
			f := trace.Frame{Time: stampOf(i, p.at), Wire: uint32(len(p.bytes)), Data: p.bytes}
			if direction := byte(1); w.flags {
				if p.sent {
					direction = 2
				}
				f.Options = []byte{2, 0, 4, 0, direction, 0, 0, 0}
			}
			if err := out.Write(0, &f); err != nil {
				w.t.Fatal(err)
			}
			if err := out.Flush(); err != nil {
				w.t.Fatal(err)
			}
			h.ends = append(h.ends, b.Len())
		}
		name := []string{"a", "b"}[i]
		h.bytes, h.file = b.Bytes(), filepath.Join(dir, name+".pcapng")
		in = append(in, Input{Host: name, Dir: h.file})
	}
	slices.SortFunc(w.sent, compareCarried)
	return in
}

// header returns how long the file's header is.
func (h *wireHost) header() int { return h.ends[0] - (h.ends[1] - h.ends[0]) }

// grow writes what a host's capture has by an offset from the beginning.
func (w *wire) grow(host int, at time.Duration) {
	h := &w.hosts[host]
	from, n := h.written, h.written
	for n < len(h.packets) && h.packets[n].at <= origin+int64(at-h.lag) {
		n++
	}
	if n == from {
		return
	}
	start := 0
	if from > 0 {
		start = h.ends[from-1]
	}
	w.appendTo(h.file, h.bytes[start:h.ends[n-1]])
	h.written = n
}

func (w *wire) appendTo(path string, data []byte) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		w.t.Fatal(err)
	}
}

// cheap aligns by a method that takes less time than the default one, where estimates are not looked at.
var cheap = alignlive.Options{Align: align.Options{Method: "two-point"}}

// wireSession is a live session of the captures, of which the sink is told.
type wireSession struct {
	*Session
	x   *endSink
	now time.Time
	w   trace.Warnings

	cost time.Duration // of a step
}

func (w *wire) open(in []Input) *wireSession {
	x := &wireSession{now: time.Unix(5, 0)}
	s, err := New(Options{Inputs: in, Rows: true, Messages: true, Align: cheap, Now: func() time.Time { return x.now }}, &x.w)
	if err != nil {
		w.t.Fatal(err)
	}
	x.Session, x.x = s, &endSink{s: s, ends: make(map[uint64][]shownEnd)}
	s.To(x.x)
	return x
}

// run follows from one offset to another. Each is called at every step.
func (w *wire) run(x *wireSession, from, to time.Duration, each func(at time.Duration)) {
	step := cmp.Or(w.step, 50*time.Millisecond)
	for at := from + step; at <= to; at += step {
		x.now = x.now.Add(step)
		for i := range w.hosts {
			w.grow(i, at)
		}
		if each != nil {
			each(at)
		}
		w.steps(x)
	}
}

func (w *wire) steps(x *wireSession) {
	for busy := true; busy; {
		x.now = x.now.Add(x.cost)
		var err error
		if busy, err = x.Step(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// finish ends the session, and returns the messages that it showed.
func (w *wire) finish(x *wireSession) []carried {
	if err := x.Finish(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if err := x.close(); err != nil {
		w.t.Fatal(err)
	}
	return messagesOf(w.t, x.Session, x.x)
}

// offline returns the messages that the matcher finds in the whole captures.
func (w *wire) offline() []carried {
	return wholeMatch(w.t, map[string]string{w.hosts[0].file: "a", w.hosts[1].file: "b"})
}

// same fails the test unless two lists of messages are the same.
func (w *wire) same(what string, got, want []carried) {
	w.t.Helper()
	if slices.Equal(got, want) {
		return
	}
	has := make(map[carried]int)
	for _, m := range want {
		has[m]++
	}
	var more, less int
	for _, m := range got {
		if has[m]--; has[m] < 0 {
			more++
		}
	}
	for _, n := range has {
		less += max(n, 0)
	}
	w.t.Errorf("%s: %d messages of %d: %d are missing, %d are others", what, len(got), len(want), less, more)
}

// datagram returns a UDP datagram with an identification of IP.
func datagram(t *testing.T, from int, id, port uint16, payload []byte) []byte {
	addresses := [2]net.IP{{10, 0, 0, 1}, {10, 0, 0, 2}}
	ip := &layers.IPv4{Version: 4, TTL: 64, Id: id, Protocol: layers.IPProtocolUDP, SrcIP: addresses[from], DstIP: addresses[1-from]}
	udp := &layers.UDP{SrcPort: layers.UDPPort(port), DstPort: layers.UDPPort(port)}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	out := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(out, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, udp, gopacket.Payload(payload)); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(out.Bytes())
}
