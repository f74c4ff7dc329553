package pcap

import (
	"bytes"
	"io"
	"os"
	"testing"

	"meridian/clock"
	"meridian/internal/encapsulation"
	"meridian/internal/fuzztest"
	"meridian/internal/testseed"
	"meridian/trace"
)

func seed(f *testing.F) {
	for _, path := range golden(f) {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 3000)])
	}
	for _, b := range fuzztest.Real(f, "*") {
		f.Add(b[:min(len(b), 3000)])
	}
}

// Whatever the bytes, reading ends, numbers its frames, and what it gives can be written and read again.
func FuzzReader(f *testing.F) {
	seed(f)
	testseed.FuzzCostly(f, func(t *testing.T, file []byte) {
		var w trace.Warnings
		r, err := NewReader(bytes.NewReader(file), "x", &w)
		if err != nil {
			return
		}
		defer r.Close()
		d := NewDecoder("x", &w)
		var p trace.Packet
		var kept []trace.Frame
		for n := 0; ; n++ {
			var frame trace.Frame
			err := r.Next(&frame)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if frame.Number != n || frame.Time >= clock.Limit || frame.Time <= -clock.Limit || int(frame.Wire) < len(frame.Data) ||
				frame.Interface >= len(r.Interfaces()) || len(frame.Options)%4 != 0 {
				t.Fatalf("frame %d: %+v", n, frame)
			}
			d.Decode(r.Interfaces()[frame.Interface].LinkType, &frame, &p)
			if frame.Time >= 0 && len(kept) < 100 {
				frame.Data, frame.Options = bytes.Clone(frame.Data), bytes.Clone(frame.Options)
				kept = append(kept, frame)
			}
		}
		var out bytes.Buffer
		x, err := NewWriter(&out, []WriterInterface{{LinkType: 1}}, "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range kept {
			if err := x.Write(0, &kept[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Flush(); err != nil {
			t.Fatal(err)
		}
		again, err := NewReader(&out, "x", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		for i, want := range kept {
			var got trace.Frame
			if err := again.Next(&got); err != nil || got.Time != want.Time || got.Wire != want.Wire ||
				!bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Options, want.Options) {
				t.Fatalf("frame %d: %+v, want %+v: %v", i, got, want, err)
			}
		}
	})
}

// Whatever the bytes of a frame, decoding does not panic, and what was kept of a frame decides, not what lay behind it.
func FuzzDecode(f *testing.F) {
	f.Add(uint16(linkEthernet), uint32(100), ether(typeIPv4, ip4(tcp, nil, tcpSegment(16, timestamps, "x"), 0, 1, 0)))
	f.Add(uint16(linkEthernet), uint32(100), ether(0x8100, join(be16(7), be16(typeIPv6), ip6(hopByHop, make([]byte, 16), 0))))
	f.Add(uint16(linkCooked2), uint32(100), make([]byte, 64))
	f.Add(uint16(linkNull), uint32(100), join(2, 0, 0, 0, ip4(icmp4, nil, make([]byte, 20), 0, 1, 0)))
	f.Add(uint16(linkRaw), uint32(2000), ip6(fragment, join(udp, 0, be16(8), be32(0x12345678), "behind the first"), 0))
	for _, b := range fuzztest.Real(f, "*") {
		seedFrames(f, b)
	}
	for _, e := range encapsulation.All() {
		for _, p := range insidePackets()[:2] {
			f.Add(e.Link, uint32(100), e.Frame(p))
		}
	}
	testseed.Fuzz(f, func(t *testing.T, link uint16, wire uint32, data []byte) {
		var p, q trace.Packet
		d := NewDecoder("x", nil)
		wire = max(wire, uint32(len(data)))
		d.Decode(link, &trace.Frame{Data: data, Wire: wire}, &p)
		roomy := append(bytes.Clone(data), "something else"...)
		NewDecoder("x", nil).Decode(link, &trace.Frame{Data: roomy[:len(data)], Wire: wire}, &q)
		if p != q {
			t.Fatalf("%+v and %+v", p, q)
		}
		if (p.Kind == trace.Other) != (p.Flow == trace.NoFlow) || p.Kind != trace.Other && int(p.Flow>>1) >= len(d.Flows()) {
			t.Fatalf("%+v", p)
		}
		if p.Length > max(wire, 1<<16) {
			t.Fatalf("length %d of %d", p.Length, wire)
		}
	})
}

// seedFrames adds the first frames of a capture.
func seedFrames(f *testing.F, capture []byte) {
	r, err := NewReader(bytes.NewReader(capture), "x", new(trace.Warnings))
	if err != nil {
		return
	}
	defer r.Close()
	var frame trace.Frame
	for n := 0; n < 4 && r.Next(&frame) == nil; n++ {
		f.Add(r.Interfaces()[frame.Interface].LinkType, frame.Wire, bytes.Clone(frame.Data))
	}
}
