package ctf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/testseed"
	"meridian/trace"
)

// followSteps writes a file and its metadata as steps say, and follows them. It returns how many events came.
func followSteps(t *testing.T, dir string, metadata, stream, steps []byte, w *trace.Warnings) (events int, f *Follower) {
	path, name := filepath.Join(dir, "stream"), filepath.Join(dir, "metadata")
	for _, p := range []string{path, name} {
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f = Follow(dir, w)
	look := func() {
		f.Refresh() // an error may pass
		var e trace.Event
		for f.Next(&e) == nil {
			if events++; events > 8*len(stream)+1 {
				t.Fatal("more events than bits")
			}
			if v := f.Values(); len(v) != len(f.Classes()[e.Class].Fields) || e.Stream >= len(f.Streams()) {
				t.Fatalf("event %d: %d values, row %d", events, len(v), e.Stream)
			}
		}
	}
	for _, step := range steps[:min(len(steps), 10)] {
		part := int(step >> 3)
		switch step & 7 {
		case 0, 1, 2:
			os.WriteFile(path, stream[:len(stream)*part/31], 0o644) // shorter than before, too
		case 3:
			os.WriteFile(name, metadata[:len(metadata)*part/31], 0o644)
		case 4:
			os.WriteFile(name, metadata, 0o644)
		case 5:
			p := f.Position()
			f.Close()
			f = FollowFrom(dir, p, w)
		default:
			look()
		}
	}
	return events, f
}

// Whatever a trace holds and however it grows, a Follower ends its looks (with an even number of steps), and of a sound trace that only
// grows returns what Open returns (with an odd one).
func FuzzFollower(f *testing.F) {
	m := metadataOf(f, smallTSDL)
	f.Add([]byte(smallTSDL), smallStream(f, m, 12, 320, true, 0), []byte("\x04\x50\x07\xf0\x05\x07"))
	f.Add([]byte(smallTSDL), smallStream(f, m, 12, 4096, false, 3), []byte("\x80\x83\x07\xf8\x04\x07"))
	f.Add([]byte(checkedTSDL), append(checkedPacket(0, 0, 0), checkedPacket(2, 1, 0)...), []byte("\x04\x80\x07\xf8\x05\x07"))
	f.Add([]byte(checkedTSDL), append(checkedPacket(0, 0, 0), checkedPacket(2, 1, 0)...), []byte("\x04"))
	for _, x := range realTraces(f) {
		if len(x[0]) < 4<<10 { // metadata is read again after each step
			f.Add(x[0], x[1], []byte("\x04\x50\x07\xf0\x05"))
		}
	}
	dir := f.TempDir()
	testseed.Fuzz(f, func(t *testing.T, metadata, stream, steps []byte) {
		stream = stream[:min(len(stream), 4500)] // some packets: more only take longer
		if len(steps)%2 == 0 {
			_, follower := followSteps(t, dir, metadata, stream, steps, nil)
			follower.Close()
			return
		}

		// The trace whole, in two steps.
		var w trace.Warnings
		got, follower := followSteps(t, dir, metadata, stream, []byte{4, 16 << 3, 7, 5, 31 << 3, 7, 7}, &w)
		defer follower.Close()
		var offline trace.Warnings
		tr, err := Open(dir, &offline)
		if err != nil {
			return
		}
		s := tr.Events()
		want := 0
		for e := new(trace.Event); s.Next(e) == nil; {
			want++
		}
		s.Close()
		tally := follower.Tally()
		if follower.src == nil || len(follower.files) != 1 || len(offline.Lines())+len(w.Lines()) > 0 || tally.Damaged+tally.Broken > 0 {
			return
		}
		if file := follower.files[0]; file.whole == file.size && got != want {
			t.Fatalf("%d events, offline %d", got, want)
		}
	})
}

// Whatever is taken for a stored Position, nothing is returned twice by what goes on from it.
func FuzzPosition(f *testing.F) {
	m := metadataOf(f, smallTSDL)
	data := smallStream(f, m, 40, 320, true, 0)
	dir := writeTrace(f, smallTSDL, data)
	follower := Follow(dir, nil)
	follower.Refresh()
	for range 3 {
		stored, err := json.Marshal(follower.Position())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stored)
		var e trace.Event
		for range 7 {
			follower.Next(&e)
		}
	}
	follower.Close()
	testseed.Fuzz(f, func(t *testing.T, stored []byte) {
		var p Position
		if json.Unmarshal(stored, &p) != nil {
			return
		}
		follower := FollowFrom(dir, p, nil)
		defer follower.Close()
		last := int64(-1)
		for range 2 {
			if _, err := follower.Refresh(); err != nil {
				return // another trace
			}
			for e := new(trace.Event); follower.Next(e) == nil; {
				n := int64(follower.Values()[0].Uint())
				if n <= last || n >= 40 {
					t.Fatalf("event %d behind %d", n, last)
				}
				last = n
			}
		}
		json.Marshal(follower.Position())
	})
}
