package pipeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/netlab"
	"meridian/match"
	"meridian/trace"
)

var (
	lossyTraffic = flag.Duration("lossy", time.Second, "how long the traffic over the disturbed wire lasts")
	lossyRuns    = flag.Int("thinned", 3, "how often its captures are thinned at random, each time with other losses")
)

// seenFrame is a frame of a whole capture.
type seenFrame struct {
	at   int64
	data []byte
}

// framesOfFile reads a capture in nanoseconds and this machine's byte order, as tcpdump writes it.
func framesOfFile(t *testing.T, path string) []seenFrame {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 24 || binary.LittleEndian.Uint32(b) != 0xa1b23c4d {
		t.Fatalf("%s is no capture in nanoseconds", path)
	}
	var frames []seenFrame
	for b = b[24:]; len(b) > 0; {
		seconds, ns, kept, wire := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
		if kept != wire {
			t.Fatalf("%s: a frame was cut", path)
		}
		frames = append(frames, seenFrame{int64(seconds)*1e9 + int64(ns), b[16 : 16+kept]})
		b = b[16+kept:]
	}
	return frames
}

// disturbedTraffic is what two hosts truly sent and received.
type disturbedTraffic struct {
	frames [2][]seenFrame
	mac    [2][]byte                 // of each host
	sent   map[string][]int64        // of each frame, byte for byte: when it was sent
	at     [2]map[int64][]*seenFrame // frames of a stamp
}

func newDisturbedTraffic(t *testing.T, files [2]string) *disturbedTraffic {
	w := &disturbedTraffic{sent: make(map[string][]int64)}
	for h, file := range files {
		w.frames[h], w.at[h] = framesOfFile(t, file), make(map[int64][]*seenFrame)
		for i := range w.frames[h] {
			f := &w.frames[h][i]
			w.at[h][f.at] = append(w.at[h][f.at], f)
			// netlab gives the hosts 10.77.1.1 and 10.77.2.2: what comes from there names the interface.
			if bytes.HasPrefix(f.data[12:], []byte{8, 0, 0x45}) && f.data[14+14] == byte(h+1) {
				w.mac[h] = f.data[6:12]
			}
		}
	}
	for h := range w.frames {
		for _, f := range w.frames[h] {
			if w.from(f.data) == h {
				w.sent[string(f.data)] = append(w.sent[string(f.data)], f.at)
			}
		}
	}
	return w
}

// from returns the host whose interface sent a frame.
func (w *disturbedTraffic) from(frame []byte) int {
	if bytes.Equal(frame[6:12], w.mac[0]) {
		return 0
	}
	return 1
}

// slowest is longer than any frame was on its way, through a process that may have to wait for a processor.
const slowest = int64(time.Minute)

// origin returns when the frame received was sent; sure is false if that was one of several sendings alike in every byte.
func (w *disturbedTraffic) origin(f *seenFrame) (sent int64, sure bool) {
	n := 0
	for _, at := range w.sent[string(f.data)] {
		if at <= f.at && f.at-at < slowest {
			sent = at
			n++
		}
	}
	return sent, n == 1
}

// verdict is what became of messages and of what could have been messages.
type verdict struct {
	matched, both map[string]int
	ofFour        [2]map[string]int // both and matched of those over IPv4
	dropped       map[string]int    // what was seen at both ends and not matched, by what the captures hold of it
	wrong, unsure int
}

func (v *verdict) String() string {
	s := fmt.Sprintf("%d wrong, %d that nothing could tell", v.wrong, v.unsure)
	for _, class := range []string{"TCP", "UDP", "ICMP"} {
		s += fmt.Sprintf(", %s %.1f%% of %d", class, 100*float64(v.matched[class])/float64(v.both[class]), v.both[class])
		s += fmt.Sprintf(" (IPv4 %.1f%% of %d)", 100*float64(v.ofFour[1][class])/float64(v.ofFour[0][class]), v.ofFour[0][class])
	}
	for _, reason := range slices.Sorted(maps.Keys(v.dropped)) {
		s += fmt.Sprintf("; %s: %d dropped", reason, v.dropped[reason])
	}
	return s
}

func classOf(frame []byte) string {
	protocol := 0
	switch binary.BigEndian.Uint16(frame[12:]) {
	case 0x0800:
		protocol = int(frame[14+9])
	case 0x86dd:
		protocol = int(frame[14+6])
	}
	return map[int]string{1: "ICMP", 58: "ICMP", 6: "TCP", 17: "UDP"}[protocol]
}

// judgeThinned thins both captures, cuts them, matches them and compares the messages with the truth.
func (w *disturbedTraffic) judgeThinned(t *testing.T, missed [2]float64, snap int, seed uint64) *verdict {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	const ahead = 3_000_000_000 // host b's clock
	var kept [2]map[int64]bool
	var captures []*trace.Capture
	var warnings trace.Warnings
	for h := range w.frames {
		kept[h] = make(map[int64]bool)
		out := append([]byte("\x4d\x3c\xb2\xa1\x02\x00\x04\x00"), make([]byte, 8)...)
		out = binary.LittleEndian.AppendUint32(out, uint32(snap))
		out = binary.LittleEndian.AppendUint32(out, 1)
		for _, f := range w.frames[h] {
			if rng.Float64() < missed[h] {
				continue
			}
			kept[h][f.at] = true
			at, data := f.at+int64(h)*ahead, f.data[:min(snap, len(f.data))]
			for _, v := range []int64{at / 1e9, at % 1e9, int64(len(data)), int64(len(f.data))} {
				out = binary.LittleEndian.AppendUint32(out, uint32(v))
			}
			out = append(out, data...)
		}
		path := filepath.Join(t.TempDir(), "thinned.pcap")
		if err := os.WriteFile(path, out, 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := pcap.Read(context.Background(), path, string(rune('a'+h)), &warnings, nil)
		if err != nil {
			t.Fatal(err)
		}
		captures = append(captures, c)
	}
	r, err := match.Match(context.Background(), captures, match.Options{}, &warnings)
	if err != nil {
		t.Fatal(err)
	}
	v := &verdict{matched: make(map[string]int), both: make(map[string]int), dropped: make(map[string]int)}
	v.ofFour = [2]map[string]int{make(map[string]int), make(map[string]int)}
	type pair struct {
		from int
		sent int64
	}
	could := make(map[pair]bool)
	four := make(map[pair]bool)
	var copies [2]map[string]int // frames that are kept
	for h := range w.frames {
		copies[h] = make(map[string]int)
		for _, f := range w.frames[h] {
			if kept[h][f.at] {
				copies[h][string(f.data)]++
			}
		}
	}
	reasons := make(map[pair]string)
	for h := range w.frames {
		for i := range w.frames[h] {
			f := &w.frames[h][i]
			sent, sure := w.origin(f)
			from := w.from(f.data)
			if class := classOf(f.data); from != h && kept[h][f.at] && sure && kept[from][sent] && class != "" && !could[pair{from, sent}] {
				could[pair{from, sent}] = true
				v.both[class]++
				if f.data[12] == 8 {
					four[pair{from, sent}] = true
					v.ofFour[0][class]++
				}
				reasons[pair{from, sent}] = fmt.Sprintf("%s of %s sent, %s received", class, copiesOf(copies[from][string(f.data)]), copiesOf(copies[h][string(f.data)]))
			}
		}
	}
	for _, c := range r.Channels {
		from, to := c.From, c.To
		for _, m := range c.Messages {
			sent, received := int64(m.Sent)-int64(from)*ahead, int64(m.Received)-int64(to)*ahead
			judgement, class := w.judge(from, to, sent, received)
			switch {
			case judgement == 0:
				v.unsure++
			case judgement < 0:
				if v.wrong++; v.wrong <= 3 {
					t.Logf("wrong: sent %v, received %v, from %d", clock.HostTime(sent), clock.HostTime(received), from)
				}
			case could[pair{from, sent}]:
				delete(could, pair{from, sent})
				v.matched[class]++
				if four[pair{from, sent}] {
					v.ofFour[1][class]++
				}
			}
		}
	}
	for sending := range could {
		v.dropped[reasons[sending]]++
	}
	return v
}

func copiesOf(n int) string {
	if n < 2 {
		return fmt.Sprint(n)
	}
	return "several"
}

// judge returns +1 for a true message, -1 for a wrong one, and 0 where several sendings were alike in every byte.
func (w *disturbedTraffic) judge(from, to int, sent, received int64) (judgement int, class string) {
	judgement = -1
	for _, f := range w.at[to][received] {
		at, sure := w.origin(f)
		switch {
		case w.from(f.data) != from:
		case sure && at == sent:
			return 1, classOf(f.data)
		case !sure && at != 0:
			judgement = 0
		}
	}
	return judgement, ""
}

// Real hosts talk over a wire that loses 2% of the packets, repeats 10% and reorders 5%. Both captures hold every packet whole, so
// that each is known by all its bytes. What a capture of 96 bytes with losses of its own makes of it must not contradict that.
func TestRealTrafficOverALossyWireGivesNoWrongMessage(t *testing.T) {
	t.Parallel()
	lab := netlab.New(t)
	lab.Hosts("web", "db")
	lab.Disturbed("wire", "web", "db", netlab.Disturbance{Lost: 0.02, Repeated: 0.1, Delay: 500 * time.Microsecond, Late: 0.05, Seed: 1})
	all := []string{"--time-stamp-precision=nano", "ip", "or", "ip6"}
	web, db := lab.Capture("web", all...), lab.Capture("db", all...)
	rounds := max(1, int(*lossyTraffic/time.Second))
	traffic := netlab.Traffic{From: "web", To: "db", Bulk: []int64{200_000, 100_000}, Chats: 3, Requests: 100 * rounds, Reuses: 5,
		Datagrams: 200 * rounds, Pings: 50 * rounds, Queries: 150 * rounds, Over: *lossyTraffic}
	six := traffic
	six.IPv6, six.Port, six.Reuses = true, 7001, 0
	lab.Run(traffic, six)
	lab.StopCaptures()

	w := newDisturbedTraffic(t, [2]string{web.File, db.File})
	t.Logf("%d and %d frames", len(w.frames[0]), len(w.frames[1]))
	rng := rand.New(rand.NewPCG(3, 4))
	for run := range uint64(*lossyRuns) {
		var missed [2]float64
		if run > 0 {
			missed = [2]float64{0.1 * rng.Float64(), 0.1 * rng.Float64()}
		}
		for _, snap := range []int{96, 262144} {
			v := w.judgeThinned(t, missed, snap, run)
			t.Logf("snap length %d, captures that miss %.1f%% and %.1f%%: %s", snap, 100*missed[0], 100*missed[1], v)
			if v.wrong > 0 {
				t.Errorf("snap length %d, captures that miss %.1f%% and %.1f%%: %s", snap, 100*missed[0], 100*missed[1], v)
			}
			for class, both := range v.both {
				// IPv6 has no identifications: where a busy machine delays packets as long as repeats are apart, most are left out.
				if four := v.ofFour; run == 0 && (both < 100 || 2*four[1][class] < four[0][class]) {
					t.Errorf("snap length %d, %s: %s", snap, class, v)
				}
			}
		}
	}
}
