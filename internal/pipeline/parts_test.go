package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/filetest"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/usage"
	"meridian/trace"
)

// capture writes frames as a capture of one interface.
func capture(t *testing.T, path string, frames []trace.Frame) {
	t.Helper()
	var file bytes.Buffer
	w, err := pcap.NewWriter(&file, []pcap.WriterInterface{{Name: "eth0", LinkType: 1}}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range frames {
		if err := w.Write(0, &frames[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// packetsIn returns the packets of a capture as lines: time and bytes.
func packetsIn(t *testing.T, path string) (lines []string) {
	t.Helper()
	r, err := pcap.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var f trace.Frame
	last := clock.HostTime(0)
	for {
		if err := r.Next(&f); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		if f.Time < last {
			t.Errorf("%s: a packet at %d behind one at %d", path, f.Time, last)
		}
		last = f.Time
		lines = append(lines, fmt.Sprintf("%d %x", f.Time, f.Data))
	}
}

// twoHosts writes captures of hosts a (two files) and b, whose clock is 5 s ahead, and returns the arguments that name them.
func twoHosts(t *testing.T, dir string) []string {
	t.Helper()
	const origin, ahead = clock.HostTime(1_790_000_000_000_000_000), clock.HostTime(5_000_000_000)
	var frames [3][]trace.Frame // a's, a's of the second file, b's
	for i := range 400 {
		at := origin + clock.HostTime(i)*10_000_000
		from, to := byte(1), byte(2)
		delayA, delayB := clock.HostTime(0), clock.HostTime(100_000+i%7*1000)
		if i%2 == 1 {
			from, to, delayA, delayB = 2, 1, delayB, delayA
		}
		data := datagram(t, from, to, uint16(i))
		file := 0
		if i >= 200 {
			file = 1
		}
		frames[file] = append(frames[file], trace.Frame{Number: i, Time: at + delayA, Data: data, Wire: uint32(len(data))})
		frames[2] = append(frames[2], trace.Frame{Number: i, Time: at + delayB + ahead, Data: data, Wire: uint32(len(data))})
	}
	var args []string
	for i, name := range [][2]string{{"a", "early.pcapng"}, {"a", "late.pcapng"}, {"b/c", "b.pcapng"}} {
		path := filepath.Join(dir, name[1])
		capture(t, path, frames[i])
		args = append(args, name[0]+"="+path)
	}
	return args
}

func TestPartsAreTheMergedCaptureByFile(t *testing.T) {
	dir := t.TempDir()
	traces, err := input.Parse(twoHosts(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	merged, parts := filepath.Join(dir, "merged.pcapng"), filepath.Join(dir, "parts")
	outcome, err := pipeline.Run(context.Background(), traces, pipeline.Options{Outputs: []string{parts + "/", merged}})
	if err != nil {
		t.Fatal(err)
	}
	if len(outcome.Broken) > 0 || outcome.Packets == nil || *outcome.Packets != 800 {
		t.Errorf("promises broken: %v; packets: %v", outcome.Broken, outcome.Packets)
	}
	names := filetest.Names(t, parts)
	if want := []string{"a-early.pcapng", "a-late.pcapng", "b_c.pcapng"}; !slices.Equal(names, want) {
		t.Fatalf("files %v, want %v", names, want)
	}
	var all []string
	for i, want := range []int{200, 200, 400} {
		packets := packetsIn(t, filepath.Join(parts, names[i]))
		if len(packets) != want {
			t.Errorf("%s: %d packets, want %d", names[i], len(packets), want)
		}
		all = append(all, packets...)
	}
	want := packetsIn(t, merged)
	slices.Sort(all)
	slices.Sort(want)
	if !slices.Equal(all, want) {
		t.Error("the parts have other packets, or at other times, than the merged capture")
	}
}

func TestPartsOfWhatIsNoCaptureAreRefused(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "list.txt")
	if err := os.WriteFile(list, []byte("a b 1.0 1.1\nb a 2.0 2.1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	traces, err := input.Parse([]string{list})
	if err != nil {
		t.Fatal(err)
	}
	var mistake *usage.Error
	if _, err := pipeline.Run(context.Background(), traces, pipeline.Options{Outputs: []string{dir + "/parts/"}}); !errors.As(err, &mistake) {
		t.Errorf("parts of a list: %v", err)
	}
	if names := filetest.Names(t, dir); len(names) != 1 {
		t.Errorf("there is %v", names)
	}
}
