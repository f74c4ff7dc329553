package pcap

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// benchmarkFile writes a capture of full segments and acknowledgements between some hundred ends, kept to 128 bytes.
func benchmarkFile(b *testing.B, packets int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "x.pcap")
	var rs []record
	for i := range 1000 {
		flow := i / 4 % 200
		payload := string(make([]byte, 62))
		if i%3 == 2 {
			payload = ""
		}
		segment := tcpSegment(16, timestamps, payload)
		binary.BigEndian.PutUint16(segment[i%2*2:], uint16(10000+flow))
		packet := ip4(tcp, nil, segment, 1500, i, 0)
		if i%2 == 1 {
			copy(packet[12:], "\xc0\xa8\x00\x02\x0a\x00\x00\x01")
		}
		rs = append(rs, record{clock.HostTime(1_700_000_000_000_000_000+int64(i)*1000) + 1, ether(typeIPv4, packet), 1514})
	}
	file := classic(binary.LittleEndian, 0xa1b23c4d, 128, 1, rs...)
	out := file[:24:24]
	for range packets / 1000 {
		out = append(out, file[24:]...)
	}
	if err := os.WriteFile(path, out, 0o666); err != nil {
		b.Fatal(err)
	}
	return path
}

const benchmarkPackets = 1_000_000

func perPacket(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchmarkPackets, "ns/packet")
}

func BenchmarkRead(b *testing.B) {
	path := benchmarkFile(b, benchmarkPackets)
	b.ReportAllocs()
	for b.Loop() {
		c, err := Read(context.Background(), path, "h", nil, nil)
		if err != nil || c.Packets.Len() != benchmarkPackets {
			b.Fatal(err)
		}
	}
	perPacket(b)
}

func BenchmarkReader(b *testing.B) {
	path := benchmarkFile(b, benchmarkPackets)
	b.ReportAllocs()
	for b.Loop() {
		r, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		var f trace.Frame
		n := 0
		for ; r.Next(&f) == nil; n++ {
		}
		if n != benchmarkPackets {
			b.Fatal(n)
		}
		r.Close()
	}
	perPacket(b)
}

func BenchmarkWriter(b *testing.B) {
	f := trace.Frame{Time: 1_700_000_000_000_000_000, Data: make([]byte, 128), Wire: 1514}
	b.ReportAllocs()
	for b.Loop() {
		x, err := NewWriter(io.Discard, []WriterInterface{{LinkType: 1}}, "")
		if err != nil {
			b.Fatal(err)
		}
		for range benchmarkPackets {
			if err := x.Write(0, &f); err != nil {
				b.Fatal(err)
			}
		}
		if err := x.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	perPacket(b)
}

func TestReadingAllocatesNothingPerFrame(t *testing.T) {
	file := classic(binary.LittleEndian, 0xa1b23c4d, 128, 1)
	one := classic(binary.LittleEndian, 0xa1b23c4d, 128, 1, record{1e9, ether(typeIPv4, ip4(tcp, nil, tcpSegment(16, timestamps, ""), 0, 1, 0)), 0})[24:]
	for range 50_000 {
		file = append(file, one...)
	}
	path := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1, func() {
		if _, err := Read(context.Background(), path, "h", nil, nil); err != nil {
			t.Fatal(err)
		}
	}); n > 100 {
		t.Errorf("%.0f allocations for 50000 frames", n)
	}
	f := trace.Frame{Time: 1, Data: make([]byte, 128), Wire: 1514, Options: []byte("\x02\x00\x04\x00\x02\x00\x00\x00")}
	x, err := NewWriter(io.Discard, []WriterInterface{{LinkType: 1}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(50_000, func() {
		if err := x.Write(0, &f); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%.1f allocations for a frame written", n)
	}
}
