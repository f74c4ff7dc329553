package pipeline

import (
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meridian/internal/pipeline/input"
	"meridian/internal/testseed"
	"meridian/trace"
)

var packetWorlds = flag.Int("packet-worlds", 20, "worlds of each kind in which packets or directions are easily mistaken")

const microsecond, millisecond, second = int64(1_000), int64(1_000_000), int64(1_000_000_000)

// worldStart is the true time at which worlds begin, ns.
const worldStart = int64(1_764_000_000) * second

// packetWorld is what two captures hold of packets whose true times are known. Host a's clock is right.
type packetWorld struct {
	*rand.Rand
	offset int64    // of b's clock
	grid   [2]int64 // of each capture's timestamps
	window [2][2]int64
	seen   [2][]worldFrame
	next   map[[2]byte]uint16 // identifications, by sender and receiver
	common int64              // frames that both captures hold
}

type worldFrame struct {
	stamp, truth int64
	frame        []byte
	length       int // on the wire
}

func newPacketWorld(r *rand.Rand) *packetWorld {
	w := &packetWorld{Rand: r, grid: [2]int64{1, 1}, next: make(map[[2]byte]uint16)}
	w.offset = []int64{0, 0, 3_500 * millisecond, -20 * millisecond, r.Int64N(10*second) - 5*second}[r.IntN(5)]
	w.window = [2][2]int64{{-1 << 60, 1 << 60}, {-1 << 60, 1 << 60}}
	return w
}

// see puts a frame into a capture, at a true time after the world began, if the capture runs then.
func (w *packetWorld) see(host int, at int64, frame []byte) bool {
	if at < w.window[host][0] || at >= w.window[host][1] {
		return false
	}
	truth := worldStart + at
	stamp := truth
	if host == 1 {
		stamp += w.offset
	}
	stamp -= stamp % w.grid[host]
	w.seen[host] = append(w.seen[host], worldFrame{stamp, truth, frame, len(frame)})
	return true
}

// identification returns the next number of an address's packets to another one.
func (w *packetWorld) identification(from, to byte) uint16 {
	key := [2]byte{from, to}
	if _, known := w.next[key]; !known {
		w.next[key] = uint16(w.IntN(60_000))
	}
	w.next[key]++
	return max(1, w.next[key])
}

// framed is an Ethernet frame of an IPv4 packet between 10.0.0.from and to; to 0 is the group 239.1.1.1.
func framed(from, to byte, id uint16, ttl, protocol byte, body []byte) []byte {
	f := []byte{2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0,
		0x45, 0, 0, 0, 0, 0, 0x40, 0, ttl, protocol, 0, 0, 10, 0, 0, from, 10, 0, 0, to}
	if to == 0 {
		copy(f[30:], []byte{239, 1, 1, 1})
		copy(f, []byte{1, 0, 0x5e, 1, 1, 1})
	}
	binary.BigEndian.PutUint16(f[16:], uint16(20+len(body)))
	binary.BigEndian.PutUint16(f[18:], id)
	return append(f, body...)
}

func udpBody(from, to uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, from)
	b = binary.BigEndian.AppendUint16(b, to)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return append(append(b, 0, 0), payload...)
}

func (w *packetWorld) random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(w.Uint32())
	}
	return b
}

// segmentBody is a TCP segment; with a timestamp option if stamp is not 0.
func segmentBody(from, to uint16, seq, ack uint32, flags byte, stamp uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, from)
	b = binary.BigEndian.AppendUint16(b, to)
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, 5<<4, flags, 1, 0xf5, 0, 0, 0, 0)
	if stamp != 0 {
		b[12] = 8 << 4
		b = append(b, 1, 1, 8, 10)
		b = binary.BigEndian.AppendUint32(b, stamp)
		b = binary.BigEndian.AppendUint32(b, stamp-1)
	}
	return append(b, payload...)
}

// path says when a frame that an address sends at a time passes each capture.
type path func(w *packetWorld, from byte, at int64) [2]int64

// hostsOn is the path of hosts a (10.0.0.1) and b (10.0.0.2) themselves, and of delays of least and more on average.
func hostsOn(least, more int64) path {
	return func(w *packetWorld, from byte, at int64) [2]int64 {
		delay := least + int64(w.ExpFloat64()*float64(more))
		if from == 1 {
			return [2]int64{at, at + delay}
		}
		return [2]int64{at + delay, at}
	}
}

// connection has two addresses exchange requests and answers over TCP from a time on; it returns when it ended. Kernels
// answer within 10 us of what reaches them: arrives returns when a packet that passed the captures reaches the other
// address.
func (w *packetWorld) connection(at int64, client, server byte, port uint16, stamped bool, requests int, passes path, arrives func(from byte, at int64, passed [2]int64) int64) int64 {
	ends := map[byte]uint16{client: port, server: 80}
	next := map[byte]uint32{client: w.Uint32(), server: w.Uint32()}
	segment := func(from, to byte, flags byte, length int) {
		stamp := uint32(0)
		if stamped {
			stamp = uint32(at/millisecond) + 100_000
		}
		ack := next[to]
		if flags&trace.ACK == 0 {
			ack = 0
		}
		body := segmentBody(ends[from], ends[to], next[from], ack, flags, stamp, w.random(length))
		passed := passes(w, from, at)
		for host := range 2 {
			w.see(host, passed[host], framed(from, to, w.identification(from, to), 64, 6, body))
			w.next[[2]byte{from, to}]--
		}
		w.next[[2]byte{from, to}]++
		next[from] += uint32(length)
		if flags&(trace.SYN|trace.FIN) != 0 {
			next[from]++
		}
		at = arrives(from, at, passed) + 2*microsecond + w.Int64N(8*microsecond)
	}
	segment(client, server, trace.SYN, 0)
	segment(server, client, trace.SYN|trace.ACK, 0)
	segment(client, server, trace.ACK, 0)
	for range requests {
		at += w.Int64N(20 * millisecond)
		segment(client, server, trace.ACK|trace.PSH, 40+w.IntN(200))
		at += w.Int64N(2 * millisecond)
		segment(server, client, trace.ACK|trace.PSH, 40+w.IntN(1200))
		segment(client, server, trace.ACK, 0)
	}
	segment(client, server, trace.FIN|trace.ACK, 0)
	segment(server, client, trace.FIN|trace.ACK, 0)
	segment(client, server, trace.ACK, 0)
	return at
}

// later is for hosts: what passed a host's capture last has arrived.
func later(_ byte, _ int64, passed [2]int64) int64 { return max(passed[0], passed[1]) }

// datagram sends a datagram between hosts a and b. id 0 leaves the identification out.
func (w *packetWorld) datagram(at int64, from byte, id uint16, protocol byte, body []byte, passes path) int64 {
	to := 3 - from
	f := framed(from, to, id, 64, protocol, body)
	passed := passes(w, from, at)
	a, b := w.see(0, passed[0], f), w.see(1, passed[1], f)
	if a && b {
		w.common++
	}
	return max(passed[0], passed[1])
}

// polls asks services with equal bytes every period, and is answered with equal bytes.
func (w *packetWorld) polls(services int, period, until int64, passes path) {
	phase := make([]int64, services)
	for i := range phase {
		phase[i] = w.Int64N(period)
	}
	slices.Sort(phase)
	for round := int64(0); round*period < until; round++ {
		for i, p := range phase {
			at := round*period + p + w.Int64N(100*microsecond)
			port := uint16(5000 + i)
			at = w.datagram(at, 1, 0, 17, udpBody(port, 161, fmt.Appendf(nil, "poll of service %d please answer", i)), passes)
			w.datagram(at+20*microsecond, 2, 0, 17, udpBody(161, port, fmt.Appendf(nil, "answer of service %d", i)), passes)
		}
	}
}

// founders exchanges datagrams that cannot repeat, from a time until another.
func (w *packetWorld) founders(from, until, apart int64, passes path) {
	for at := from; at < until; at += apart/2 + w.Int64N(apart) {
		id := w.identification(1, 2)
		end := w.datagram(at, 1, id, 17, udpBody(4000, 4001, w.random(40)), passes)
		w.datagram(end+20*microsecond, 2, w.identification(2, 1), 17, udpBody(4001, 4000, w.random(40)), passes)
	}
}

// pings sends echo requests, numbered from 1 without timestamps, every second.
func (w *packetWorld) pings(from int64, n int, id uint16, passes path) {
	for i := range n {
		at := from + int64(i)*second + w.Int64N(50*microsecond)
		echo := func(kind byte) []byte {
			b := []byte{kind, 0, 0, 0, 0x12, 0x34, 0, byte(i + 1)}
			return append(b, "abcdefghijklmnopqrstuvwabcdefghi"...)
		}
		reply := uint16(0)
		if id != 0 {
			reply = w.identification(2, 1)
			id++
		}
		end := w.datagram(at, 1, id, 1, echo(8), passes)
		w.datagram(end+10*microsecond, 2, reply, 1, echo(0), passes)
	}
}

// write writes the captures and returns the inputs.
func (w *packetWorld) write(t *testing.T) []input.Trace {
	t.Helper()
	return w.writeDivided(t, 1, func(int, int, worldFrame) int { return 0 })
}

// writeDivided writes each capture in several files; fileOf returns the file of a host's frame, by its place among all.
func (w *packetWorld) writeDivided(t *testing.T, files int, fileOf func(host, place int, f worldFrame) int) []input.Trace {
	t.Helper()
	dir := t.TempDir()
	var inputs []input.Trace
	for host, frames := range w.seen {
		slices.SortStableFunc(frames, func(a, b worldFrame) int { return cmp.Compare(a.truth, b.truth) })
		contents := make([][]byte, files)
		for i := range contents {
			file := binary.LittleEndian.AppendUint32(nil, 0xa1b23c4d)
			file = binary.LittleEndian.AppendUint32(file, 4<<16|2)
			file = append(file, make([]byte, 8)...)
			file = binary.LittleEndian.AppendUint32(file, 65535)
			contents[i] = binary.LittleEndian.AppendUint32(file, 1)
		}
		for place, f := range frames {
			file := &contents[fileOf(host, place, f)]
			for _, v := range []int64{f.stamp / second, f.stamp % second, int64(len(f.frame)), int64(f.length)} {
				*file = binary.LittleEndian.AppendUint32(*file, uint32(v))
			}
			*file = append(*file, f.frame...)
		}
		name := "ab"[host : host+1]
		for i, content := range contents {
			path := filepath.Join(dir, fmt.Sprintf("%s%d.pcap", name, i))
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, input.Trace{Host: name, Path: path})
		}
	}
	return inputs
}

// outside counts the events of b whose bounds do not hold a true time of their timestamp, and those that have bounds.
func (w *packetWorld) outside(t *testing.T, rows []map[string]string) (outside, bounded int) {
	t.Helper()
	truth := make(map[string][]int64)
	for _, f := range w.seen[1] {
		key := strconv.FormatInt(f.stamp, 10)
		truth[key] = append(truth[key], f.truth)
	}
	for _, row := range rows {
		if row["host"] != "b" || row["event"] != "packet" || row["low_ns"] == "" {
			continue
		}
		bounded++
		low, high := number(t, row["low_ns"])-3, number(t, row["high_ns"])+3
		if !slices.ContainsFunc(truth[row["recorded_ns"]], func(at int64) bool { return low <= at && at <= high }) {
			outside++
		}
	}
	return outside, bounded
}

// Of no world is a bound silently wrong, nothing is said that is not so, and sound worlds are aligned.
func TestPacketsThatAreEasilyMistakenMakeNoBoundSilentlyWrong(t *testing.T) {
	lan, wan := hostsOn(40*microsecond, 20*microsecond), hostsOn(2*millisecond, millisecond)
	either := func(w *packetWorld) path {
		if w.IntN(2) == 0 {
			return lan
		}
		return wan
	}
	apart := func(w *packetWorld) { // captures that do not overlap
		w.window = [2][2]int64{{0, 8 * second}, {8*second + w.Int64N(2*second), 30 * second}}
		w.window[1][1] = w.window[1][0] + 8*second
	}
	overlapping := func(w *packetWorld) {
		from := second + w.Int64N(6*second)
		w.window = [2][2]int64{{0, 8 * second}, {from, from + 8*second}}
	}
	conversation := func(w *packetWorld, passes path) {
		for at, port := int64(0), uint16(40_000); port < 40_008; port++ {
			at = w.connection(at+w.Int64N(500*millisecond), 1, 2, port, true, 4, passes, later)
		}
	}
	const said, sound, silent = "said", "sound", ""
	for _, kind := range []struct {
		name  string
		want  string // sound: no promise is broken, and b has bounds; said: a warning has the text
		says  string
		build func(w *packetWorld)
	}{
		{"hosts", sound, "", func(w *packetWorld) { conversation(w, either(w)) }},
		{"datagrams without identifications that change", sound, "", func(w *packetWorld) {
			passes := either(w)
			for i := range 30 {
				at := w.datagram(int64(i)*100*millisecond, 1, 0, 17, udpBody(4000, 4001, w.random(40)), passes)
				w.datagram(at+20*microsecond, 2, 0, 17, udpBody(4001, 4000, w.random(40)), passes)
			}
		}},
		{"merged, stamped with the first segment", sound, "", func(w *packetWorld) { w.trains(true) }},
		{"merged, stamped with the last segment", sound, "", func(w *packetWorld) { w.trains(false) }},
		{"a third host's multicast", sound, "they went to a group", func(w *packetWorld) {
			conversation(w, wan)
			w.multicasts(3)
		}},
		{"a third host's multicast alone", said, "they went to a group", func(w *packetWorld) { w.multicasts(3) }},
		{"a host's own multicast", sound, "", func(w *packetWorld) {
			conversation(w, wan)
			w.multicasts(1)
		}},
		{"equal polls, no common time", said, "equal ones may be sent at other times", func(w *packetWorld) {
			apart(w)
			w.polls(10+w.IntN(10), 8*second+w.Int64N(4*second), 30*second, either(w))
		}},
		{"equal polls, some time in common", silent, "", func(w *packetWorld) {
			overlapping(w)
			w.polls(10, 8*second+w.Int64N(4*second), 30*second, either(w))
		}},
		{"equal polls beside packets that cannot repeat", sound, "", func(w *packetWorld) {
			passes := either(w)
			overlapping(w)
			w.polls(10, 8*second+w.Int64N(4*second), 30*second, passes)
			w.founders(w.window[1][0], 8*second, 100*millisecond, passes)
		}},
		{"pings that start again", said, "equal ones may be sent at other times", func(w *packetWorld) {
			passes := either(w)
			apart(w)
			w.pings(w.Int64N(second), 7, 0, passes)
			w.pings(w.window[1][0]+w.Int64N(second), 7, 0, passes)
		}},
		{"pings with identifications", sound, "", func(w *packetWorld) { w.pings(0, 20, 7, either(w)) }},
		{"heartbeats", silent, "", func(w *packetWorld) {
			passes := either(w)
			if w.IntN(2) == 0 {
				apart(w)
			} else {
				overlapping(w)
			}
			period := 100*millisecond + w.Int64N(3*second)
			for at := int64(0); at < 30*second; at += period {
				w.datagram(at+w.Int64N(50*microsecond), 1, 0, 17, udpBody(694, 694, []byte("alive")), passes)
				w.datagram(at+w.Int64N(50*microsecond), 2, 0, 17, udpBody(695, 695, []byte("alive")), passes)
			}
		}},
		{"keepalives, one in each capture", said, "equal ones may be sent at other times", func(w *packetWorld) {
			apart(w)
			w.keepalives(10, 9*second, either(w))
		}},
		{"keepalives", said, "keepalives, heartbeats", func(w *packetWorld) {
			w.window = [2][2]int64{{0, 25 * second}, {4 * second, 29 * second}}
			w.keepalives(5+w.IntN(20), 5*second, either(w))
		}},
		{"taps in a ring", said, "between the hosts", func(w *packetWorld) { w.ring(0) }},
		{"taps in a ring of routers", said, "between the hosts", func(w *packetWorld) { w.ring(1) }},
		{"captures of different times", said, "each by its own clock: if the clocks are about right, nothing is in both", func(w *packetWorld) {
			w.offset = w.Int64N(second)
			apart(w)
			for at, port := int64(0), uint16(40_000); port < 40_060; port++ {
				at = w.connection(at+w.Int64N(500*millisecond), 1, 2, port, true, 4, lan, later)
			}
		}},
		{"one direction in each capture", said, "it holds one direction and ", func(w *packetWorld) {
			conversation(w, either(w))
			for host := range w.seen {
				w.seen[host] = slices.DeleteFunc(w.seen[host], func(f worldFrame) bool { return (f.frame[11] == 1) == (host == 0) })
			}
		}},
		{"PTP over Ethernet", said, "are PTP over Ethernet, which is not matched", func(w *packetWorld) {
			for at := int64(0); at < 5*second; at += 125 * millisecond {
				f := append([]byte{1, 0x1b, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0x88, 0xf7}, w.random(44)...)
				w.see(0, at, f)
				w.see(1, at+20*microsecond, f)
			}
		}},
		{"other hosts", said, ": recorded on other hosts, or behind a proxy, a translator or a tunnel?", func(w *packetWorld) {
			conversation(w, lan)
			a := w.seen[0]
			w.seen[1] = nil
			w.connection(0, 21, 22, 40_000, true, 30, lan, later)
			w.seen[0] = a
		}},
		{"coarse timestamps on a LAN", silent, "", func(w *packetWorld) {
			w.grid[w.IntN(2)] = []int64{10 * millisecond, millisecond, 100 * microsecond}[w.IntN(3)]
			for range 3 {
				conversation(w, lan)
			}
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			r := testseed.New(t)
			worlds := *packetWorlds
			if testing.Short() {
				worlds = 3
			}
			for i := range worlds {
				w := newPacketWorld(r)
				kind.build(w)
				o := Options{}
				o.Align.Reference = "a"
				rows, outcome := csvRows(t, w.write(t), o)
				outside, bounded := w.outside(t, rows)
				warned := strings.Join(outcome.Warnings, "\n")
				switch broken := len(outcome.Broken) > 0; {
				case outside > 0 && !broken:
					t.Errorf("world %d: %d of %d events are outside of their bounds, and no promise is broken: %s", i, outside, bounded, warned)
				case kind.want == sound && (broken || bounded == 0):
					t.Errorf("world %d: %q, %d bounded: %s", i, outcome.Broken, bounded, warned)
				case kind.want == said && !broken && kind.says != "they went to a group":
					t.Errorf("world %d: no promise is broken: %s", i, warned)
				}
				if !strings.Contains(warned, kind.says) {
					t.Errorf("world %d: %q is not said: %s", i, kind.says, warned)
				}
				for _, wrong := range []string{"was set by", "second capture", "recorded on other hosts"} {
					if kind.name != "other hosts" && strings.Contains(warned, wrong) {
						t.Errorf("world %d: %s", i, warned)
					}
				}
			}
		})
	}
}

// Files that a recorder wrote one after the other, and one of what was sent beside one of what was received, are
// matched as one capture: a flow that goes on in the next file, and a repeated packet of which each file has one copy,
// are no losses.
func TestFilesOfOneCaptureAreMatchedAsOne(t *testing.T) {
	r := testseed.New(t)
	for range 20 {
		w := newPacketWorld(r)
		passes := hostsOn(40*microsecond, 20*microsecond)
		at := int64(0)
		for port := uint16(40_000); port < 40_008; port++ {
			at = w.connection(at+w.Int64N(200*millisecond), 1, 2, port, r.IntN(2) == 0, 6, passes, later)
		}
		w.polls(10, 600*millisecond, at, passes)
		align := func(inputs []input.Trace) (messages int64, bound string, warned []string) {
			o := Options{}
			o.Align.Reference = "a"
			rows, outcome := csvRows(t, inputs, o)
			if outside, _ := w.outside(t, rows); outside > 0 || len(outcome.Broken) > 0 {
				t.Errorf("%d events outside, broken %q", outside, outcome.Broken)
			}
			return int64(outcome.Report.Quality.Messages), fmt.Sprint(*outcome.Report.Hosts[1].BoundNs), outcome.Warnings
		}
		whole, bound, warned := align(w.write(t))
		files := 2 + r.IntN(6)
		rotated := w.writeDivided(t, files, func(host, place int, _ worldFrame) int { return place * files / len(w.seen[host]) })
		halves := w.writeDivided(t, 2, func(host, _ int, f worldFrame) int {
			if int(f.frame[11]) == host+1 {
				return 0
			}
			return 1
		})
		for name, inputs := range map[string][]input.Trace{"rotated": rotated, "halves": halves} {
			if n, b, said := align(inputs); n != whole || b != bound || len(said) != len(warned) {
				t.Errorf("%s: %d messages and %s ns, want %d and %s: %q, want %q", name, n, b, whole, bound, said, warned)
			}
		}
	}
}

// trains has a send trains of segments that b's adapter merges; their timestamp is that of the first, or of the last.
func (w *packetWorld) trains(first bool) {
	seq, ack := w.Uint32(), w.Uint32()
	at := int64(0)
	for range 60 {
		n := 2 + w.IntN(8)
		var payload []byte
		id := w.identification(1, 2)
		w.next[[2]byte{1, 2}] += uint16(n)
		stamp := uint32(at/millisecond) + 1
		var sent, came [2]int64 // of the first segment and the last
		for i := range n {
			part := w.random(1448)
			w.see(0, at, framed(1, 2, id+uint16(i), 64, 6, segmentBody(40_000, 80, seq+uint32(len(payload)), ack, trace.ACK, stamp, part)))
			payload = append(payload, part...)
			if i == 0 {
				sent[0], came[0] = at, at+10*microsecond+w.Int64N(5*microsecond)
			}
			sent[1], came[1] = at, max(came[0], at+10*microsecond+w.Int64N(5*microsecond))
			at += 1200 + w.Int64N(3*microsecond)
		}
		received := came[1]
		if first {
			received = came[0]
		}
		w.see(1, received, framed(1, 2, id, 64, 6, segmentBody(40_000, 80, seq, ack, trace.ACK, stamp, payload)))
		seq += uint32(len(payload))
		answer := framed(2, 1, w.identification(2, 1), 64, 6, segmentBody(80, 40_000, ack, seq, trace.ACK, stamp, nil))
		at = came[1] + 5*microsecond
		w.see(1, at, answer)
		at += 10*microsecond + w.Int64N(5*microsecond)
		w.see(0, at, answer)
		at += w.Int64N(30 * millisecond)
	}
}

// multicasts has an address send to a group that both hosts hear, a late and with more hops left.
func (w *packetWorld) multicasts(from byte) {
	at := int64(0)
	ids := w.IntN(2) == 0
	lateA := w.Int64N(100 * millisecond)
	for i := range 60 {
		at += w.Int64N(300 * millisecond)
		id := uint16(0)
		if ids {
			id = uint16(i + 1)
		}
		body := udpBody(4000, 4000, fmt.Appendf(nil, "tick %d %x", i, w.Uint64()))
		a, b := at+lateA+w.Int64N(5*millisecond), at+w.Int64N(5*millisecond)
		if from == 1 {
			a = at
			b = at + 2*millisecond + w.Int64N(5*millisecond)
		}
		w.see(0, a, framed(from, 0, id, 64, 17, body))
		w.see(1, b, framed(from, 0, id, 63, 17, body))
	}
}

// keepalives has idle connections probe their other ends every period.
func (w *packetWorld) keepalives(connections int, period int64, passes path) {
	for c := range connections {
		seq, ack := w.Uint32(), w.Uint32()
		port := uint16(50_000 + c)
		for at := w.Int64N(period); at < 60*second; at += period {
			end := w.datagram(at, 1, 0, 6, segmentBody(port, 80, seq-1, ack, trace.ACK, 0, nil), passes)
			w.datagram(end+5*microsecond, 2, 0, 6, segmentBody(80, port, ack, seq, trace.ACK, 0, nil), passes)
		}
	}
}

// ring has hosts 10.0.0.3 and 4 talk over two taps that packets pass in one order both ways. routers is by how many
// hops.
func (w *packetWorld) ring(routers byte) {
	toTap, there, back := 60*microsecond+w.Int64N(200*microsecond), 20*microsecond+w.Int64N(100*microsecond), 200*microsecond+w.Int64N(1000*microsecond)
	if w.IntN(2) == 0 {
		there, back = back, there
	}
	passes := func(w *packetWorld, from byte, at int64) [2]int64 {
		between := there
		if from == 4 {
			between = back
		}
		first := at + toTap + int64(w.ExpFloat64()*10_000)
		return [2]int64{first, first + between + int64(w.ExpFloat64()*10_000)}
	}
	arrives := func(_ byte, _ int64, passed [2]int64) int64 { return passed[1] + toTap }
	for at, port := int64(0), uint16(38_081); port < 38_081+40; port++ {
		at = w.connection(at+w.Int64N(200*millisecond), 3, 4, port, w.IntN(2) == 0, 1+w.IntN(3), passes, arrives)
	}
	for i := range w.seen[1] {
		w.seen[1][i].frame[22] -= routers
	}
}
