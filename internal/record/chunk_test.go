package record

import (
	"os"
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/internal/retention"
	"meridian/trace"
)

// A copy of the trace on a server still has the chunks that were dropped here.
func TestNoChunkHasTheNameOfOneThatWasDropped(t *testing.T) {
	o := &Options{Dir: filepath.Join(t.TempDir(), "trace"), Host: "web", Keep: Keep{Bytes: MinKeepBytes}, Warnings: new(trace.Warnings)}
	seen := map[string]bool{}
	for run := range 3 {
		tr, err := openTrace(o, clock.Take(clock.Realtime))
		if err != nil {
			t.Fatal(err)
		}
		if tr.keeper, err = newKeeper(tr, o); err != nil {
			t.Fatal(err)
		}
		if err := tr.writeMetadata(); err != nil {
			t.Fatal(err)
		}
		c := &chunkFile{k: tr.keeper, base: filepath.Join(o.Dir, "sensor_9_web_0"), row: "web"}
		for range 2 {
			at := uint64(clock.Monotonic.Now())
			if _, err := c.append(make([]byte, 64), retention.Span{Packets: 1, Begin: at, End: at}); err != nil {
				t.Fatal(err)
			}
			if name := filepath.Base(c.path); seen[name] {
				t.Errorf("recorder %d writes %s again", run, name)
			} else {
				seen[name] = true
			}
			if err := c.end(); err != nil {
				t.Fatal(err)
			}
		}
		tr.keeper.keep.Bytes = 1
		if err := tr.keeper.enforce(); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(c.base + "_*"); left != nil {
			t.Fatalf("%v are left", left)
		}
		if err := tr.keeper.close(); err != nil {
			t.Fatal(err)
		}
		tr.close()
	}
}

func TestAChunkThatWasToldAndNotRemovedIsToldOnce(t *testing.T) {
	o := &Options{Dir: filepath.Join(t.TempDir(), "trace"), Host: "web", Keep: Keep{Bytes: MinKeepBytes}, Warnings: new(trace.Warnings)}
	for run := range 2 {
		tr, err := openTrace(o, clock.Take(clock.Realtime))
		if err != nil {
			t.Fatal(err)
		}
		if tr.keeper, err = newKeeper(tr, o); err != nil {
			t.Fatal(err)
		}
		if err := tr.writeMetadata(); err != nil {
			t.Fatal(err)
		}
		if run == 0 {
			path, packet := filepath.Join(o.Dir, "kernel_9_0_0"), make([]byte, 64)
			if err := os.WriteFile(path, packet, 0o666); err != nil {
				t.Fatal(err)
			}
			told := []*chunk{{path: path, row: "web", Span: retention.Span{Packets: 1, Bytes: 64, Begin: 1, End: 2}}}
			if err := tr.keeper.tell(3, told); err != nil { // and then it is killed
				t.Fatal(err)
			}
		} else if len(tr.keeper.chunks) > 0 {
			t.Errorf("the next recorder has %s", tr.keeper.chunks[0].path)
		}
		if err := tr.keeper.close(); err != nil {
			t.Fatal(err)
		}
		tr.close()
	}
	if d, _, err := retention.Of(o.Dir); err != nil || d.All.Bytes != 64 {
		t.Errorf("%+v, %v", d, err)
	}
}
