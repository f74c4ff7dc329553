package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/testneed"
	"meridian/trace"
)

func generated(t *testing.T, o options, format string) (a, b string) {
	t.Helper()
	dir := t.TempDir()
	if err := generate(o, format, dir); err != nil {
		t.Fatal(err)
	}
	extension := ".pcap"
	if format == "pcapng" {
		extension = ".pcapng"
	}
	return filepath.Join(dir, "a"+extension), filepath.Join(dir, "b"+extension)
}

var small = options{packets: 20_000, connections: 100, seconds: 60, seed: 7, snap: 128}

func TestTheSameFlagsGiveTheSameFiles(t *testing.T) {
	for _, format := range []string{"pcap", "pcap-us", "pcapng"} {
		a, b := generated(t, small, format)
		c, d := generated(t, small, format)
		for _, pair := range [][2]string{{a, c}, {b, d}} {
			one, err := os.ReadFile(pair[0])
			if err != nil {
				t.Fatal(err)
			}
			other, err := os.ReadFile(pair[1])
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(one, other) {
				t.Errorf("%s: two runs differ", format)
			}
		}
	}
}

func TestTheCapturesAreInOrderAndHoldWhatWasAskedFor(t *testing.T) {
	for _, format := range []string{"pcap", "pcap-us", "pcapng"} {
		a, b := generated(t, small, format)
		for _, path := range []string{a, b} {
			var w trace.Warnings
			c, err := pcap.Read(context.Background(), path, "h", &w, nil)
			if err != nil || len(w.Lines()) > 0 {
				t.Fatalf("%v %v", err, w.Lines())
			}
			n := c.Packets.Len()
			if n < small.packets*7/10 || n > small.packets {
				t.Errorf("%s: %d packets", path, n)
			}
			datagrams, last := 0, clock.HostTime(0)
			for i := range n {
				p := c.Packets.At(i)
				if p.Time < last {
					t.Fatalf("%s: packet %d is out of order", path, i)
				}
				last = p.Time
				if p.Kind == trace.Datagram {
					datagrams++
				}
			}
			if datagrams < n/40 || datagrams > n/10 {
				t.Errorf("%s: %d datagrams of %d packets", path, datagrams, n)
			}
		}
	}
}

// All checksums must be right, which only whole packets show.
func TestTsharkFindsNothingWrongWithThePackets(t *testing.T) {
	tshark := testneed.Program(t, "tshark")
	whole := small
	whole.packets, whole.snap = 5000, 2000
	a, b := generated(t, whole, "pcap")
	for _, path := range []string{a, b} {
		out, err := exec.Command(tshark, "-r", path, "-n", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
			"-o", "udp.check_checksum:TRUE", "-Y", "ip.checksum.status != 1 or tcp.checksum.status == 0 or udp.checksum.status == 0 or _ws.malformed and tcp").Output()
		if err != nil || len(out) > 0 {
			t.Errorf("%v: %d lines: %.300s", err, strings.Count(string(out), "\n"), out)
		}
		lost, err := exec.Command(tshark, "-r", path, "-n", "-Y", "tcp.analysis.retransmission or tcp.analysis.fast_retransmission or tcp.options.sack").Output()
		if err != nil || len(lost) == 0 {
			t.Errorf("no segment was sent again or acknowledged selectively: %v", err)
		}
	}
}
