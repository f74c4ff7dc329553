//go:build linux

package packet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/netlab"
	"meridian/trace"
)

func TestMain(m *testing.M) {
	netlab.Helper()
	goleak.VerifyTestMain(m)
}

// sameStamps: the kernel stamps each packet once, whoever captures it. TCP segments received over veth are the exception: they
// bring the sender's pacing time in the place of the stamp, so each ring has its own.
func sameStamps(t *testing.T, what string, got []kept, want []trace.Frame) {
	t.Helper()
	stamps := make(map[clock.HostTime]bool)
	for _, f := range want {
		stamps[f.Time] = true
	}
	differ := 0
	for _, f := range got {
		pacing := f.direction == trace.Received && len(f.Data) > 23 && binary.BigEndian.Uint16(f.Data[12:]) == typeIPv4 && f.Data[23] == protoTCP
		if !stamps[f.Time] && !pacing {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%s: %d of %d packets have other stamps than tcpdump's", what, differ, len(got))
	}
}

func TestBothSidesCaptureWhatTcpdumpCaptures(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	const only = "tcp or udp or icmp" // nothing that begins or ends with the capture itself
	theirs := map[string]*netlab.Capture{}
	ours := map[string]*running{}
	for _, host := range []string{"web", "db"} {
		theirs[host] = lab.Capture(host, "-s", "160", "--time-stamp-precision=nano", only)
		ours[host] = start(t, Options{NetNS: namespace(lab, host), Interfaces: []string{"eth0"}, Filter: only})
	}
	lab.Run(traffic)
	lab.StopCaptures()
	sent := map[string][]kept{}
	for host, r := range ours {
		frames := r.stop()
		want := read(t, theirs[host].File)
		if len(want) < 100 {
			t.Fatalf("%s: tcpdump has only %d frames", host, len(want))
		}
		stats := r.last
		same(t, host, frames, want, stats.Dropped)
		sameStamps(t, host, frames, want)
		if stats.Unknown != 0 {
			t.Errorf("%s: %+v", host, stats)
		}
		for i, f := range frames {
			if len(f.Data) > DefaultSnaplen || f.Number != i {
				t.Fatalf("%s: frame %d has number %d and %d bytes", host, i, f.Number, len(f.Data))
			}
			if f.direction == trace.Sent {
				sent[host] = append(sent[host], f)
			}
		}
	}
	// One kernel stamps both sides: whatever one sent came to the other, later.
	for host, peer := range map[string]string{"web": "db", "db": "web"} {
		arrived := map[string][]clock.HostTime{}
		for _, f := range ours[peer].frames {
			if f.direction == trace.Received {
				arrived[string(f.Data)] = append(arrived[string(f.Data)], f.Time)
			}
		}
		if len(sent[host]) == 0 {
			t.Fatalf("%s sent nothing", host)
		}
		for _, f := range sent[host] {
			at := arrived[string(f.Data)]
			if len(at) == 0 {
				continue // cut and alike, or segments that the receiver joined
			}
			if at[0] < f.Time {
				t.Errorf("%s sent at %d what %s had received at %d", host, f.Time, peer, at[0])
			}
			arrived[string(f.Data)] = at[1:]
		}
	}
}

func TestTheFileSaysTheDirectionOfEveryPacketToWhoMatches(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	r := start(t, Options{NetNS: namespace(lab, "web"), Interfaces: []string{"eth0"}, Filter: "icmp or tcp"})
	lab.Run(traffic)
	frames := r.stop()
	c, err := pcap.Read(context.Background(), r.write(frames), "web", nil, nil)
	if err != nil || c.Packets.Len() != len(frames) {
		t.Fatalf("%d packets of %d, %v", c.Packets.Len(), len(frames), err)
	}
	web := lab.Address("db", "web")
	seen := map[trace.Direction]int{}
	for i := range frames {
		p := c.Packets.At(i)
		d := frames[i].Data
		want := trace.Received
		if binary.BigEndian.Uint16(d[12:]) == typeIPv4 && bytes.Equal(d[26:30], web.AsSlice()) {
			want = trace.Sent
		} else if binary.BigEndian.Uint16(d[12:]) != typeIPv4 {
			want = frames[i].direction
		}
		if p.From != want || frames[i].direction != want {
			t.Fatalf("packet %d: file says %v, capture %v, its source address %v", i, p.From, frames[i].direction, want)
		}
		seen[want]++
	}
	if seen[trace.Sent] < 10 || seen[trace.Received] < 10 {
		t.Errorf("directions: %v", seen)
	}
}

func TestFiltersHoldWhereTcpdumpsHold(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	web, db := lab.Address("db", "web").String(), lab.Address("web", "db").String()
	web6 := lab.Address6("db", "web").String()
	expressions := []string{
		"ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "not tcp", "tcp or udp", "ip and not icmp",
		"host " + web, "src host " + web, "dst " + web, "src or dst host " + web, "src and dst host " + web, "host " + web6, "src " + web6,
		"ip host " + db, "arp host " + db, "net 10.0.0.0/8", "src net 10.0.0.0/9", "net fd00::/8", "dst net fd00::/17", "net 0.0.0.0/0", "ip6 net ::/0",
		"port 80", "port 80 or 443 or 53", "tcp port 80", "udp src port 53", "dst portrange 50-100", "src and dst port 53", "tcp portrange 400-1000",
		"ip proto 17", "ip6 proto 58", "proto 6", "less 80", "greater 100", "not (port 80 or port 443)", "! tcp && ! udp",
		"src host " + web + " and (tcp port 80 or udp) or icmp6", "inbound", "outbound and tcp",
		"not tcp port 80 and not port 443 or less 70",
	}
	sent := crafted(lab)
	// The kernel gives a packet to the sockets that were opened later first: what this one has captured, all have.
	all, arrived := startAwaiting(t, Options{NetNS: namespace(lab, "db"), Interfaces: []string{"eth0"}, Snaplen: -1}, sent[len(sent)-1])
	filtered := make([]*running, len(expressions))
	for i, e := range expressions {
		filtered[i] = start(t, Options{NetNS: namespace(lab, "db"), Interfaces: []string{"eth0"}, Snaplen: -1, Filter: e, BufferSize: 4 << 20})
	}
	inject(t, namespace(lab, "web"), "eth0", sent)
	select {
	case <-arrived:
	case <-time.After(time.Minute):
		t.Fatal("the last frame does not arrive")
	}
	var stopped sync.WaitGroup
	for _, r := range filtered {
		r.cancel()
		stopped.Go(func() { r.stop() }) // all at once: to close each takes the kernel a while
	}
	stopped.Wait()
	frames := between(all.stop(), sent[0], sent[len(sent)-1])
	path := all.write(frames)
	if len(frames) < 500 {
		t.Fatalf("only %d frames to filter", len(frames))
	}
	for i, e := range expressions {
		got := filtered[i].frames
		want := filepath.Join(t.TempDir(), "theirs.pcap")
		if e == "inbound" || strings.HasPrefix(e, "outbound") { // tcpdump asks the kernel, a file cannot answer
			for _, f := range got {
				if (f.direction == trace.Sent) == (e == "inbound") {
					t.Errorf("%s: %v", e, f.direction)
				}
			}
			continue
		}
		if out, err := exec.Command("tcpdump", "-r", path, "-Z", "root", "-w", want, e).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", e, err, out)
		}
		theirs := read(t, want)
		same(t, e, during(got, frames), theirs, filtered[i].last.Dropped+all.last.Dropped)
		if len(theirs) == len(frames) && e != "net 0.0.0.0/0" {
			t.Errorf("%s: holds for all %d frames and tests nothing", e, len(frames))
		}
	}
}

// between returns the frames from one to another: the kernel may say something before all captures began or after the first ended.
func between(frames []kept, first, last []byte) []kept {
	same := func(data []byte) func(kept) bool { return func(f kept) bool { return bytes.Equal(f.Data, data) } }
	if at := slices.IndexFunc(frames, same(first)); at >= 0 {
		frames = frames[at:]
	}
	for len(frames) > 0 && !same(last)(frames[len(frames)-1]) {
		frames = frames[:len(frames)-1]
	}
	return frames
}

// during leaves of a capture what lies in the time of another.
func during(got, all []kept) []kept {
	return slices.DeleteFunc(got, func(f kept) bool { return f.Time < all[0].Time || f.Time > all[len(all)-1].Time })
}

func TestWhatTheRingCannotHoldIsCounted(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	// The sender's capture gets each frame while it is sent; on the way to the receiver some may be dropped before any capture.
	c, err := Open(Options{NetNS: namespace(lab, "web"), Interfaces: []string{"eth0"}, Snaplen: -1, Filter: "udp port 4242", BufferSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	frame := ethernetOf(lab, "web", "db", typeIPv4, ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 1400)))
	const many = 2000 // of 1442 bytes, into 512 KiB
	frames := make([][]byte, many)
	for i := range frames {
		frames[i] = frame
	}
	inject(t, namespace(lab, "web"), "eth0", frames)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	read := int64(0)
	if err := c.Read(ctx, func(f *trace.Frame, d trace.Direction) error {
		if read++; len(f.Data) != len(frame) || d != trace.Sent {
			t.Errorf("%d bytes, %v", len(f.Data), d)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	stats, err := c.Stats()
	if err != nil || stats.Received != read || stats.Dropped == 0 || stats.Received+stats.Dropped != many {
		t.Errorf("%+v for %d frames, of which %d were read, %v", stats, many, read, err)
	}
}

func TestInterfacesThatAppearLaterAreCapturedAndLoopbackOnce(t *testing.T) {
	t.Parallel()
	lab := netlab.New(t)
	lab.Hosts("web", "db")
	r := start(t, Options{NetNS: namespace(lab, "web"), Filter: "udp port 4242"})
	lab.Link("web", "db")
	packet := ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 30))
	inject(t, namespace(lab, "web"), "eth0", [][]byte{ethernetOf(lab, "web", "db", typeIPv4, packet)})
	inject(t, namespace(lab, "db"), "eth0", [][]byte{ethernetOf(lab, "db", "web", typeIPv4, packet)})
	r.awaitFrames(2)
	inject(t, namespace(lab, "web"), "lo", [][]byte{append(append(make([]byte, 12), 8, 0), packet...)})
	r.awaitFrames(3)
	var got []string
	for _, f := range r.stop() {
		i := r.Interfaces()[f.Interface]
		got = append(got, fmt.Sprint(i.Name, " ", f.direction == trace.Sent))
	}
	if want := []string{"eth0 true", "eth0 false", "lo false"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestStampsOnTheMonotonicClockLieBetweenReadingsOfIt(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	const origin = 1_000_000_000_000_000_000
	frame := ethernetOf(lab, "web", "db", typeIPv4, ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 30)))
	r := start(t, Options{NetNS: namespace(lab, "db"), Filter: "udp port 4242", Origin: origin})
	var before []clock.HostTime
	for range 20 {
		before = append(before, clock.HostTime(clock.Monotonic.Now()))
		inject(t, namespace(lab, "web"), "eth0", [][]byte{frame})
	}
	r.awaitFrames(int64(len(before)))
	frames := r.stop()
	end := clock.HostTime(clock.Monotonic.Now())
	if len(frames) != len(before) {
		t.Fatalf("%d frames, %d sent", len(frames), len(before))
	}
	reading := clock.HostTime(r.last.ClockError) // by which the clocks' difference may be wrong
	for i, f := range frames {
		if f.Time-origin < before[i]-reading || f.Time-origin > end+reading || i > 0 && f.Time < frames[i-1].Time {
			t.Errorf("frame %d is of %d, sent after %d and read before %d", i, f.Time-origin, before[i], end)
		}
	}
}

func TestSeveralInterfacesAndOnlyThose(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	lab.Hosts("other")
	lab.Link("web", "other")
	packet := ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 30))
	frame := ethernetOf(lab, "web", "db", typeIPv4, packet)
	for _, names := range [][]string{{"eth0", "eth1"}, {"eth1", "lo"}, {"eth1"}, nil} {
		r := start(t, Options{NetNS: namespace(lab, "web"), Interfaces: names, Filter: "udp port 4242"})
		for _, name := range []string{"eth0", "eth1"} {
			inject(t, namespace(lab, "web"), name, [][]byte{frame})
		}
		seen := map[string]bool{}
		for _, f := range r.stop() {
			seen[r.Interfaces()[f.Interface].Name] = true
		}
		for _, name := range []string{"eth0", "eth1"} {
			if seen[name] != (names == nil || slices.Contains(names, name)) {
				t.Errorf("of %v: seen %v", names, seen)
			}
		}
	}
}

// The kernel takes the tag out of the frame before anybody sees it.
func TestATagOfAVLANIsPutBack(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	tagged := ethernetOf(lab, "web", "db", 0x8100, append([]byte{0x20, 0x2a, 8, 0}, ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(4242, 4242, 300))...))
	for _, snaplen := range []int{-1, 0, 64, 15} {
		r := start(t, Options{NetNS: namespace(lab, "db"), Filter: "udp port 4242", Snaplen: snaplen})
		inject(t, namespace(lab, "web"), "eth0", [][]byte{tagged})
		r.awaitFrames(1)
		frames := r.stop()
		want := tagged
		if snaplen == 0 {
			snaplen = DefaultSnaplen
		}
		if snaplen > 0 {
			want = want[:snaplen]
		}
		if len(frames) != 1 || frames[0].Wire != uint32(len(tagged)) || !bytes.Equal(frames[0].Data, want) {
			t.Fatalf("snap length %d: %d frames of %x, want %x", snaplen, len(frames), frames, want)
		}
	}
}

func TestReadEndsWithItsCallersError(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	c, err := Open(Options{NetNS: namespace(lab, "db")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	inject(t, namespace(lab, "web"), "eth0", [][]byte{ethernetOf(lab, "web", "db", typeIPv4, ipv4(protoUDP, "10.1.2.3", "10.3.2.1", 0, udp(1, 2, 3)))})
	full := errors.New("disk full")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := c.Read(ctx, func(*trace.Frame, trace.Direction) error { return full }); !errors.Is(err, full) {
		t.Fatal(err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	for want, o := range map[string]Options{
		"no interface eth7 in":               {NetNS: namespace(lab, "web"), Interfaces: []string{"eth7"}},
		"there are lo, eth0":                 {NetNS: namespace(lab, "web"), Interfaces: []string{"eth7"}},
		"network namespace nobody not found": {NetNS: "nobody"},
		"filter \"prot 80\"":                 {Filter: "prot 80"},
		"name the interfaces":                {Promiscuous: true},
	} {
		if c, err := Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
			if err == nil {
				c.Close()
			}
		}
	}
}

// A length of more than 32 bits is as good as all, and must not become none.
func TestALengthBeyondAnyPacketKeepsAll(t *testing.T) {
	t.Parallel()
	lab := netlab.TwoHosts(t)
	all := 1
	all <<= strconv.IntSize / 2
	r := start(t, Options{NetNS: namespace(lab, "web"), Interfaces: []string{"eth0"}, Filter: "icmp", Snaplen: all})
	lab.Run(netlab.Traffic{From: "web", To: "db", Pings: 5})
	frames := r.stop()
	if len(frames) < 10 {
		t.Fatalf("%d frames of 5 exchanges", len(frames))
	}
	for _, f := range frames {
		if len(f.Data) != int(f.Wire) {
			t.Errorf("%d bytes are kept of %d", len(f.Data), f.Wire)
		}
	}
}
