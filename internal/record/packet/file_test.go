package packet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/testneed"
	"meridian/internal/testseed"
	"meridian/trace"
)

// framesOf reads a capture as far as it goes.
func framesOf(t interface{ Fatal(...any) }, data []byte) (frames []trace.Frame, ifaces []trace.Interface) {
	r, err := pcap.NewReader(bytes.NewReader(data), "file", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var f trace.Frame
	for r.Next(&f) == nil {
		g := f
		g.Data, g.Options = bytes.Clone(f.Data), bytes.Clone(f.Options)
		frames = append(frames, g)
	}
	return frames, r.Interfaces()
}

func sameFrame(a, b *trace.Frame) bool {
	return a.Time == b.Time && a.Interface == b.Interface && a.Wire == b.Wire && bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Options, b.Options)
}

func TestAFileCutAnywhereHoldsWhatWasFlushedBefore(t *testing.T) {
	dir, n := t.TempDir(), 0
	testseed.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n, ".pcapng"))
		x, err := Create(path, "of a test")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		defer x.Close()
		var ifaces []Interface
		var all []trace.Frame
		flushed := map[int]int64{0: x.size} // size of the file when so many frames were flushed
		for i := range rapid.IntRange(0, 30).Draw(t, "frames") {
			if len(ifaces) == 0 || rapid.IntRange(0, 5).Draw(t, "new interface") == 0 {
				ifaces = append(ifaces, Interface{trace.Interface{Name: fmt.Sprint("eth", len(ifaces)), LinkType: linkEthernet, SnapLength: 96}, len(ifaces)})
				if err := x.Describe(ifaces); err != nil {
					t.Fatal(err)
				}
			}
			f := trace.Frame{Number: i, Time: clock.HostTime(rapid.Int64Range(0, 1<<61).Draw(t, "time")), Interface: rapid.IntRange(0, len(ifaces)-1).Draw(t, "interface"),
				Data: rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "data"), Options: []byte{2, 0, 4, 0, 1, 0, 0, 0}}
			f.Wire = uint32(len(f.Data))
			if err := x.Write(&f); err != nil {
				t.Fatal(err)
			}
			all = append(all, f)
			if rapid.Bool().Draw(t, "flush") {
				err := x.Flush()
				if rapid.Bool().Draw(t, "dropped") {
					err = x.WriteStatistics(Stats{Dropped: int64(i)}, f.Time, false)
				}
				if err != nil {
					t.Fatal(err)
				}
				flushed[len(all)] = x.size
			}
		}
		if err := x.WriteStatistics(Stats{}, 1, true); err != nil {
			t.Fatal(err)
		}
		flushed[len(all)] = x.size
		written := int64(0)
		for _, w := range x.Written() {
			written += w.Packets
		}
		if written != int64(len(all)) {
			t.Fatalf("%d packets are counted of %d", written, len(all))
		}
		data, err := os.ReadFile(path)
		if err != nil || int64(len(data)) != x.size {
			t.Fatalf("%d bytes of %d, %v", len(data), x.size, err)
		}
		cut := rapid.Int64Range(flushed[0], x.size).Draw(t, "cut")
		got, shown := framesOf(t, data[:cut])
		least := 0
		for frames, size := range flushed {
			if size <= cut {
				least = max(least, frames)
			}
		}
		if len(got) < least || len(got) > len(all) {
			t.Fatalf("%d frames of %d, of which %d were flushed", len(got), len(all), least)
		}
		for i := range got {
			if !sameFrame(&got[i], &all[i]) || shown[got[i].Interface].Name != ifaces[got[i].Interface].Name {
				t.Fatalf("frame %d: %+v, written %+v", i, got[i], all[i])
			}
		}
	})
}

func TestDroppedPacketsStandInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	x, err := Create(path, "")
	if err != nil {
		t.Fatal(err)
	}
	ifaces := []Interface{{trace.Interface{Name: "eth0", LinkType: linkEthernet}, 1}, {trace.Interface{Name: "tun0", LinkType: linkRaw}, 2}}
	if err := x.Describe(ifaces); err != nil {
		t.Fatal(err)
	}
	const at = 1_800_000_000_000_000_123
	f := trace.Frame{Time: at, Interface: 1, Data: make([]byte, 21), Wire: 1000}
	for _, err := range []error{x.Write(&f), x.WriteStatistics(Stats{}, at, false), x.WriteStatistics(Stats{Dropped: 7}, at, false), x.WriteStatistics(Stats{Dropped: 7}, at, false), x.WriteStatistics(Stats{Dropped: 9}, at+1, true), x.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// What the statistics say, block by block: interface, time, dropped, delivered.
	var told []string
	le := binary.LittleEndian
	const statistics, comment = 5, 1
	for b := data; len(b) > 0; b = b[le.Uint32(b[4:]):] {
		if le.Uint32(b) != statistics {
			continue
		}
		line := fmt.Sprint(le.Uint32(b[8:]), " ", uint64(le.Uint32(b[12:]))<<32|uint64(le.Uint32(b[16:])))
		for o := b[20 : le.Uint32(b[4:])-4]; le.Uint16(o) != 0; o = o[4+(int(le.Uint16(o[2:]))+3)&^3:] {
			if code := le.Uint16(o); code != comment {
				line += fmt.Sprintf(" %d=%d", code, le.Uint64(o[4:]))
			}
		}
		told = append(told, line)
	}
	want := []string{fmt.Sprint("0 ", at, " 7=7 8=0"), fmt.Sprint("1 ", at, " 8=1"), fmt.Sprint("0 ", at+1, " 7=9 8=0"), fmt.Sprint("1 ", at+1, " 8=1")}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", told, want)
	}
	capinfos := testneed.Program(t, "capinfos")
	out, err := exec.Command(capinfos, path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Number of stat entries = 2") || !strings.Contains(string(out), "nanosecond") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestAFileThatIsThereIsNotWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(path, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, ""); err == nil {
		t.Error("it is written over")
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("it holds %q", b)
	}
}
