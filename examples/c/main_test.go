package main

import (
	"io"
	"maps"
	"path/filepath"
	"testing"

	"meridian/format/ctf"
	"meridian/format/ctf/ctftest"
	"meridian/internal/testneed"
	"meridian/trace"
)

func TestTheProgramsTraceHasAllThatItDid(t *testing.T) {
	testneed.Long(t, "compiles C")
	if _, err := compiler(); err != nil {
		testneed.Missing(t, "%v", err)
	}
	t.Setenv("MERIDIAN", t.TempDir()) // or a recorder of another test, which looks into /dev/shm, may take the ring
	dir := t.TempDir()
	if err := run(dir, filepath.Join("..", ".."), io.Discard); err != nil {
		t.Fatal(err)
	}
	count, open, sent := map[string]int{}, map[uint64]bool{}, map[uint64]trace.Role{}
	_, warnings := ctftest.Each(t, filepath.Join(dir, "trace"), func(e *trace.Event, events *ctf.Source) {
		count[events.Classes()[e.Class].Name]++
		switch e.Phase {
		case trace.Begin:
			open[e.Slice] = true
		case trace.End:
			if !open[e.Slice] {
				t.Fatalf("slice %d ends and never began", e.Slice)
			}
			delete(open, e.Slice)
		}
		if e.Role == trace.NoRole {
			return
		}
		if e.Role == trace.Receives && sent[e.Flow] != trace.Sends {
			t.Fatalf("job %x is taken before it was put", e.Flow)
		}
		sent[e.Flow] = e.Role
	})
	want := map[string]int{"queue:handover": 2006, "queue:waiting": 2006, "work:compute": 2000, "work:job_done": 1000}
	if !maps.Equal(count, want) || len(sent) != 1003 || len(open) != 0 || len(warnings) != 0 {
		t.Errorf("events %v, not %v; %d messages, %d slices without an end; %q", count, want, len(sent), len(open), warnings)
	}
}
