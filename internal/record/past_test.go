//go:build unix

package record

import (
	"encoding/binary"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"meridian/clock"
	"meridian/sensor/ring"
)

// TestOldStampsGoByTheReadingsOfTheirProgram: events of two seconds ago, when MONOTONIC was 300 µs beyond where the line
// of today leads. What the program says that cannot be is not believed.
func TestOldStampsGoByTheReadingsOfTheirProgram(t *testing.T) {
	counter := clock.Best().Source
	if !counter.CountsCycles() {
		t.Skip("this machine has no counter beside its clocks")
	}
	hz, err := clock.CalibrateQuick()
	if err != nil {
		t.Fatal(err)
	}
	cycles, _ := hz.Rounded()
	now := clock.Take(counter).Monotonic
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	w, err := ring.Create(ring.Options{Dir: rings, Program: "old", Shards: 1, Clock: ring.Clock{Kind: uint32(counter), Frequency: cycles}})
	if err != nil {
		t.Fatal(err)
	}
	const u64 = "integer { size = 64; align = 8; signed = false; } _"
	for _, c := range []ring.Class{
		{Name: "old"},
		{Name: "clock", Category: "meridian", Fields: "string _clock; " + u64 + "counter; " + u64 + "counter_error; " + u64 + "ns; " + u64 + "ns_error;"},
	} {
		if _, err := w.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	emit := func(class uint16, stamp uint64, rest []byte) {
		p := w.Shard(0).Reserve(ring.HeadSize + len(rest))
		ring.PutHead(p, class, ring.HeadSize+len(rest), stamp)
		copy(unsafe.Slice((*byte)(unsafe.Add(p, ring.HeadSize)), len(rest)), rest)
		w.Shard(0).Commit(ring.HeadSize+len(rest), stamp)
	}
	reading := func(k knot, name string) {
		b := append([]byte(name), 0)
		for _, v := range []uint64{k.counter, 10, uint64(k.ns), 10} {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		emit(1, k.counter, b)
	}
	then := knot{now.Counter - 2*cycles, now.Ns - 2e9 + 300e3}
	reading(then, "MONOTONIC")
	emit(0, then.counter, nil)
	reading(knot{then.counter + 1000, then.ns + 50e6}, "MONOTONIC") // 50 ms in a moment
	reading(knot{then.counter + 2000, then.ns - 3600e9}, "REALTIME")
	emit(0, then.counter+cycles, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	untilEnded(t, Options{Dir: dir, Rings: []string{rings}}, 1)

	offset := clock.HostTime(0)
	if m, err := readMetadata(dir); err != nil {
		t.Fatal(err)
	} else {
		offset = clock.HostTime(m.Clocks[0].OffsetSeconds*1e9 + m.Clocks[0].Offset)
	}
	want := []int64{then.ns, (then.ns + now.Ns) / 2}
	n := 0
	for _, e := range read(t, dir) {
		if e.class.Name != "old" {
			continue
		}
		// What lies between is known only as well as the frequency was just now.
		if off := time.Duration(int64(e.Time-offset) - want[n]).Abs(); n == 0 && off > 1 || off > 100*time.Microsecond {
			t.Errorf("event %d is off by %v", n, off)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d events", n)
	}
}
