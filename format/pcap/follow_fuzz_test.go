package pcap

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/fuzztest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// Whatever a file holds and however it grows, a Follower returns the frames of the offline reader.
func FuzzFollower(f *testing.F) {
	for _, data := range growingCaptures() {
		f.Add(data, []byte{3, 200, 1, 90})
	}
	for _, data := range fuzztest.Real(f, "*.pcap*") {
		f.Add(data[:min(len(data), 1500)], []byte{3, 200, 1, 90})
	}
	dir := f.TempDir()
	testseed.FuzzCostly(f, func(t *testing.T, data, parts []byte) {
		data = data[:min(len(data), 1500)] // some packets: more only take longer
		path := filepath.Join(dir, "capture")
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		follower := Follow(path, nil)
		defer follower.Close()
		var got []string
		look := func(written int) {
			if err := os.WriteFile(path, data[:written], 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := follower.Refresh(); err != nil {
				return
			}
			var frame trace.Frame
			for follower.Next(&frame, nil) == nil {
				got = append(got, frameLine(&frame))
			}
		}
		written := 0
		for _, n := range parts[:min(len(parts), 6)] {
			written = min(len(data), written+1+int(n)*len(data)/512)
			look(written)
		}
		look(len(data))
		if len(data) < headerLength || bytes.HasPrefix(data, []byte{0x1f, 0x8b}) || bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			return // too short to follow, or compressed
		}
		r, err := NewReader(bytes.NewReader(data), "capture", nil)
		if err != nil {
			if len(got) > 0 {
				t.Fatalf("%d frames of what is no capture: %v", len(got), err)
			}
			return
		}
		defer r.Close()
		var frame trace.Frame
		n := 0
		for ; r.Next(&frame) == nil; n++ {
			if n >= len(got) || got[n] != frameLine(&frame) {
				t.Fatalf("frame %d is not what was followed; %d were", n, len(got))
			}
		}
		if n != len(got) {
			t.Fatalf("%d frames, offline %d", len(got), n)
		}
	})
}
