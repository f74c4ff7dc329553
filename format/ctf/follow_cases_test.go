package ctf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/trace"
)

// drain returns the first fields of the events that are there now.
func drain(t testing.TB, f *Follower) (all []uint64) {
	t.Helper()
	if _, err := f.Refresh(); err != nil {
		t.Fatal(err)
	}
	var e trace.Event
	for f.Next(&e) == nil {
		all = append(all, f.Values()[0].Uint())
	}
	return all
}

func follow(t testing.TB, dir string) (*Follower, *trace.Warnings) {
	t.Helper()
	w := new(trace.Warnings)
	f := Follow(dir, w)
	t.Cleanup(func() { f.Close() })
	return f, w
}

func put(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func upTo(n int) (all []uint64) {
	for i := range n {
		all = append(all, uint64(i))
	}
	return all
}

// A file that is rotated away is read to its end under its new name, or without one, and the new one under its name from the beginning.
func TestFollowerReadsRotatedAndDeletedFilesToTheirEnd(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	data := smallStream(t, m, 90, 512, true, 0)
	third := len(data) / 3 / 512 * 512
	dir := writeTrace(t, smallTSDL, data[:third])
	f, w := follow(t, dir)
	path := filepath.Join(dir, "channel0_0")
	if _, err := f.Refresh(); err != nil { // opens the file
		t.Fatal(err)
	}
	for _, step := range []error{os.Rename(path, path+"_0"), os.WriteFile(path, data[third:2*third], 0o666)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	if _, err := f.Refresh(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{os.Remove(path), os.Remove(path + "_0"), os.WriteFile(path, data[2*third:], 0o666)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	got := drain(t, f)
	if slices.Sort(got); !slices.Equal(got, upTo(90)) {
		t.Fatal(got)
	}
	drain(t, f)
	drain(t, f)
	if len(f.files) != 1 || f.Tally().Events != 90 {
		t.Errorf("%d files are open, %+v", len(f.files), f.Tally())
	}
	if lines := w.Lines(); len(lines) > 0 {
		t.Error(lines)
	}
}

func TestFollowerNamesTheTraceThatWasPutInPlaceOfAnother(t *testing.T) {
	data := smallStream(t, metadataOf(t, smallTSDL), 20, 512, true, 0)
	dir := writeTrace(t, smallTSDL, data)
	f, w := follow(t, dir)
	if got := drain(t, f); len(got) != 20 {
		t.Fatal(got)
	}
	p := f.Position()
	put(t, dir, "metadata", []byte(strings.Replace(smallTSDL, "6a0e1a8e", "6a0e1a8f", 1)))
	put(t, dir, "its_stream", data)
	for _, f := range []*Follower{f, FollowFrom(dir, p, nil)} {
		for range 2 {
			if _, err := f.Refresh(); !errors.Is(err, ErrReplaced) || !strings.Contains(err.Error(), "6a0e1a8f") {
				t.Fatal(err)
			}
		}
		var e trace.Event
		if err := f.Next(&e); err != io.EOF {
			t.Fatal(err)
		}
		f.Close()
	}
	if lines := w.Lines(); len(lines) > 0 {
		t.Errorf("all of the trace was read, and the warnings are %q", lines)
	}
}

// LTTng appends packets of metadata, in which a declaration may go on in the next packet.
func TestFollowerTakesMetadataInPacketsAsFarAsItIsWhole(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	data := smallStream(t, m, 40, 512, true, 0)
	dir := writeTrace(t, "", data)
	var metadata []byte
	for text := smallTSDL; text != ""; {
		n := min(len(text), 300)
		head := binary.LittleEndian.AppendUint32(nil, metadataMagic)
		head = append(head, m.UUID[:]...)
		head = binary.LittleEndian.AppendUint32(head, 0)
		head = binary.LittleEndian.AppendUint32(head, uint32(metadataHeaderSize+n)*8)
		head = binary.LittleEndian.AppendUint32(head, uint32(metadataHeaderSize+300)*8)
		head = append(head, 0, 0, 0, 1, 8)
		metadata = append(append(metadata, head...), text[:n]...)
		metadata = append(metadata, make([]byte, 300-n)...)
		text = text[n:]
	}
	f, w := follow(t, dir)
	var got []uint64
	for at := 0; at < len(metadata); at += 97 {
		put(t, dir, "metadata", metadata[:at])
		got = append(got, drain(t, f)...)
	}
	put(t, dir, "metadata", metadata)
	if got = append(got, drain(t, f)...); !slices.Equal(got, upTo(40)) {
		t.Fatal(got)
	}
	if lines := w.Lines(); len(lines) > 0 {
		t.Error(lines)
	}
}

// A damaged packet waits until a whole one follows, and is then skipped and counted.
func TestFollowerSkipsADamagedPacketOnceAnotherFollows(t *testing.T) {
	data := smallStream(t, metadataOf(t, smallTSDL), 60, 512, true, 0)
	data[512] ^= 0xff // the magic number
	dir := writeTrace(t, smallTSDL, data[:1024+100])
	f, w := follow(t, dir)
	first := drain(t, f)
	if more := drain(t, f); len(first) == 0 || len(more) > 0 || f.Tally().Damaged > 0 {
		t.Fatal(first, more, f.Tally())
	}
	put(t, dir, "channel0_0", data)
	rest := drain(t, f)
	want := numbers(t, dir, nil)
	if got := append(first, rest...); !slices.Equal(got, want) || f.Tally().Damaged != 1 {
		t.Fatal(got, want, f.Tally())
	}
	f.Close()
	if lines := w.Lines(); len(lines) != 1 || !strings.Contains(lines[0], "invalid packet skipped") {
		t.Error(lines)
	}
}

const checkedTSDL = `/* CTF 1.8 */
trace { major = 1; minor = 8; uuid = "6a0e1a8e-1d5c-4b7f-9a53-3f1d6f0a9b11"; byte_order = le;
	packet.header := struct { integer { size = 32; align = 8; } magic; integer { size = 8; align = 8; } uuid[16]; integer { size = 32; align = 8; } stream_id; }; };
env { tracer_name = "meridian"; };
stream { id = 0;
	packet.context := struct { integer { size = 64; align = 8; } content_size; integer { size = 64; align = 8; } packet_size;
		integer { size = 64; align = 8; } packet_seq_num; integer { size = 64; align = 8; } events_discarded; integer { size = 32; align = 8; } _crc32c; };
	event.header := struct { integer { size = 16; align = 8; } id; }; };
event { name = "n"; id = 0; stream_id = 0; fields := struct { integer { size = 32; align = 8; } _n; }; };
`

// checkedPacket is a packet of checkedTSDL with two events.
func checkedPacket(n, sequence, discarded uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, packetMagic)
	b = append(b, 0x6a, 0x0e, 0x1a, 0x8e, 0x1d, 0x5c, 0x4b, 0x7f, 0x9a, 0x53, 0x3f, 0x1d, 0x6f, 0x0a, 0x9b, 0x11)
	b = le.AppendUint32(b, 0)
	const size = 24 + 36 + 12
	b = le.AppendUint64(le.AppendUint64(b, size*8), size*8)
	b = le.AppendUint64(le.AppendUint64(b, sequence), discarded)
	var events []byte
	for i := range uint64(2) {
		events = le.AppendUint32(le.AppendUint16(events, 0), uint32(n+i))
	}
	b = le.AppendUint32(b, crc32.Checksum(events, castagnoli))
	return append(b, events...)
}

// A packet of ours that is long enough but not all there, as in a file that is copied piece by piece, waits for its checksum.
func TestFollowerWaitsUntilTheChecksumOfAPacketIsRight(t *testing.T) {
	packet := checkedPacket(0, 0, 0)
	for hole := range len(packet) {
		half := bytes.Clone(packet)
		clear(half[hole:])
		dir := writeTrace(t, checkedTSDL, half)
		f, w := follow(t, dir)
		if got := drain(t, f); len(got) > 0 && !bytes.Equal(half, packet) {
			t.Fatalf("%d bytes: %v", hole, got)
		}
		put(t, dir, "channel0_0", append(packet, checkedPacket(2, 1, 0)...))
		if got := drain(t, f); !slices.Equal(got, upTo(4)) && !bytes.Equal(half, packet) {
			t.Fatalf("%d bytes: %v", hole, got)
		}
		if lines := w.Lines(); len(lines) > 0 {
			t.Fatal(lines)
		}
		f.Close()
	}
}

// A bit that flips in the events of a packet of ours costs that packet, and none of its events is shown changed.
func TestAFlippedBitInEventsCostsTheirPacketAndIsNamed(t *testing.T) {
	second := checkedPacket(2, 1, 0)
	for bit := 8 * (len(second) - 12); bit < 8*len(second); bit++ {
		damaged := bytes.Clone(second)
		damaged[bit/8] ^= 1 << (bit % 8)
		dir := writeTrace(t, checkedTSDL, slices.Concat(checkedPacket(0, 0, 0), damaged, checkedPacket(4, 2, 0)))
		var w trace.Warnings
		opened, err := Open(dir, &w)
		if err != nil {
			t.Fatal(err)
		}
		s := opened.Events()
		var got []uint64
		var e trace.Event
		for s.Next(&e) == nil {
			got = append(got, s.Values()[0].Uint())
		}
		if !slices.Equal(got, []uint64{0, 1, 4, 5}) {
			t.Errorf("bit %d: %v", bit, got)
		}
		if lines := w.Lines(); len(lines) == 0 || !strings.Contains(lines[0], "wrong checksum") || !strings.Contains(lines[0], "at offset 72") || w.Gaps() == "" {
			t.Errorf("bit %d: %q", bit, lines)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Losses are counted as they come, also by a Follower that goes on for another.
func TestFollowerCountsLossesLive(t *testing.T) {
	dir := writeTrace(t, checkedTSDL)
	f, _ := follow(t, dir)
	var file []byte
	for i, step := range []struct{ sequence, discarded uint64 }{{0, 3}, {1, 3}, {4, 3}, {5, 10}, {9, 10}} {
		file = append(file, checkedPacket(uint64(2*i), step.sequence, step.discarded)...)
		put(t, dir, "channel0_0", file)
		if got := drain(t, f); len(got) != 2 {
			t.Fatal(got)
		}
		tally := f.Tally()
		if want := int64(step.sequence) - int64(i); tally.Discarded != int64(step.discarded) || tally.Lost != want || tally.Packets != int64(i+1) {
			t.Fatalf("packet %d: %+v, %d are missing", i, tally, want)
		}
		p := f.Position()
		f.Close()
		f = FollowFrom(dir, p, nil)
		defer f.Close()
	}
}

// grownTrace is a trace of n streams, of which the last packets are not there yet.
func grownTrace(t testing.TB, n, events int) (dir string, rest [][]byte, paths []string) {
	m := metadataOf(t, smallTSDL)
	var streams [][]byte
	for i := range n {
		data := smallStream(t, m, events, 4096, true, uint64(i))
		streams = append(streams, data[:4096])
		rest = append(rest, data[4096:])
	}
	dir = writeTrace(t, smallTSDL, streams...)
	for i := range n {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("channel0_%d", i)))
	}
	return dir, rest, paths
}

func TestFollowingAllocatesNothingPerEvent(t *testing.T) {
	dir, rest, paths := grownTrace(t, 2, 20000)
	f, _ := follow(t, dir)
	before := len(drain(t, f))
	for i := range paths {
		put(t, dir, filepath.Base(paths[i])+"x", rest[i])
	}
	events := 0
	allocations := testing.AllocsPerRun(1, func() { // runs twice: the first one reads all
		if _, err := f.Refresh(); err != nil {
			t.Fatal(err)
		}
		var e trace.Event
		for f.Next(&e) == nil {
			f.Values()
			events++
		}
	})
	if total := before + events; total != 2*20000 || allocations > 200 {
		t.Errorf("%d events, %v allocations", total, allocations)
	}
}

// A Refresh of 64 streams of which nothing has changed.
func BenchmarkRefreshUnchanged(b *testing.B) {
	dir, _, _ := grownTrace(b, 64, 100)
	f := Follow(dir, nil)
	defer f.Close()
	drain(b, f)
	f.directory.settled, f.metadata.settled = true, true
	for b.Loop() {
		if _, err := f.Refresh(); err != nil {
			b.Fatal(err)
		}
	}
}

// A Refresh after each of 64 streams has got a packet, and its events.
func BenchmarkRefreshGrown(b *testing.B) {
	dir, rest, paths := grownTrace(b, 64, 20000)
	f := Follow(dir, nil)
	defer f.Close()
	drain(b, f)
	var files []*os.File
	for _, path := range paths {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			b.Fatal(err)
		}
		defer file.Close()
		files = append(files, file)
	}
	b.ReportAllocs()
	events, n := 0, 0
	var e trace.Event
	for b.Loop() {
		if n += 4096; n > len(rest[0]) {
			break
		}
		b.StopTimer()
		for i, file := range files {
			if _, err := file.Write(rest[i][n-4096 : n]); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if _, err := f.Refresh(); err != nil {
			b.Fatal(err)
		}
		for f.Next(&e) == nil {
			f.Values()
			events++
		}
	}
	b.ReportMetric(float64(events)/float64(b.N), "events/op")
}

func TestAFileInPlaceOfTheDirectoryIsOneErrorInOneLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	f := Follow(path, new(trace.Warnings))
	defer f.Close()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Refresh(); err == nil || err.Error() != path+": not a directory, which a trace is" {
		t.Errorf("%q", err)
	}
}

func TestFilesOfADirectoryThatReturnsAreReadOn(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	data := smallStream(t, m, 90, 512, true, 0)
	half := len(data) / 2 / 512 * 512
	dir := writeTrace(t, smallTSDL, data[:half])
	f, w := follow(t, dir)
	got := drain(t, f)
	for range 5 { // it is not only away between two looks
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			got = append(got, drain(t, f)...)
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		got = append(got, drain(t, f)...)
	}
	put(t, dir, "channel0_0", data)
	if got = append(got, drain(t, f)...); !slices.Equal(got, upTo(90)) || len(w.Lines()) > 0 {
		t.Errorf("%d events, warnings %v", len(got), w.Lines())
	}
}
