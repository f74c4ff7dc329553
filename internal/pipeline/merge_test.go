package pipeline_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/trace"
)

func TestAMergedCaptureNamesAllInterfacesOfAHost(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "web.pcapng"), filepath.Join(dir, "merged.pcapng")
	var file bytes.Buffer
	w, err := pcap.NewWriter(&file, []pcap.WriterInterface{{Name: "lo", LinkType: 1}, {Name: "eth0", LinkType: 1}, {Name: "tun0", LinkType: 101}}, "")
	if err != nil {
		t.Fatal(err)
	}
	const frames = 3
	for i := range frames {
		f := trace.Frame{Number: i, Time: 1e18 + clock.HostTime(i), Data: make([]byte, 60), Wire: 60}
		if err := w.Write(1, &f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, file.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	inputs, err := input.Parse([]string{in})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := pipeline.Run(context.Background(), inputs, pipeline.Options{Outputs: []string{out}, Progress: func(string, int64, int64) {}})
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Packets == nil || *outcome.Packets != frames {
		t.Errorf("packets: %v", outcome.Packets)
	}
	merged, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x03\x00\x08\x00lo, eth0", "\x03\x00\x04\x00tun0"} { // if_description
		if !bytes.Contains(merged, []byte(want)) {
			t.Errorf("nothing is called %q", want)
		}
	}
}
