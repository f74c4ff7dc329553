package ctf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// heldPacket is a packet with a copy of its bytes, and the metadata as it was then.
type heldPacket struct {
	TimelinePacket
	text []byte
}

// packets writes a timeline as packets, which end by themselves and after each record for which flush says so.
func (l *timeline) packets(t testing.TB, size int, flush func(i int) bool) (all []heldPacket, metadata []byte) {
	t.Helper()
	var w *PacketWriter
	w, err := NewPacketWriter(l.schema, PacketOptions{PacketSize: size, Packet: func(p TimelinePacket) {
		p.Data = bytes.Clone(p.Data)
		all = append(all, heldPacket{p, w.Metadata(0)})
	}})
	for i := range l.records {
		if err == nil {
			err = w.Write(&l.records[i])
		}
		if err == nil && flush(i) {
			err = w.Flush()
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return all, w.Metadata(0)
}

// savePackets makes a trace of packets.
func savePackets(t testing.TB, dir string, metadata []byte, packets []heldPacket) {
	t.Helper()
	var stream []byte
	for _, p := range packets {
		stream = append(stream, p.Data...)
	}
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "metadata"), metadata, 0o666)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "stream"), stream, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// placing are the fields by which packets say where an event is.
var placing = []string{"component", "behind", "moved"}

// readPackets returns a line for each record of a trace of packets, as recordLine has it, with the true time of late ones.
func readPackets(t testing.TB, dir string) (all []string) {
	t.Helper()
	var w trace.Warnings
	tr, err := Open(dir, &w)
	if err != nil {
		t.Fatal(err)
	}
	s := tr.Events()
	defer s.Close()
	for e := range eventtest.All(t, s) {
		c, back := newRestorer(s.Classes()[e.Class])
		values := slices.Clone(back.restore(s.Values()))
		c.Fields = slices.Clone(c.Fields)
		for i := len(c.Fields) - 1; i >= 0; i-- {
			name := c.Fields[i].Name
			if name == "behind" && i >= len(c.Fields)-c.Context {
				e.Time -= clock.HostTime(values[i].Uint())
			}
			if slices.Contains(placing, name) {
				c.Fields, values = slices.Delete(c.Fields, i, i+1), slices.Delete(values, i, i+1)
				c.Context--
			}
		}
		row := s.Streams()[e.Stream]
		r := trace.TimelineEvent{Event: e, Time: clock.TimelineTime(e.Time)}
		all = append(all, recordLine(row.Host, row, c, &r, values))
	}
	if len(w.Lines()) > 0 {
		t.Errorf("%q", w.Lines())
	}
	return all
}

func TestPacketsAreReadBackInTheirOrderWhereverTheyEnd(t *testing.T) {
	dir, n := t.TempDir(), 0
	testseed.Check(t, func(rt *rapid.T) {
		l := drawTimeline(rt, 0)
		l.records[0].Time = max(l.records[0].Time, 0) // the clock begins in the second of the first
		for i := range l.records {
			r := &l.records[i]
			r.Time = max(r.Time, 0)
			if rapid.IntRange(0, 4).Draw(rt, "late") == 0 {
				r.Time = max(r.Time-clock.TimelineTime(rapid.Int64Range(0, 1e10).Draw(rt, "by")), 0)
			}
		}
		ends := rapid.IntRange(1, 10).Draw(rt, "ends")
		all, metadata := l.packets(t, rapid.IntRange(1, 2000).Draw(rt, "packet"), func(i int) bool { return i%ends == 0 })
		n++
		at := filepath.Join(dir, fmt.Sprint(n))
		savePackets(t, at, metadata, all)
		got := readPackets(t, at)
		var want []string
		events := uint64(0)
		for i := range l.records {
			r := &l.records[i]
			want = append(want, recordLine(l.schema.Hosts[r.Host], l.schema.Streams[r.Stream], l.schema.Classes[r.Class], r, r.Values))
		}
		for _, p := range all {
			if events += p.Events; !bytes.HasPrefix(metadata, p.text) || len(p.text) != p.Metadata {
				rt.Fatalf("metadata of %d bytes that is not what the last begins with, or not the %d bytes that the packet needs", len(p.text), p.Metadata)
			}
		}
		if events != uint64(len(want)) {
			rt.Errorf("packets say that they have %d events of %d", events, len(want))
		}
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				rt.Fatalf("record %d of %d and %d:\n got %s\nwant %s", i, len(got), len(want), strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
			}
		}
		os.RemoveAll(at)
	})
}

// Whatever packets come, with the metadata that the last of them needs, babeltrace2 reads them, and says of each gap how many packets are not there.
func TestBabeltraceReadsWhatPacketsAreThere(t *testing.T) {
	peer(t, "babeltrace2")
	for seed := range 20 {
		l := rapid.Custom(func(t *rapid.T) *timeline { return drawTimeline(t, 1) }).Example(seed)
		for i := range l.records {
			l.records[i].Time = max(l.records[i].Time, 0)
		}
		all, _ := l.packets(t, 1<<(seed%12), func(i int) bool { return i%3 == 0 })
		last := 1 + seed%len(all)
		events := 0
		for _, p := range all[:last] {
			events += int(p.Events)
		}
		dir := filepath.Join(t.TempDir(), "out")
		savePackets(t, dir, all[last-1].text, all[:last])
		if lines := babeltrace(t, dir); len(lines) != events || !strings.Contains(lines[0], `host = "`) || !strings.Contains(lines[0], "recorded = ") {
			t.Errorf("seed %d: %d lines of %d events: %q", seed, len(lines), events, lines)
		}
	}
}

func TestPacketsThatAreNotThereAreCounted(t *testing.T) {
	l := simple(trace.Stream{Name: "r", Parent: -1})
	for i := range 30 {
		l.add(clock.HostTime(i), 0, trace.OfUint(uint64(i)))
	}
	all, metadata := l.packets(t, 4096, func(i int) bool { return i%10 == 9 })
	dir := filepath.Join(t.TempDir(), "out")
	savePackets(t, dir, metadata, slices.Delete(all, 1, 2))
	var w trace.Warnings
	tr, err := Open(dir, &w)
	if err != nil {
		t.Fatal(err)
	}
	s, n := tr.Events(), 0
	for range eventtest.All(t, s) {
		n++
	}
	if err := s.Close(); err != nil || n != 20 {
		t.Errorf("%d events, %v", n, err)
	}
	if lines := fmt.Sprint(w.Lines()); !strings.Contains(lines, "packet lost") {
		t.Errorf("nothing is said of the packet that is not there: %s", lines)
	}
}

func TestRowsOfHostsInOneStreamAreTheirHosts(t *testing.T) {
	l := &timeline{schema: &trace.Schema{Hosts: []string{"web", "db"}, Classes: []trace.Class{{Name: "e"}}, Streams: []trace.Stream{
		{Name: "system", Host: "web", Parent: -1}, {Name: "nginx", Host: "web", Parent: 0}, {Name: "system", Host: "db", Parent: -1}, {Name: "nginx", Host: "db", Parent: 2}}}}
	for i, row := range []int{1, 3, 0, 2} {
		l.records = append(l.records, trace.TimelineEvent{Event: trace.Event{Stream: row}, Host: row / 2, Time: clock.TimelineTime(i), Map: -1})
	}
	all, metadata := l.packets(t, 4096, func(int) bool { return false })
	dir := filepath.Join(t.TempDir(), "out")
	savePackets(t, dir, metadata, all)
	tr, err := Open(dir, new(trace.Warnings))
	if err != nil {
		t.Fatal(err)
	}
	s := tr.Events()
	defer s.Close()
	for e := range eventtest.All(t, s) {
		row := s.Streams()[e.Stream]
		want := l.schema.Streams[l.records[e.Time].Stream]
		if row.Name != want.Name || row.Host != want.Host {
			t.Errorf("event %d is of %s of %s; want %s of %s", e.Time, row.Name, row.Host, want.Name, want.Host)
		}
		if want.Parent >= 0 && s.Streams()[row.Parent].Host != want.Host {
			t.Errorf("%s of %s belongs to a row of %s", row.Name, row.Host, s.Streams()[row.Parent].Host)
		}
	}
}
