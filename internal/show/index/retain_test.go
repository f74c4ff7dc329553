package index

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// ticks is a timeline of instants, one each ms, of one row.
func ticks() *trace.Schema {
	return &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Host: "a", Kind: trace.Thread, Parent: -1}}, Classes: []trace.Class{{Name: "tick"}}}
}

func tick(t *testing.T, l *Live, i int) {
	t.Helper()
	at := int64(i) * 1e6
	r := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at)}, Time: clock.TimelineTime(at), Map: -1}
	if err := l.Write(&r); err != nil {
		t.Fatal(err)
	}
}

// held returns the numbers of events that a view of all has, and fails if the lanes have others.
func held(t *testing.T, l *Live) (first, n int64, g Growth) {
	t.Helper()
	v := l.View()
	defer v.Close()
	first = -1
	err := scanEvents(viewLanes{v}, 0, nil, func(number int64, _ *head, _ *decoder) (bool, error) {
		if first < 0 {
			first = number
		}
		n++
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c := collect{kind: instants, from: 0, to: far}
	if err := (viewLanes{v}).walk(&walker{}, 0, &c); err != nil {
		t.Fatal(err)
	}
	if int64(len(c.items)) != n || n > 0 && c.items[0].event != first {
		t.Fatalf("%d items, %d events from %d on", len(c.items), n, first)
	}
	for i, missing := range []bool{true, false} {
		if e := first - 1 + int64(i); e >= 0 {
			if _, err := v.Events(e, 1); (err != nil) != missing {
				t.Errorf("event %d of those from %d on: %v", e, first, err)
			}
		}
	}
	return first, n, v.Growth(0)
}

func TestADirectoryKeepsWhatIsAskedForAndAnEighthMore(t *testing.T) {
	t.Parallel()
	const perSeal, seals = 100, 300
	for name, o := range map[string]Options{"time": {KeepTime: 5e9}, "bytes": {KeepBytes: 100_000}} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			o.risky = true
			l, err := NewLive(dir, ticks(), o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range seals * perSeal {
				tick(t, l, i)
				if i%perSeal < perSeal-1 {
					continue
				}
				if err := l.Seal([]byte("x")); err != nil {
					t.Fatal(err)
				}
				for more := true; more; {
					if _, err := l.Drop(); err != nil {
						t.Fatal(err)
					}
					if more, err = l.Compact(); err != nil {
						t.Fatal(err)
					}
				}
				first, n, g := held(t, l)
				if first+n != int64(i+1) {
					t.Fatalf("after %d events those from %d to %d are there", i+1, first, first+n)
				}
				span := n * 1e6
				switch {
				case o.KeepTime > 0 && first > 0 && (span < o.KeepTime || span > o.KeepTime+o.KeepTime/mergeOf+2*perSeal*1e6):
					t.Fatalf("%d ns are kept", span)
				case o.KeepBytes > 0 && l.Size() > o.KeepBytes:
					t.Fatalf("%d bytes are kept", l.Size())
				case first > 0 && (len(g.Dropped) != 1 || g.Dropped[0] != [2]int64{0, (first - 1) * 1e6}):
					t.Fatalf("dropped %v, but the first is at %d", g.Dropped, first*1e6)
				}
			}
			first, n, _ := held(t, l)
			if first == 0 {
				t.Fatal("nothing was dropped: the test says nothing")
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l, resume, err := OpenLive(dir, ticks(), o)
			if err != nil || string(resume) != "x" {
				t.Fatal(string(resume), err)
			}
			defer l.Close()
			if f, m, g := held(t, l); f != first || m != n || len(g.Dropped) != 1 {
				t.Errorf("%d events from %d on, then %d from %d on; dropped %v", n, first, m, f, g.Dropped)
			}
		})
	}
}

func TestAFullDiskLeavesWhatFitsInMemory(t *testing.T) {
	const perSeal = 100
	dir := filepath.Join(t.TempDir(), "index")
	room := true
	o := Options{risky: true, room: func() error {
		if room {
			return nil
		}
		return syscall.ENOSPC
	}}
	l, err := NewLive(dir, ticks(), o)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	seal := func(want error) {
		t.Helper()
		for range perSeal {
			tick(t, l, n)
			n++
		}
		if err := l.Seal([]byte("x")); !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
	seal(nil)
	room = false
	for range maxFrozen {
		seal(ErrFull)
	}
	if first, m, g := held(t, l); first != 0 || m != int64(n) || g.Dropped != nil {
		t.Fatalf("%d events from %d on; %v is dropped", m, first, g.Dropped)
	}
	room = true
	seal(nil) // all are written as soon as there is room
	if _, tail := l.Events(); tail != 0 {
		t.Fatalf("%d events are in memory only", tail)
	}
	written := n
	room = false
	for range 3 * maxFrozen {
		seal(ErrFull)
	}
	room = true
	seal(ErrFull) // a part is missing: nothing more is written
	_, m, g := held(t, l)
	from, to := int64(written-1)*1e6, int64(n-maxFrozen*perSeal-1)*1e6
	if m != int64(written+maxFrozen*perSeal) || len(g.Dropped) != 1 || g.Dropped[0] != [2]int64{from, to} {
		t.Errorf("%d events; dropped %v, want from %d to %d", m, g.Dropped, from, to)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, _, err = OpenLive(dir, ticks(), o); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if first, m, _ := held(t, l); first != 0 || m != int64(written) {
		t.Errorf("%d events from %d on are on the disk, want %d", m, first, written)
	}
}
