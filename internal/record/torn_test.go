//go:build linux

package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// TestNextRecorderCutsOffWhatIsTornOfASource leaves the file of a source as a recorder does that dies within a write: at any
// place of the last packet.
func TestNextRecorderCutsOffWhatIsTornOfASource(t *testing.T) {
	dir, rings := filepath.Join(t.TempDir(), "trace"), t.TempDir()
	k := &fakeKernel{cpus: true, from: uint64(clock.Monotonic.Now())}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := Options{Dir: dir, Rings: []string{rings}, Sources: []Source{k}, Counts: func(s Summary) {
		if s.Total.Events == kernelEvents && k.lost.Load() > 0 {
			cancel()
		}
	}}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "kernel_*"))
	if err != nil || len(paths) != 2 {
		t.Fatal(paths, err)
	}
	whole, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(whole)%unit != 0 || len(whole) < 2*page {
		t.Fatalf("a file of %d bytes", len(whole))
	}
	for at := 0; at < len(whole); { // what keeps a kill from tearing a packet
		size := int(binary.LittleEndian.Uint64(whole[at+atSize:])) / 8
		if size == 0 || at/page != (at+size-1)/page {
			t.Fatalf("the packet of %d bytes at offset %d lies in two pages", size, at)
		}
		at += size
	}
	for _, cut := range []int{1, 19, 20, sourceHead - 1, sourceHead, 1000, page - 1} {
		if err := os.WriteFile(paths[0], append(whole[:len(whole):len(whole)], whole[:cut]...), 0o666); err != nil {
			t.Fatal(err)
		}
		var w trace.Warnings
		r, err := New(Options{Dir: dir, Rings: []string{rings}, Warnings: &w})
		if err != nil {
			t.Fatal(err)
		}
		r.t.close()
		if got, err := os.ReadFile(paths[0]); err != nil || !bytes.Equal(got, whole) {
			t.Errorf("with %d bytes of a packet behind them %d bytes of %d are left, %v", cut, len(got), len(whole), err)
		}
		if lines := w.Lines(); len(lines) != 1 || !strings.Contains(lines[0], cutShort) {
			t.Errorf("%q", lines)
		}
	}
	// What is nobody's is left alone.
	strange := append(whole[:len(whole):len(whole)], "something else"...)
	if err := os.WriteFile(paths[0], strange, 0o666); err != nil {
		t.Fatal(err)
	}
	if r, err = New(Options{Dir: dir, Rings: []string{rings}}); err != nil {
		t.Fatal(err)
	}
	r.t.close()
	if got, err := os.ReadFile(paths[0]); err != nil || !bytes.Equal(got, strange) {
		t.Errorf("%d bytes of %d are left, %v", len(got), len(strange), err)
	}
}

// TestNextRecorderCutsOffWhatIsTornOfPackets leaves the file of packets as a recorder does that dies within a write.
func TestNextRecorderCutsOffWhatIsTornOfPackets(t *testing.T) {
	dir, rings := filepath.Join(t.TempDir(), "trace"), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := New(Options{Dir: dir, Host: "web", Rings: []string{rings}, Packets: &fakeCapture{frames: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, packetFiles, "web.pcapng")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const packetBlock = 6
	last := 0 // where the last packet begins
	for at := 0; at < len(whole); at += int(binary.LittleEndian.Uint32(whole[at+4:])) {
		if binary.LittleEndian.Uint32(whole[at:]) == packetBlock {
			last = at
		}
	}
	for _, torn := range [][]byte{whole[:last+1], whole[:last+7], whole[:last+8], whole[:last+200]} {
		if err := os.WriteFile(path, torn, 0o666); err != nil {
			t.Fatal(err)
		}
		foreign := filepath.Join(dir, packetFiles, "other.pcapng")
		if err := os.WriteFile(foreign, bytes.ReplaceAll(torn, []byte("CLOCK_MONOTONIC"), []byte("CLOCK_MONOTONOC")), 0o666); err != nil {
			t.Fatal(err)
		}
		var w trace.Warnings
		r, err := New(Options{Dir: dir, Rings: []string{rings}, Warnings: &w})
		if err != nil {
			t.Fatal(err)
		}
		r.t.close()
		stamps, warnings := captured(t, path)
		if left, err := os.Stat(path); err != nil || len(stamps) != 99 || len(warnings) > 0 || left.Size() != int64(last) {
			t.Errorf("%d packets in %d bytes, %q, %v", len(stamps), left.Size(), warnings, err)
		}
		if lines := w.Lines(); len(lines) != 1 || !strings.Contains(lines[0], cutShort) || !strings.Contains(lines[0], "web.pcapng") {
			t.Errorf("%q", lines)
		}
		if left, err := os.Stat(foreign); err != nil || left.Size() != int64(len(torn)) {
			t.Errorf("somebody else's file is touched: %v", err)
		}
	}
	// Where the packets of a trace are not to be gone on with, they are not touched either.
	if err := os.WriteFile(path, whole[:last+50], 0o666); err != nil {
		t.Fatal(err)
	}
	if r, err = New(Options{Dir: filepath.Join(t.TempDir(), "next"), Rings: []string{rings}, After: []string{dir}}); err != nil {
		t.Fatal(err)
	}
	r.t.close()
	if left, err := os.Stat(path); err != nil || left.Size() != int64(last+50) {
		t.Errorf("a trace that another goes on after is cut: %v", err)
	}
}
