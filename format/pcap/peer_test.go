package pcap

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"meridian/internal/testneed"
	"meridian/trace"
)

// peer returns the path of another tool. Where the tests guard a release, its absence is a failure.
func peer(t *testing.T, name string) string {
	t.Helper()
	return testneed.Program(t, name)
}

// golden lists the captures that other tools made.
func golden(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.pcap", "*.pcapng", "*.gz", "*.zst"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 10 {
		t.Fatalf("only %d captures in testdata", len(files))
	}
	return files
}

// framesOf reads all frames of a capture, with copies of their bytes.
func framesOf(t testing.TB, r *Reader) []trace.Frame {
	t.Helper()
	var frames []trace.Frame
	for {
		var f trace.Frame
		err := r.Next(&f)
		if err == io.EOF {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Data = append([]byte{}, f.Data...)
		if f.Options != nil {
			f.Options = append([]byte{}, f.Options...)
		}
		frames = append(frames, f)
	}
}

func open(t testing.TB, path string) (*Reader, *trace.Warnings) {
	t.Helper()
	var w trace.Warnings
	r, err := Open(path, &w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, &w
}

var tsharkFields = strings.Fields(`frame.number frame.time_epoch frame.len frame.cap_len frame.md5_hash
	ip.src ip.dst ipv6.src ipv6.dst ip.proto ip.id ip.ttl ipv6.hlim ip.flags.mf ip.frag_offset ipv6.fraghdr.offset ipv6.fraghdr.ident
	tcp.srcport tcp.dstport tcp.seq_raw tcp.ack_raw tcp.flags tcp.len tcp.options.timestamp.tsval
	udp.srcport udp.dstport udp.length eth.src eth.dst sll.pkttype frame.packet_flags_direction icmp.type icmpv6.type`)

// tshark returns the fields of each packet by name.
func tshark(t *testing.T, path string) []map[string]string {
	t.Helper()
	args := []string{"-r", path, "-n", "-T", "fields", "-E", "occurrence=f", "-o", "tcp.desegment_tcp_streams:FALSE",
		"-o", "tcp.analyze_sequence_numbers:FALSE", "-o", "frame.generate_md5_hash:TRUE", "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE"}
	for _, f := range tsharkFields {
		args = append(args, "-e", f)
	}
	out, err := exec.Command(peer(t, "tshark"), args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("tshark %s: %v\n%s", path, err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var packets []map[string]string
	for line := range strings.Lines(string(out)) {
		values := strings.Split(strings.TrimRight(line, "\n"), "\t")
		m := make(map[string]string)
		for i, v := range values {
			if v != "" {
				m[tsharkFields[i]] = v
			}
		}
		packets = append(packets, m)
	}
	return packets
}

func TestPacketsAreWhatTsharkSees(t *testing.T) {
	for _, path := range golden(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want := tshark(t, path)
			var w trace.Warnings
			c, err := Read(context.Background(), path, "h", &w, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, _ := open(t, path)
			frames := framesOf(t, r)
			if c.Packets.Len() != len(want) || len(frames) != len(want) {
				t.Fatalf("%d packets, %d frames, tshark has %d", c.Packets.Len(), len(frames), len(want))
			}
			for _, line := range w.Lines() {
				if !strings.Contains(line, "cut before") {
					t.Errorf("warning about a sound capture: %s", line)
				}
			}
			seen := make(map[uint32]bool)
			for i := range want {
				p := c.Packets.At(i)
				first := !seen[p.Flow]
				seen[p.Flow] = true
				if diff := compareTshark(want[i], &frames[i], p, c, first); diff != "" {
					t.Errorf("packet %d: %s\ntshark: %v\nours: %+v", i+1, diff, want[i], p)
				}
			}
		})
	}
}

// tsharkComparison compares a packet with the fields that tshark gives, and keeps the first difference.
type tsharkComparison struct {
	want map[string]string
	p    *trace.Packet
	flow *trace.Flow
	diff string
}

// compareTshark returns the first difference.
func compareTshark(want map[string]string, f *trace.Frame, p *trace.Packet, c *trace.Capture, first bool) string {
	t := &tsharkComparison{want: want, p: p}
	t.check("frame.number", f.Number+1)
	if got := fmt.Sprintf("%d.%09d", int64(p.Time)/1e9, int64(p.Time)%1e9); got != want["frame.time_epoch"] || f.Time != p.Time {
		return fmt.Sprintf("time %s, not %s", want["frame.time_epoch"], got)
	}
	t.check("frame.len", f.Wire)
	t.check("frame.cap_len", len(f.Data))
	t.check("frame.md5_hash", fmt.Sprintf("%x", md5.Sum(f.Data)))
	_, four := want["ip.src"]
	_, six := want["ipv6.src"]
	switch {
	case !four && !six:
		t.require(p.Kind == trace.Other, "not an IP packet")
		return t.diff
	case p.Kind == trace.Other:
		// tshark too shows no ports of a packet cut that short
		t.require(len(f.Data) < 100 && len(f.Data) < int(f.Wire) && want["tcp.flags"] == "" && want["udp.srcport"] == "", "taken for no IP packet")
		return t.diff
	}
	t.flow = &c.Flows[p.Flow>>1]
	t.network(four)
	if first {
		t.check("eth.src", mac(t.flow.Source[p.Flow&1]))
		t.check("eth.dst", mac(t.flow.Target[p.Flow&1]))
	}
	t.direction()
	t.transport()
	return t.diff
}

func (t *tsharkComparison) require(ok bool, diff string) {
	if !ok && t.diff == "" {
		t.diff = diff
	}
}

// check compares a field that tshark has.
func (t *tsharkComparison) check(field string, got any) {
	w, ok := t.want[field]
	if !ok {
		return
	}
	if n, err := strconv.ParseInt(w, 0, 64); err == nil {
		w = strconv.FormatInt(n, 10)
	}
	g := fmt.Sprint(got)
	t.require(g == w, fmt.Sprintf("%s is %s, not %s", field, w, g))
}

func (t *tsharkComparison) network(four bool) {
	from, to := t.flow.Ends(int(t.p.Flow & 1))
	if !four {
		t.check("ipv6.src", from.Addr)
		t.check("ipv6.dst", to.Addr)
		t.check("ipv6.hlim", t.p.TTL)
		return
	}
	t.check("ip.src", from.Addr)
	t.check("ip.dst", to.Addr)
	t.check("ip.proto", t.flow.Protocol)
	t.check("ip.id", t.p.ID)
	t.check("ip.ttl", t.p.TTL)
}

func (t *tsharkComparison) direction() {
	if kind, ok := t.want["sll.pkttype"]; ok {
		n, _ := strconv.Atoi(kind)
		t.require(t.p.From == cookedDirection(uint16(n)), "direction of "+kind)
	}
	if d, ok := t.want["frame.packet_flags_direction"]; ok {
		n, _ := strconv.ParseInt(d, 0, 64)
		t.require(t.p.From == []trace.Direction{trace.Unknown, trace.Received, trace.Sent}[n], "direction of flags "+d)
	}
}

func (t *tsharkComparison) transport() {
	want, p := t.want, t.p
	from, to := t.flow.Ends(int(p.Flow & 1))
	_, echoed := want["icmp.type"] // what an ICMP error quotes would be taken for the packet's own
	_, echoed6 := want["icmpv6.type"]
	switch {
	case want["ip.flags.mf"] == "1" || want["ip.frag_offset"] != "" && want["ip.frag_offset"] != "0" || want["ipv6.fraghdr.ident"] != "":
		t.require(p.Kind == trace.Datagram && from.Port == 0 && to.Port == 0, "a fragment is not without ports")
		if id, ok := want["ipv6.fraghdr.ident"]; ok {
			n, _ := strconv.ParseUint(id, 0, 32)
			t.require(p.ID == uint16(n), "identification of the fragment")
		}
	case echoed || echoed6:
		t.require(p.Kind == trace.Datagram && from.Port == 0, "an ICMP message is not a datagram")
	case want["tcp.srcport"] != "" && want["tcp.flags"] == "": // cut before them
		t.require(p.Kind == trace.Datagram && t.flow.Protocol == tcp, "a cut segment is not a datagram")
		t.check("tcp.srcport", from.Port)
		t.check("tcp.dstport", to.Port)
	case want["tcp.srcport"] != "":
		t.require(p.Kind == trace.TCP, "not taken for TCP")
		t.check("tcp.srcport", from.Port)
		t.check("tcp.dstport", to.Port)
		t.check("tcp.seq_raw", p.Seq)
		t.check("tcp.ack_raw", p.Ack)
		t.check("tcp.flags", p.Flags)
		t.check("tcp.len", p.Length)
		if v := want["tcp.options.timestamp.tsval"]; v == "" {
			want["tcp.options.timestamp.tsval"] = "0"
		}
		t.check("tcp.options.timestamp.tsval", p.TSVal)
	case want["udp.srcport"] != "":
		t.check("udp.srcport", from.Port)
		t.check("udp.dstport", to.Port)
		t.check("udp.length", p.Length+8)
	}
}

func mac(m trace.MAC) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

func TestLayersAreWhatGopacketDecodes(t *testing.T) {
	for _, path := range golden(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			r, _ := open(t, path)
			c, err := Read(context.Background(), path, "h", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range framesOf(t, r) {
				compareLayers(t, i, layers.LinkType(r.Interfaces()[f.Interface].LinkType), f.Data, c.Packets.At(i))
			}
		})
	}
}

func compareLayers(t *testing.T, i int, link layers.LinkType, data []byte, p *trace.Packet) {
	t.Helper()
	d := gopacket.NewPacket(data, link, gopacket.DecodeOptions{NoCopy: true})
	if l, ok := d.Layer(layers.LayerTypeTCP).(*layers.TCP); ok && p.Kind == trace.TCP {
		if l.Seq != p.Seq || l.Ack != p.Ack || l.SYN != (p.Flags&trace.SYN != 0) || l.FIN != (p.Flags&trace.FIN != 0) {
			t.Errorf("packet %d: %+v, ours %+v", i+1, l, p)
		}
	}
	if l, ok := d.Layer(layers.LayerTypeIPv4).(*layers.IPv4); ok && (l.Id != p.ID || l.TTL != p.TTL) {
		t.Errorf("packet %d: %+v, ours %+v", i+1, l, p)
	}
}
