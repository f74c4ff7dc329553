package record

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/retention"
	"meridian/internal/spool"
	"meridian/trace"
)

// spooled is a trace with complete chunks of 1000 bytes each.
type spooled struct {
	t   *testing.T
	tr  *hostTrace
	now uint64
}

func (s *spooled) chunk(row, path string) {
	s.t.Helper()
	path = filepath.Join(s.tr.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, 1000), 0o666); err != nil {
		s.t.Fatal(err)
	}
	s.now++
	c := s.tr.keeper.begin(&chunkFile{path: path, row: row})
	s.tr.keeper.grew(c, retention.Span{Packets: 1, Bytes: 1000, Begin: s.now, End: s.now})
	s.tr.keeper.ended(c)
}

// left returns the chunks that are left.
func (s *spooled) left() map[string]bool {
	out := map[string]bool{}
	for _, c := range s.tr.keeper.chunks {
		name, err := filepath.Rel(s.tr.dir, c.path)
		if _, missing := os.Stat(c.path); err != nil || missing != nil {
			s.t.Fatal(err, missing)
		}
		out[name] = true
	}
	return out
}

func newSpooled(t *testing.T, keep Keep) *spooled {
	t.Helper()
	o := &Options{Dir: filepath.Join(t.TempDir(), "trace"), Host: "web", Keep: keep, Warnings: new(trace.Warnings)}
	tr, err := openTrace(o, clock.Take(clock.Realtime))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.close() })
	if tr.keeper, err = newKeeper(tr, o); err != nil {
		t.Fatal(err)
	}
	if err := tr.writeMetadata(); err != nil {
		t.Fatal(err)
	}
	s := &spooled{t: t, tr: tr}
	s.chunk("kernel", "probes_3_0_0")
	s.chunk("kernel", "kernel_2_0_0")
	s.chunk(packetFiles, "packets/web_0.pcapng")
	s.chunk("kernel", "kernel_2_0_1")
	s.chunk(packetFiles, "packets/web_1.pcapng")
	s.chunk("kernel", "kernel_2_0_2")
	account := spool.New("")
	account.Files["kernel_2_0_2"] = spool.Part{Size: 1000, Acknowledged: 1000}
	account.Files["kernel_2_0_0"] = spool.Part{Size: 1000, Acknowledged: 999}
	account.Files["packets/web_1.pcapng"] = spool.Part{Size: 1000, Acknowledged: 1000}
	if err := account.Write(tr.dir); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAShortSpoolDropsWhatServersHaveThenPacketsThenEventsThenProbes(t *testing.T) {
	s := newSpooled(t, Keep{Spool: MinKeepBytes})
	want := s.left()
	for i, next := range []string{"packets/web_1.pcapng", "kernel_2_0_2", "packets/web_0.pcapng", "kernel_2_0_0", "kernel_2_0_1", "probes_3_0_0"} {
		s.tr.keeper.keep.Spool = int64(5-i)*1000 + 1
		if err := s.tr.keeper.enforce(); err != nil {
			t.Fatal(err)
		}
		delete(want, next)
		if got := s.left(); !maps.Equal(got, want) {
			t.Fatalf("after %d there are %v, not %v", i+1, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
	if d, _, err := retention.Of(s.tr.dir); err != nil || d.All.Bytes != 6000 || d.All.Packets != 6 {
		t.Errorf("the trace says that %+v was dropped: %v", d, err)
	}
}

func TestReleaseDropsWhatServersHaveAndNothingElse(t *testing.T) {
	s := newSpooled(t, Keep{Release: true})
	want := s.left()
	delete(want, "packets/web_1.pcapng")
	delete(want, "kernel_2_0_2")
	if err := s.tr.keeper.enforce(); err != nil {
		t.Fatal(err)
	}
	if got := s.left(); !maps.Equal(got, want) {
		t.Errorf("there are %v, not %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}
