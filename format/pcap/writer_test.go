package pcap

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		offset := rapid.SampledFrom([]int64{0, -100, 50}).Draw(t, "offset")
		ifaces := []WriterInterface{
			{Name: "web", LinkType: 1, SnapLength: 96},
			{Name: "db", Description: "the database", LinkType: 113, Offset: offset},
		}
		var file bytes.Buffer
		x, err := NewWriter(&file, ifaces, rapid.SampledFrom([]string{"", "aligned by meridian"}).Draw(t, "comment"))
		if err != nil {
			t.Fatal(err)
		}
		var want []trace.Frame
		for i := range rapid.IntRange(0, 20).Draw(t, "packets") {
			data := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "data")
			f := trace.Frame{Number: i, Interface: rapid.IntRange(0, 1).Draw(t, "interface"), Data: data,
				Wire: uint32(len(data) + rapid.IntRange(0, 9).Draw(t, "cut")),
				Time: clock.HostTime(rapid.Int64Range(50_000_000_000, 1<<62-1).Draw(t, "time"))}
			if rapid.Bool().Draw(t, "commented") {
				f.Options = []byte("\x01\x00\x03\x00abc\x00\x02\x00\x04\x00\x02\x00\x00\x00")
			}
			if rapid.IntRange(0, 9).Draw(t, "giant") == 0 {
				f.Data = bytes.Repeat([]byte("giant"), 300_000)
				f.Wire = uint32(len(f.Data))
			}
			if err := x.Write(f.Interface, &f); err != nil {
				t.Fatal(err)
			}
			want = append(want, f)
			if rapid.Bool().Draw(t, "counted") { // which readers pass over
				if err := x.Statistics(f.Interface, f.Time, Statistics{Received: int64(i), Dropped: int64(i) - 5, Comment: "so far"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := x.Statistics(1, clock.HostTime(offset*1e9-1), Statistics{}); !errors.Is(err, errBefore) {
			t.Fatalf("counts of before the file's first time: %v", err)
		}
		if err := x.Flush(); err != nil {
			t.Fatal(err)
		}
		var w trace.Warnings
		r, err := NewReader(&file, "x", &w)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for i := range want {
			var got trace.Frame
			if err := r.Next(&got); err != nil {
				t.Fatalf("packet %d: %v %v", i, err, w.Lines())
			}
			f := want[i]
			if got.Number != f.Number || got.Time != f.Time || got.Interface != f.Interface || got.Wire != f.Wire ||
				!bytes.Equal(got.Data, f.Data) || !bytes.Equal(got.Options, f.Options) {
				t.Fatalf("packet %d: %+v, want %+v", i, got, f)
			}
		}
		if err := r.Next(new(trace.Frame)); err == nil || len(w.Lines()) > 0 {
			t.Fatalf("%v %v", err, w.Lines())
		}
	})
}

func TestOtherToolsReadWhatIsWritten(t *testing.T) {
	for _, path := range []string{"mergecap-two.pcapng", "editcap-comments.pcapng", "tcpdump-ns.pcap", "text2pcap-raw.pcapng"} {
		path := filepath.Join("testdata", path)
		want := tshark(t, path)
		out := filepath.Join(t.TempDir(), "out.pcapng")
		rewrite(t, path, out)
		got := tshark(t, out)
		if len(got) != len(want) {
			t.Fatalf("%s: %d packets, not %d", path, len(got), len(want))
		}
		for i := range want {
			for _, field := range tsharkFields {
				if got[i][field] != want[i][field] {
					t.Errorf("%s: packet %d: %s is %q, was %q", path, i+1, field, got[i][field], want[i][field])
				}
			}
		}
		info, err := exec.Command(peer(t, "capinfos"), out).CombinedOutput()
		if err != nil || !strings.Contains(string(info), "nanoseconds (9)") || !strings.Contains(string(info), "meridian") ||
			strings.Contains(string(info), "cut short") {
			t.Errorf("capinfos: %v\n%s", err, info)
		}
		comments, err := exec.Command(peer(t, "tshark"), "-r", out, "-T", "fields", "-e", "frame.comment", "-Y", "frame.comment").CombinedOutput()
		if strings.Contains(path, "comments") && (err != nil || !strings.HasSuffix(string(comments), "seen by the first\nand the fifth, with a longer comment\n")) {
			t.Errorf("comments: %v %q", err, comments)
		}
	}
}

// rewrite copies a capture through Reader and Writer.
func rewrite(t *testing.T, path, out string) {
	t.Helper()
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, _ := open(t, path)
	x, err := NewWriter(f, nil, "a comment on the section")
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range framesOf(t, r) {
		for i := len(x.starts); i <= frame.Interface; i++ {
			from := r.Interfaces()[i]
			if _, err := x.AddInterface(WriterInterface{Name: from.Name, LinkType: from.LinkType, SnapLength: from.SnapLength}); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Write(frame.Interface, &frame); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
}

type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return f.room, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

func TestAFullDiskIsReportedOnceAndForAll(t *testing.T) {
	x, err := NewWriter(&full{room: 3 << 20}, []WriterInterface{{Name: "a", LinkType: 1}}, "")
	if err != nil {
		t.Fatal(err)
	}
	f := trace.Frame{Data: make([]byte, 1000), Wire: 1000}
	n := 0
	for ; err == nil && n < 10000; n++ {
		err = x.Write(0, &f)
	}
	if !errors.Is(err, errFull) || n < 3000 {
		t.Errorf("%v after %d packets", err, n)
	}
	if err := x.Flush(); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}

func TestAPacketBeforeTheEarliestTimeIsAnError(t *testing.T) {
	x, err := NewWriter(&bytes.Buffer{}, []WriterInterface{{}, {Offset: -10}}, "")
	if err != nil {
		t.Fatal(err)
	}
	f := trace.Frame{Time: -1}
	if x.Write(0, &f) == nil {
		t.Error("a stamp before 1970 was written without an offset")
	}
	if err := x.Write(1, &f); err != nil {
		t.Error(err)
	}
}

func TestFramesOfUnknownInterfacesAreRefused(t *testing.T) {
	w, err := NewWriter(io.Discard, []WriterInterface{{Name: "eth0"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, iface := range []int{-1, 1} {
		if w.Write(iface, &trace.Frame{}) == nil || w.Statistics(iface, 0, Statistics{}) == nil {
			t.Errorf("interface %d of one: no error", iface)
		}
	}
	if err := w.Write(0, &trace.Frame{}); err != nil {
		t.Error(err)
	}
}
