//go:build unix

package record

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/sensor/ring"
	"meridian/trace"
)

// TestRingOfNonsenseSpoilsNoOtherProgram: declarations come from other programs, and what these say costs only their own
// events.
func TestRingOfNonsenseSpoilsNoOtherProgram(t *testing.T) {
	for name, fields := range map[string]string{
		"no TSDL":                "this is no TSDL",
		"ends its event":         "}; }; trace { major = 1; minor = 8; byte_order = be; }; event { id = 7; fields := struct {",
		"another stream":         "}; }; stream { id = 4; }; event { name = \"x\"; id = 9; stream_id = 4; fields := struct {",
		"the same number":        "}; }; event { name = \"x\"; id = 0; stream_id = 0; fields := struct {",
		"an environment":         "}; }; env { hostname = \"elsewhere\"; }; event { name = \"x\"; id = 9; stream_id = 0; fields := struct {",
		"refers to the header":   "integer { size = 8; } _x[trace.packet.header.stream_id];",
		"a type that exists not": "uint23 _x;",
	} {
		t.Run(name, func(t *testing.T) {
			rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
			w, err := ring.Create(ring.Options{Dir: rings, Program: "bad", Shards: 1, Clock: ring.Clock{Kind: uint32(clock.Monotonic), Frequency: 1e9}})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Remove()
			if _, err := w.Register(ring.Class{Name: "bad", Fields: fields}); err != nil {
				t.Fatal(err)
			}
			p := program(t, "good", rings, "GOROUTINES=1", "EVENTS=100")
			p.emitted(t)
			p.end(t)
			var warnings trace.Warnings
			untilEnded(t, Options{Dir: dir, Rings: []string{rings}, Warnings: &warnings}, 1)
			found := map[[2]int]int{}
			numbers(read(t, dir), p.Process.Pid, found)
			if len(found) != 100 {
				t.Errorf("%d events of the other program", len(found))
			}
			babeltrace(t, dir)
			if lines := strings.Join(warnings.Lines(), "\n"); !strings.Contains(lines, w.Path()) {
				t.Errorf("nobody was told: %q", lines)
			}
		})
	}
}

// TestRingOfBeforeARestartIsLeftAsItIs: its stamps count from another moment, and it is all that is left of its program.
func TestRingOfBeforeARestartIsLeftAsItIs(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	p := program(t, "old", rings, "GOROUTINES=1", "EVENTS=100")
	p.emitted(t)
	p.end(t)
	found, err := ring.Find(rings)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	f, err := os.OpenFile(found[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const atBoot = 232
	if _, err := f.WriteAt([]byte("another start..."), atBoot); err != nil {
		t.Fatal(err)
	}
	if info, err := ring.Look(found[0]); err != nil || !info.Elsewhere() {
		t.Skipf("this system does not name its starts: %v", err)
	}
	var warnings trace.Warnings
	p = program(t, "new", rings, "GOROUTINES=1", "EVENTS=10")
	p.emitted(t)
	p.end(t)
	untilEnded(t, Options{Dir: dir, Rings: []string{rings}, Warnings: &warnings}, 1)
	if lines := strings.Join(warnings.Lines(), "\n"); !strings.Contains(lines, found[0]) || !strings.Contains(lines, "sensor.Recover") {
		t.Errorf("nobody was told: %q", lines)
	}
	if _, err := os.Stat(found[0]); err != nil {
		t.Error(err)
	}
}

// TestStampsOfNonsenseStayWithinTheRecording: a stamp that no clock has shown yet would hold up all stamps behind it.
func TestStampsOfNonsenseStayWithinTheRecording(t *testing.T) {
	for _, counter := range []clock.Source{clock.Best().Source, clock.Monotonic, clock.MonotonicRaw} {
		t.Run(counter.String(), func(t *testing.T) { stampsOfNonsense(t, counter) })
	}
}

func stampsOfNonsense(t *testing.T, counter clock.Source) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	w, err := ring.Create(ring.Options{Dir: rings, Program: "odd", Shards: 1, Clock: ring.Clock{Kind: uint32(counter), Frequency: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Register(ring.Class{Name: "odd"}); err != nil {
		t.Fatal(err)
	}
	stamps := []uint64{0, counter.Now(), 1<<64 - 1, counter.Now(), 1 << 63}
	before := counter.Now()
	for _, stamp := range stamps {
		ring.PutHead(w.Shard(0).Reserve(ring.HeadSize), 0, ring.HeadSize, stamp)
		w.Shard(0).Commit(ring.HeadSize, stamp)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	untilEnded(t, Options{Dir: dir, Rings: []string{rings}}, 1)
	now, n, last := clock.Take(clock.Monotonic), 0, clock.HostTime(0)
	for _, e := range read(t, dir) {
		if e.class.Name == "odd" {
			if n++; e.Time < last || e.Time > clock.HostTime(now.Realtime.Ns+1e9) {
				t.Errorf("event %d at %d", n, e.Time)
			}
			last = e.Time
		}
	}
	if n != len(stamps) || before == 0 {
		t.Errorf("%d events", n)
	}
	babeltrace(t, dir)
}

// FuzzTail: whatever a file holds, the tail is within it, and cutting twice cuts nothing more.
func FuzzTail(f *testing.F) {
	whole := make([]byte, packetFields+10)
	binary.LittleEndian.PutUint32(whole, packetMagic)
	binary.LittleEndian.PutUint64(whole[atSize:], uint64(len(whole))*8)
	f.Add(whole)
	f.Add(append(append([]byte{}, whole...), whole[:50]...))
	broken := append(append([]byte{}, whole...), whole...)
	broken[len(whole)+atChecksum] = 1
	f.Add(broken)
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "sensor_0")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		at, cut, err := readTail(path, [16]byte{}, true)
		if err != nil {
			return
		}
		if at.size < 0 || at.size+cut != int64(len(data)) {
			t.Fatalf("%d of %d bytes are whole, %d were cut", at.size, len(data), cut)
		}
		again, cut, err := readTail(path, [16]byte{}, true)
		if err != nil || cut != 0 && again.size > at.size {
			t.Fatalf("again: %d bytes cut, %v", cut, err)
		}
	})
}
