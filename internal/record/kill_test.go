//go:build unix

package record

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/format/ctf/ctftest"
	"meridian/internal/testseed"
	"meridian/sensor/ring"
	"meridian/trace"
)

// TestKilledRecordersLoseAndRepeatNothing kills one recorder after another while a program emits. The next one goes on
// in the same directory, or in a new one that is told of those before.
func TestKilledRecordersLoseAndRepeatNothing(t *testing.T) {
	for _, same := range []bool{true, false} {
		t.Run(fmt.Sprintf("same=%t", same), func(t *testing.T) {
			t.Parallel()
			rings, root := t.TempDir(), t.TempDir()
			p := program(t, "victim", rings, "GOROUTINES=2", "BUFFERS=64")
			dirs := killRecorders(t, testseed.New(t), rings, root, same)
			p.in.Close()
			each := p.emitted(t)
			if err := p.Wait(); err != nil {
				t.Fatal(err)
			}
			last := len(dirs) - 1
			untilEnded(t, Options{Dir: dirs[last], After: dirs[:last], Rings: []string{rings}}, 1)

			found, lost := map[[2]int]int{}, discardedIn(t, dirs...)
			for _, dir := range dirs {
				numbers(read(t, dir), p.Process.Pid, found)
				if babeltraceWithLoss(t, dir) == 0 {
					t.Errorf("%s is empty", dir)
				}
			}
			emitted := 0
			for g, n := range each {
				emitted += n
				for i := range n {
					if times := found[[2]int{g, i}]; times > 1 {
						t.Fatalf("event %d of goroutine %d is there %d times", i, g, times)
					}
				}
			}
			if missing := emitted - len(found); missing < 0 || uint64(missing) > lost || lost == 0 && missing > 0 {
				t.Errorf("%d events were emitted, %d are there, %d were counted as lost", emitted, len(found), lost)
			}
			t.Logf("%d events, %d lost", emitted, lost)
		})
	}
}

// killRecorders kills one recorder after another and returns the directories that they recorded to, of which the last is for
// one more: the same, or a new one each time.
func killRecorders(t *testing.T, random *rand.Rand, rings, root string, same bool) []string {
	t.Helper()
	dirs := []string{filepath.Join(root, "0")}
	for kill := range 12 {
		r := started(t, "recorder", "RING="+rings, "DIR="+dirs[len(dirs)-1], "AFTER="+strings.Join(dirs[:len(dirs)-1], string(os.PathListSeparator)))
		for events := 0; events == 0; {
			if !r.lines.Scan() {
				t.Fatal("a recorder died by itself")
			}
			fmt.Sscanf(r.lines.Text(), "counted %d", &events)
		}
		go func() { // else it would wait for a reader
			for r.lines.Scan() {
			}
		}()
		<-time.After(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
		r.Process.Kill()
		r.Process.Wait()
		if !same {
			dirs = append(dirs, filepath.Join(root, fmt.Sprint(kill+1)))
		}
	}
	return dirs
}

// eachTail reads the tails of a trace's files of rings, after which nothing may be left.
func eachTail(t *testing.T, dir string, visit func(tail)) {
	t.Helper()
	m, err := readMetadata(dir)
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, sensorFiles+"*"))
	for _, path := range paths {
		at, cut, err := readTail(path, m.UUID, false)
		if err != nil {
			t.Fatal(err)
		}
		if cut > 0 {
			t.Errorf("%s ends with %d bytes of a packet", path, cut)
		}
		visit(at)
	}
}

// discardedIn returns how many events the rings had no room for, by traces of recorders that went on after each other.
func discardedIn(t *testing.T, dirs ...string) (lost uint64) {
	t.Helper()
	discarded := map[tailKey]uint64{}
	for _, dir := range dirs {
		eachTail(t, dir, func(at tail) {
			key := tailKey{at.ring, at.shard}
			discarded[key] = max(discarded[key], at.discarded)
		})
	}
	for _, n := range discarded {
		lost += n
	}
	return lost
}

// TestNextRecorderGoesOnWhereTheLastWasKilled is the worst instant: packets are written, none is committed, and one is
// half written.
func TestNextRecorderGoesOnWhereTheLastWasKilled(t *testing.T) {
	for _, same := range []bool{true, false} {
		t.Run(fmt.Sprintf("same=%t", same), func(t *testing.T) {
			rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
			p := program(t, "victim", rings, "GOROUTINES=1", "BUFFERS=64")
			o := Options{Dir: dir, Rings: []string{rings}, Warnings: new(trace.Warnings)}
			r, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			for len(r.rings) == 0 {
				if _, _, err := r.find(); err != nil {
					t.Fatal(err)
				}
			}
			written := writeAndTear(t, r)

			// What is there is read as far as it is whole.
			tally, warnings := ctftest.Each(t, dir, nil)
			if n := tally.Packets; int(n) < written {
				t.Errorf("%d packets of %d are read: %v", n, written, warnings)
			}

			p.in.Close()
			each := p.emitted(t)
			if err := p.Wait(); err != nil {
				t.Fatal(err)
			}
			found := map[[2]int]int{}
			if same {
				untilEnded(t, o, 1)
			} else {
				o.After, o.Dir = []string{dir}, dir+".2"
				untilEnded(t, o, 1)
				numbers(read(t, o.Dir), p.Process.Pid, found)
				r, err := New(Options{Dir: dir, Rings: []string{t.TempDir()}}) // cuts off what was half written
				if err != nil {
					t.Fatal(err)
				}
				r.t.close()
			}
			numbers(read(t, dir), p.Process.Pid, found)
			babeltraceWithLoss(t, dir)
			for n := range each[0] {
				if times := found[[2]int{0, n}]; times > 1 {
					t.Fatalf("event %d of %d is there %d times", n, each[0], times)
				}
			}
			if lost := discardedIn(t, dir, o.Dir); each[0]-len(found) > int(lost) || len(found) > each[0] {
				t.Errorf("%d events of %d, %d lost", len(found), each[0], lost)
			}
		})
	}
}

// writeAndTear writes some packets of each ring without committing them, and half of one more, and closes the recorder's
// files as a kill does. It returns how many packets are whole.
func writeAndTear(t *testing.T, r *Recorder) (written int) {
	t.Helper()
	for _, d := range r.rings {
		for packet := (ring.Packet{}); written < 4; {
			ok, err := d.reader.Next(&packet)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				if err := d.take(&packet); err != nil {
					t.Fatal(err)
				}
				written++
			}
		}
		for _, s := range d.shards {
			if s != nil && s.file.f != nil {
				half := (d.packets.made[0].end - d.packets.from) / 2
				if _, err := s.file.f.WriteAt(d.packets.bytes()[:half], s.file.size); err != nil {
					t.Fatal(err)
				}
				s.file.f.Close()
			}
		}
		d.reader.Close()
	}
	r.t.close()
	return written
}
