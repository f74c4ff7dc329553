package pcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// growingCaptures are files of all kinds that can grow.
func growingCaptures() map[string][]byte {
	var records []record
	segment := ether(typeIPv4, ip4(6, nil, tcpSegment(0x18, "", "content"), -1, 7, 0))
	for i := range 40 {
		records = append(records, record{time: clock.HostTime(1_700_000_000_000_000_000 + int64(i)*1_234_000), data: segment[:len(segment)-i%8]})
	}
	blocks := func(order binary.AppendByteOrder) []byte {
		b := &blockFile{order: order}
		for section := range 3 {
			b.section()
			b.iface(linkEthernet, 0)
			for i := range 12 {
				if i == 6 {
					b.iface(linkEthernet, 96)
				}
				if i%4 == 1 {
					b.block(statisticsBlock, b.words(0, 1, 2))
				}
				b.enhanced(uint32(i/6), uint64(1_700_000_000_000_000+section*1000+i), segment, len(segment))
			}
		}
		return b.bytes
	}
	return map[string][]byte{
		"micro": classic(binary.LittleEndian, 0xa1b2c3d4, 65535, linkEthernet, records...),
		"nano":  classic(binary.BigEndian, 0xa1b23c4d, 65535, linkEthernet, records...),
		"ng":    blocks(binary.LittleEndian),
		"ngbig": append(blocks(binary.BigEndian), blocks(binary.LittleEndian)...),
	}
}

func frameLine(f *trace.Frame) string {
	return fmt.Sprint(f.Number, f.Time, f.Interface, f.Wire, f.Data, f.Options)
}

// Whatever is appended when, half blocks among it that are cut off again: the frames come once, and the capture is that of the offline reader.
func TestFollowerReturnsTheOfflineFramesOfAnyGrowth(t *testing.T) {
	files := growingCaptures()
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	dir := t.TempDir()
	wantFrames, wantCapture := map[string][]string{}, map[string]*trace.Capture{}
	for _, name := range names {
		frames, _, _ := readAll(t, files[name])
		for i := range frames {
			wantFrames[name] = append(wantFrames[name], frameLine(&frames[i]))
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, files[name], 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := Read(context.Background(), path, "", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantCapture[name] = c
	}
	testseed.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "file")
		data := files[name]
		path := filepath.Join(dir, "growing")
		os.Remove(path)
		var w trace.Warnings
		f := Follow(path, &w)
		defer f.Close()
		var frames []string
		c := &trace.Capture{}
		look := func(n int) {
			if _, err := f.Refresh(); err != nil {
				t.Fatal(err)
			}
			var frame trace.Frame
			for p := new(trace.Packet); n > 0 && f.Next(&frame, p) == nil; n-- {
				frames = append(frames, frameLine(&frame))
				*c.Packets.Append() = *p
			}
		}
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		written := 0
		for written < len(data) {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1, 2:
				n := min(len(data)-written, rapid.IntRange(1, 400).Draw(t, "bytes"))
				if _, err := file.WriteAt(data[written:written+n], int64(written)); err != nil {
					t.Fatal(err)
				}
				written += n
			case 3:
				look(rapid.SampledFrom([]int{0, 1, 5, 1000}).Draw(t, "frames"))
			case 4: // half of what is not read yet is cut off, and written anew
				if f.r == nil || f.size != f.tried {
					continue
				}
				written = max(int(f.r.in.offset()), written-rapid.IntRange(0, 50).Draw(t, "cut"))
				if err := file.Truncate(int64(written)); err != nil {
					t.Fatal(err)
				}
			}
		}
		look(1000)
		if err := f.Append(c); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(frames, wantFrames[name]) {
			t.Fatalf("%d frames, offline %d; %v", len(frames), len(wantFrames[name]), w.Lines())
		}
		want := wantCapture[name]
		if !reflect.DeepEqual(slices.Collect(c.Packets.Chunks()), slices.Collect(want.Packets.Chunks())) || !reflect.DeepEqual(c.Flows, want.Flows) ||
			!slices.Equal(c.Interfaces, want.Interfaces) || c.Granularity != want.Granularity {
			t.Fatalf("%+v, offline %+v", c, want)
		}
		if lines := w.Lines(); len(lines) > 0 {
			t.Fatal(lines)
		}
	})
}

// Of a block that was cut off only what was written in its place is read, also if that ends where the other one did.
func TestFollowerReadsWhatWasWrittenInPlaceOfHalfABlock(t *testing.T) {
	b := &blockFile{order: binary.LittleEndian}
	b.section()
	b.iface(linkEthernet, 0)
	whole := len(b.bytes)
	b.enhanced(0, 1, []byte("torn, and longer than the one that comes"), 40)
	torn := bytes.Clone(b.bytes)
	b.bytes = b.bytes[:whole]
	b.enhanced(0, 2, []byte("whole"), 5)
	path := filepath.Join(t.TempDir(), "capture")
	if err := os.WriteFile(path, torn[:len(b.bytes)], 0o666); err != nil {
		t.Fatal(err)
	}
	var w trace.Warnings
	f := Follow(path, &w)
	defer f.Close()
	var frame trace.Frame
	if _, err := f.Refresh(); err != nil || f.Next(&frame, nil) == nil {
		t.Fatal(err, frame)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(int64(whole)); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(b.bytes[whole:], int64(whole)); err != nil {
		t.Fatal(err)
	}
	if grew, err := f.Refresh(); !grew || err != nil {
		t.Fatal(grew, err)
	}
	if err := f.Next(&frame, nil); err != nil || string(frame.Data) != "whole" {
		t.Fatalf("%v, %q", err, frame.Data)
	}
}

// A capture that is written anew in its own file, as tcpdump -C -W does it when its files are all used, is another one, also if it has
// become longer than what was read before.
func TestFollowerTellsACaptureThatIsWrittenAnew(t *testing.T) {
	for name, data := range growingCaptures() {
		for _, longer := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "capture")
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			var w trace.Warnings
			f := Follow(path, &w)
			defer f.Close()
			c := &trace.Capture{}
			if _, err := f.Refresh(); err != nil {
				t.Fatal(err)
			}
			if err := f.Append(c); err != nil || c.Packets.Len() == 0 {
				t.Fatal(err, c.Packets.Len())
			}
			if _, err := f.Refresh(); err != nil || !bytes.HasPrefix(data, f.Head()) || len(f.Head()) == 0 {
				t.Fatal(err, f.Head())
			}
			other := bytes.Clone(data)
			for i := f.first - 8; i < f.first; i++ {
				other[i] ^= 1 // of the first packet
			}
			if other = other[:f.first]; longer {
				other = append(other, append(bytes.Clone(data[f.first:]), data[f.first:]...)...)
			}
			if err := os.WriteFile(path, other, 0o666); err != nil { // truncates the file
				t.Fatal(err)
			}
			if _, err := f.Refresh(); !errors.Is(err, ErrReplaced) {
				t.Errorf("%s, longer %v: %v", name, longer, err)
			}
		}
	}
}

func TestFollowerNamesWhatItCannotFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "capture")
	var w trace.Warnings
	f := Follow(path, &w)
	defer f.Close()
	if grew, err := f.Refresh(); grew || err != nil {
		t.Fatal("a file that is not there:", grew, err)
	}
	if err := os.WriteFile(path, []byte("\x1f\x8b\x08 compressed data"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Refresh(); err == nil || !strings.Contains(err.Error(), "compressed") {
		t.Fatal(err)
	}
	data := growingCaptures()["ng"]
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	c := &trace.Capture{}
	if _, err := f.Refresh(); err != nil {
		t.Fatal(err)
	}
	if err := f.Append(c); err != nil || c.Packets.Len() != 36 {
		t.Fatal(err, c.Packets.Len())
	}
	if err := os.WriteFile(path+".new", data, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Refresh(); !errors.Is(err, ErrReplaced) {
		t.Fatal(err)
	}
	if lines := w.Lines(); len(lines) > 0 {
		t.Fatal(lines)
	}
}
