package pipeline_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/trace"
)

func TestAMergedCaptureNamesAllInterfacesOfAHost(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "web.pcapng"), filepath.Join(dir, "merged.pcapng")
	var file bytes.Buffer
	w, err := pcap.NewWriter(&file, []pcap.WriterInterface{{Name: "lo", LinkType: 1}, {Name: "eth0", LinkType: 1}, {Name: "tun0", LinkType: 101}}, "")
	if err != nil {
		t.Fatal(err)
	}
	const frames = 3
	for i := range frames {
		f := trace.Frame{Number: i, Time: 1e18 + clock.HostTime(i), Data: make([]byte, 60), Wire: 60}
		if err := w.Write(1, &f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, file.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	inputs, err := input.Parse([]string{in})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := pipeline.Run(context.Background(), inputs, pipeline.Options{Outputs: []string{out}, Progress: func(string, int64, int64) {}})
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Packets == nil || *outcome.Packets != frames {
		t.Errorf("packets: %v", outcome.Packets)
	}
	merged, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x03\x00\x08\x00lo, eth0", "\x03\x00\x04\x00tun0"} { // if_description
		if !bytes.Contains(merged, []byte(want)) {
			t.Errorf("nothing is called %q", want)
		}
	}
}

// Captures that can be read in parts are merged by all processors, others as they come: a compressed capture is one of these.
func TestAMergedCaptureIsTheSameWhetherItIsMadeInPartsOrNot(t *testing.T) {
	dir := t.TempDir()
	merged := make(map[string][]byte)
	for _, ending := range []string{"", ".gz"} {
		inputs := exchangeInputs(t, dir, ending)
		out := filepath.Join(dir, "merged.pcapng")
		if _, err := pipeline.Run(context.Background(), inputs, pipeline.Options{Outputs: []string{out}}); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		merged[ending] = content
	}
	if !bytes.Equal(merged[""], merged[".gz"]) || len(merged[""]) < 2<<20 {
		t.Errorf("%d bytes in parts, %d as they come", len(merged[""]), len(merged[".gz"]))
	}
}

// What the merged capture is made from is read after alignment: it must be what was aligned.
func TestACaptureThatChangesBeforeItIsMergedIsAnError(t *testing.T) {
	for _, ending := range []string{"", ".gz"} {
		t.Run("x"+ending, func(t *testing.T) {
			dir := t.TempDir()
			inputs := exchangeInputs(t, dir, ending)
			var once sync.Once
			progress := func(_ string, done, total int64) {
				if done < total {
					return
				}
				once.Do(func() { // both have been read
					db := exchangeCapture(t, "db", ending == ".gz")
					if err := os.WriteFile(filepath.Join(dir, "web.pcap"+ending), db, 0o600); err != nil {
						t.Error(err)
					}
				})
			}
			out := filepath.Join(dir, "merged.pcapng")
			_, err := pipeline.Run(context.Background(), inputs, pipeline.Options{Outputs: []string{out}, Progress: progress})
			if err == nil || !strings.Contains(err.Error(), "web.pcap"+ending+": the file was changed while it was read") {
				t.Error(err)
			}
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Errorf("there is an output: %v", err)
			}
		})
	}
}

// A clock that was never set begins in 1970: what other hosts recorded before is earlier on its timeline.
func TestAMergedCaptureMayBeginBefore1970(t *testing.T) {
	dir := t.TempDir()
	in, merged, each := filepath.Join(dir, "web.pcapng"), filepath.Join(dir, "merged.pcapng"), filepath.Join(dir, "each")
	var file bytes.Buffer
	w, err := pcap.NewWriter(&file, []pcap.WriterInterface{{Name: "eth0", LinkType: 1, Offset: -10}}, "")
	if err != nil {
		t.Fatal(err)
	}
	times := []clock.HostTime{-3_900_000_001, -5_000_000_001, -1, 0, 7e9}
	for i, at := range times {
		if err := w.Write(0, &trace.Frame{Number: i, Time: at, Data: make([]byte, 60), Wire: 60}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	inputs, err := input.Parse([]string{in})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Run(context.Background(), inputs, pipeline.Options{Outputs: []string{merged, each + "/"}}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(times)
	for _, path := range []string{merged, filepath.Join(each, "web.pcapng")} {
		r, err := pcap.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var got []clock.HostTime
		var f trace.Frame
		for err = r.Next(&f); err == nil; err = r.Next(&f) {
			got = append(got, f.Time)
		}
		if err != io.EOF || !slices.Equal(got, times) {
			t.Errorf("%s: %d, %v", path, got, err)
		}
	}
}

// exchangeInputs writes the captures of both hosts that exchange datagrams, compressed where ending is .gz.
func exchangeInputs(t *testing.T, dir, ending string) []input.Trace {
	t.Helper()
	var args []string
	for _, host := range []string{"web", "db"} {
		in := filepath.Join(dir, host+".pcap"+ending)
		args = append(args, host+"="+in)
		if err := os.WriteFile(in, exchangeCapture(t, host, ending == ".gz"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inputs, err := input.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return inputs
}

// exchangeCapture makes a capture of two hosts that exchange datagrams, some of which come up to 2 ms late in the file, with two interfaces.
func exchangeCapture(t *testing.T, host string, compress bool) []byte {
	t.Helper()
	var file bytes.Buffer
	var to io.Writer = &file
	if compress {
		to = gzip.NewWriter(&file)
	}
	w, err := pcap.NewWriter(to, []pcap.WriterInterface{{Name: "eth0", LinkType: 1}, {Name: "eth1", LinkType: 1}}, "")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 30_000 {
		// As the host would stamp it by the timeline; some come late.
		at := clock.HostTime(1e18 + i*50_000 - i%5*random.IntN(400_000))
		if toDB := i%2 == 0; toDB != (host == "web") {
			at += clock.HostTime(100_000 + random.IntN(100_000))
		}
		if host == "db" {
			at += 3e9
		}
		frame := trace.Frame{Number: i, Time: at, Data: datagram(t, byte(1+i%2), byte(2-i%2), uint16(i)), Wire: 60}
		if err := w.Write(i%2, &frame); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if z, ok := to.(*gzip.Writer); ok && z.Close() != nil {
		t.Fatal("gzip")
	}
	return file.Bytes()
}
