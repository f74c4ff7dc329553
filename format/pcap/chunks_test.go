package pcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"meridian/clock"
	"meridian/trace"
)

// chunkFiles is files of some thousand packets in each form that a reader has to begin within.
func chunkFiles() map[string][]byte {
	const packets = 3000
	files := make(map[string][]byte)
	var records []record
	for i := range packets {
		records = append(records, record{time: clock.HostTime(i*1000 - i%7*5000 + 1e9), data: bytes.Repeat([]byte{byte(i)}, i%90), wire: 90})
	}
	files["pcap"] = classic(binary.LittleEndian, 0xa1b23c4d, 0, 1, records...)
	files["pcap, big-endian, µs"] = classic(binary.BigEndian, 0xa1b2c3d4, 96, 101, records...)
	files["pcap, Kuznetzov's"] = classic(binary.LittleEndian, 0xa1b2cd34, 0, 1, records...)
	files["pcap, cut"] = files["pcap"][:len(files["pcap"])-7]
	bad := bytes.Clone(files["pcap"])
	binary.LittleEndian.PutUint32(bad[headerLength+16+4:], 2e9) // the fraction of a second of the second frame; the first is empty
	files["pcap, impossible stamp"] = bad
	for name, order := range map[string]binary.AppendByteOrder{"pcapng": binary.LittleEndian, "pcapng, big-endian": binary.BigEndian} {
		b := blockFile{order: order}
		for i := range packets {
			if i%1100 == 0 {
				b.section()
				b.iface(1, 64, b.option(2, []byte("eth0")))
			}
			if i%700 == 0 {
				b.iface(101, 0, b.option(9, []byte{9}))
			}
			switch {
			case i%11 == 5:
				b.block(simpleBlock, b.words(5), []byte("short"))
			case i%13 == 5:
				b.block(enhancedBlock, b.words(99)) // left out
			default:
				b.enhanced(0, uint64(1e12+i*10), []byte(strings.Repeat("x", i%70)), 80, b.option(1, []byte{byte(i), 'a'}))
			}
		}
		files[name] = b.bytes
	}
	return files
}

func TestChunksBringTheFramesOfTheWholeFile(t *testing.T) {
	for name, file := range chunkFiles() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.pcap")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := Read(context.Background(), path, "x", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := readAll(t, file)
			if len(want) != c.Packets.Len() || c.Frames.Len() != (len(want)+chunkFrames-1)/chunkFrames {
				t.Fatalf("%d frames, %d packets, %d chunks", len(want), c.Packets.Len(), c.Frames.Len())
			}
			for from := range c.Frames.Len() {
				for to := from; to <= c.Frames.Len(); to++ {
					r, err := c.Frames.Open()
					if err != nil {
						t.Fatal(err)
					}
					if err := r.Load(from, to); err != nil {
						t.Fatal(err)
					}
					var got []trace.Frame // of which all stay valid
					for {
						var f trace.Frame
						if err := r.Next(&f); err == io.EOF {
							break
						} else if err != nil {
							t.Fatal(err)
						}
						got = append(got, f)
					}
					part := want[min(from*chunkFrames, len(want)):min(to*chunkFrames, len(want))]
					if len(got) != len(part) {
						t.Fatalf("%d to %d: %d frames, want %d", from, to, len(got), len(part))
					}
					for i := range part {
						if !reflect.DeepEqual(got[i], part[i]) {
							t.Fatalf("%d to %d: %+v, want %+v", from, to, got[i], part[i])
						}
						x := c.Frames.Chunk(part[i].Number / chunkFrames)
						if part[i].Time < x.Least || part[i].Time > x.Greatest {
							t.Fatalf("frame %d is not within the stamps of its chunk", part[i].Number)
						}
					}
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

func TestAFileThatShrankAfterItWasReadIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcap")
	file := chunkFiles()["pcap"]
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read(context.Background(), path, "x", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(file)/2)); err != nil {
		t.Fatal(err)
	}
	r, err := c.Frames.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Load(0, 1); err != nil {
		t.Error(err)
	}
	if err := r.Load(0, c.Frames.Len()); err == nil || !strings.Contains(err.Error(), "was changed while it was read") || errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

func TestFilesThatCanOnlyBeReadFromTheirBeginningHaveNoChunks(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(chunkFiles()["pcap"]); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.pcap.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read(context.Background(), path, "x", nil, nil)
	if err != nil || c.Frames != nil {
		t.Errorf("%v, %v", c.Frames, err)
	}
	if c, err = ReadFrom(context.Background(), bytes.NewReader(chunkFiles()["pcap"]), "x", "x", nil, nil, nil); err != nil || c.Frames != nil {
		t.Errorf("%v, %v", c.Frames, err)
	}
}

// A file whose content is replaced in its place has all its bytes: only the frames tell.
func TestAFileThatHasOtherFramesThanItHadIsAnError(t *testing.T) {
	file := chunkFiles()["pcap"]
	zeros := bytes.Clone(file)
	clear(zeros[len(zeros)/2:])
	later := bytes.Clone(file)
	later[headerLength]++ // a second later, by the first stamp
	grown := append(bytes.Clone(file), file[headerLength:]...)
	for _, x := range []struct {
		name    string
		content []byte
		changed bool
	}{{"the same", file, false}, {"zeros", zeros, true}, {"other stamps", later, true}, {"grown", grown, false}} {
		t.Run(x.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.pcap")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := Read(context.Background(), path, "x", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, x.content, 0o600); err != nil {
				t.Fatal(err)
			}
			chunks, err := c.Frames.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer chunks.Close()
			if err := chunks.Load(0, c.Frames.Len()); err != nil {
				t.Fatal(err)
			}
			again, err := OpenAgain(path, c.Packets.Len(), c.StampSum, c.Retimed)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			for name, next := range map[string]func(*trace.Frame) error{"in chunks": chunks.Next, "from the beginning": again.Next} {
				var f trace.Frame
				n := 0
				for err = next(&f); err == nil; err = next(&f) {
					n++
				}
				if changed := err != io.EOF; changed != x.changed || changed && !errors.Is(err, errChanged) || !changed && n != c.Packets.Len() {
					t.Errorf("%s: %d of %d frames, %v", name, n, c.Packets.Len(), err)
				}
			}
		})
	}
}

func TestFramesWithoutATimestampAreReadAgainWithThatOfAnother(t *testing.T) {
	const day = 1_790_000_000_000_000_000
	var records []record
	for i := range 100 {
		records = append(records, record{time: clock.HostTime(day + i*1000), data: []byte("x"), wire: 1})
	}
	for _, i := range []int{0, 1, 60} {
		records[i].time = 0
	}
	file := classic(binary.LittleEndian, 0xa1b23c4d, 0, 1, records...)
	binary.LittleEndian.PutUint32(file[headerLength+2*(16+1)+4:], 2e9) // impossible, behind the two zeros
	path := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read(t.Context(), path, "x", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Frames != nil {
		t.Error("chunks would bring the timestamps of the file")
	}
	want := []trace.Retimed{{Number: 0, Time: day + 3000}, {Number: 1, Time: day + 3000}, {Number: 2, Time: day + 3000}, {Number: 60, Time: day + 59_000}}
	if !slices.Equal(c.Retimed, want) {
		t.Errorf("%v, want %v", c.Retimed, want)
	}
	again, err := OpenAgain(path, c.Packets.Len(), c.StampSum, c.Retimed)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var f trace.Frame
	n := 0
	for ; again.Next(&f) == nil; n++ {
		if got := c.Packets.At(n).Time; f.Time != got {
			t.Errorf("frame %d at %d, packet at %d", n, f.Time, got)
		}
	}
	if n != len(records) {
		t.Errorf("%d frames", n)
	}
}
