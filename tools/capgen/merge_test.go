package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/testneed"
	"meridian/order"
	"meridian/trace"
)

// mergedBy merges captures as they are through our reader, order and writer.
func mergedBy(t *testing.T, out string, paths ...string) {
	t.Helper()
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, err := pcap.NewWriter(f, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	identity := clock.Identity()
	var sources []order.Source
	var readers []*pcap.Reader
	for _, path := range paths {
		r, err := pcap.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		readers = append(readers, r)
		sources = append(sources, order.Source{Frames: r, Map: &identity})
	}
	index := make([]int, len(paths))
	stats, err := order.Merge(context.Background(), sources, func(source int, at clock.TimelineTime, f *trace.Frame) error {
		if f.Number == 0 {
			from := readers[source].Interfaces()[f.Interface]
			i, err := x.AddInterface(pcap.WriterInterface{Name: paths[source], LinkType: from.LinkType, SnapLength: from.SnapLength})
			if err != nil {
				return err
			}
			index[source] = i
		}
		f.Time = clock.HostTime(at)
		return x.Write(index[source], f)
	})
	if err != nil || stats.Late[0]+stats.Late[1] > 0 {
		t.Fatalf("%v %+v", err, stats)
	}
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
}

// With clocks that need no correction the merge is what mergecap makes, packet for packet.
func TestMergingIsWhatMergecapDoes(t *testing.T) {
	mergecap := testneed.Program(t, "mergecap")
	a, b := generated(t, small, "pcap")
	ours, theirs := filepath.Join(t.TempDir(), "ours.pcapng"), filepath.Join(t.TempDir(), "theirs.pcapng")
	mergedBy(t, ours, a, b)
	if out, err := exec.Command(mergecap, "-w", theirs, a, b).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var readers [2]*pcap.Reader
	for i, path := range []string{ours, theirs} {
		r, err := pcap.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		readers[i] = r
	}
	for n := 0; ; n++ {
		var f, g trace.Frame
		errOurs, errTheirs := readers[0].Next(&f), readers[1].Next(&g)
		if errOurs == io.EOF && errTheirs == io.EOF {
			if n < small.packets {
				t.Fatalf("only %d packets", n)
			}
			return
		}
		if errOurs != nil || errTheirs != nil || f.Time != g.Time || f.Wire != g.Wire || string(f.Data) != string(g.Data) {
			t.Fatalf("packet %d: %d and %d, %v %v", n+1, f.Time, g.Time, errOurs, errTheirs)
		}
	}
}
