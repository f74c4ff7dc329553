package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/usage"
)

// fuse is a context that ends when it is looked at for the nth time.
type fuse struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func newFuse(parent context.Context, looks int) *fuse {
	return &fuse{Context: parent, left: looks, done: make(chan struct{})}
}

func (f *fuse) Done() <-chan struct{} { return f.done }

func (f *fuse) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left == 0 {
		close(f.done)
	}
	if f.left <= 0 {
		return context.Canceled
	}
	return nil
}

// twoCaptures writes captures of two hosts that exchange datagrams, of which both say who sent.
func twoCaptures(t *testing.T, directory string) []string {
	t.Helper()
	paths := []string{filepath.Join(directory, "a.pcapng"), filepath.Join(directory, "b.pcapng")}
	for host, path := range paths {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		w, err := pcapgo.NewNgWriterInterface(file, pcapgo.NgInterface{LinkType: layers.LinkTypeEthernet, TimestampResolution: 9},
			pcapgo.DefaultNgWriterOptions)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			sender := i % 2
			at := time.Unix(1_700_000_000, int64(i)*10_000_000)
			direction := pcapgo.NgEpbFlagDirectionOutbound
			if host != sender {
				at, direction = at.Add(100*time.Microsecond), pcapgo.NgEpbFlagDirectionInbound
			}
			data := datagram(t, byte(sender+1), byte(2-sender), uint16(i))
			info := gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(data), Length: len(data)}
			options := pcapgo.NgPacketOptions{Flags: &pcapgo.NgEpbFlags{Direction: direction}}
			if err := w.WritePacketWithOptions(info, data, options); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func datagram(t *testing.T, from, to byte, id uint16) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, Id: id, Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 0, 0, from}, DstIP: []byte{10, 0, 0, to}}
	udp := &layers.UDP{SrcPort: 5000, DstPort: 5000}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	ethernet := &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, from}, DstMAC: []byte{2, 0, 0, 0, 0, to}, EthernetType: layers.EthernetTypeIPv4}
	out := gopacket.NewSerializeBuffer()
	payload := gopacket.Payload([]byte{byte(id), byte(id >> 8), 3, 4, 5, 6, 7, 8})
	if err := gopacket.SerializeLayers(out, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ethernet, ip, udp, payload); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestWhereverItIsInterruptedNothingIsLeft ends a run at the first look at its context, at the second, and so on until
// it comes through.
func TestWhereverItIsInterruptedNothingIsLeft(t *testing.T) {
	directory := t.TempDir()
	inputs, err := input.Parse(twoCaptures(t, directory))
	if err != nil {
		t.Fatal(err)
	}
	outputs := []string{filepath.Join(directory, "report.json"), filepath.Join(directory, "page.html"), filepath.Join(directory, "all.pcapng"), filepath.Join(directory, "parts") + "/"}
	old := []byte("what was there before")
	if err := os.WriteFile(outputs[0], old, 0o666); err != nil {
		t.Fatal(err)
	}
	for looks := 1; ; looks++ {
		outcome, err := pipeline.Run(newFuse(t.Context(), looks), inputs, pipeline.Options{Outputs: outputs})
		if err == nil {
			if looks <= len(outputs) || outcome.Report.Quality.Messages != 100 {
				t.Fatalf("through after %d looks with %d messages", looks, outcome.Report.Quality.Messages)
			}
			break
		}
		var usage *usage.Error
		if !errors.Is(err, context.Canceled) || errors.As(err, &usage) {
			t.Fatalf("look %d: %v", looks, err)
		}
		if got, err := os.ReadFile(outputs[0]); err != nil || string(got) != string(old) {
			t.Fatalf("look %d: the old output became %q, %v", looks, got, err)
		}
		if entries, err := os.ReadDir(directory); err != nil || len(entries) != 3 {
			t.Fatalf("look %d: %v, %v", looks, entries, err)
		}
	}
	for _, path := range outputs {
		if info, err := os.Stat(path); err != nil || info.Size() <= int64(len(old)) {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}
