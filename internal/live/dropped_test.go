package live

import (
	"fmt"
	"testing"

	"meridian/format/ctf"
	"meridian/internal/retention"
	"meridian/internal/testseed"
)

// keptTrace models a recorder that keeps the latest files, and of the events that tell of drops the latest as well.
type keptTrace struct {
	files  []keptFile // that are there
	next   int
	all    retention.Span
	told   []retention.Dropped // events that are there
	unread int                 // of these
}

type keptFile struct {
	name   string
	events uint64
}

// write ends a file and begins another; the oldest goes if there are more than keep, and is told of in one of the latest maxTold events.
func (k *keptTrace) write(events uint64, keep, maxTold int) (gone *keptFile) {
	k.files = append(k.files, keptFile{fmt.Sprint("row_", k.next), events})
	k.next++
	if len(k.files) <= keep {
		return nil
	}
	f := k.files[0]
	k.files = k.files[1:]
	x := retention.Dropped{File: f.name, Span: retention.Span{Packets: 1, Events: f.events, Bytes: 100}}
	k.all.Packets, k.all.Events, k.all.Bytes = k.all.Packets+1, k.all.Events+f.events, k.all.Bytes+100
	x.All = k.all
	k.told = append(k.told, x)
	if k.unread++; len(k.told) > maxTold {
		k.told = k.told[1:]
		k.unread = min(k.unread, maxTold)
	}
	return &f
}

// TestEventsThatWereDroppedUnreadAreCountedExactly lets a follower look at a trace at random instants, with the truth kept beside it.
// The follower may be so late that events which tell of drops are gone as well.
func TestEventsThatWereDroppedUnreadAreCountedExactly(t *testing.T) {
	random := testseed.New(t)
	lost, complete := 0, 0
	for range 200 {
		k, d := new(keptTrace), new(dropped)
		pace := []int{4, 40}[random.IntN(2)] // files between two looks, of 5 that are kept
		for range random.IntN(30) {          // before the first look
			k.write(uint64(1+random.IntN(50)), 5, 8)
		}
		k.unread = 0
		d.before, d.last = k.all, k.all
		open, missed := make(map[string]uint64), uint64(0)
		look := func() {
			d.Opened(retention.Stream + "_0")
			there := make(map[string]bool)
			for _, f := range k.files {
				if there[f.name] = true; open[f.name] == 0 {
					open[f.name] = f.events
					d.Opened(f.name)
				}
			}
			tell := func() {
				for _, x := range k.told[len(k.told)-k.unread:] {
					d.tell(&x)
				}
				k.unread = 0
			}
			first := random.IntN(2) == 0 // what is told may be read before or after a file is closed
			if first {
				tell()
			}
			for name, n := range open {
				if !there[name] {
					d.Closed(name, ctf.Tally{Events: int64(n), Packets: 1})
					delete(open, name)
				}
			}
			tell()
		}
		look()
		for range 10 {
			for range random.IntN(pace) {
				if gone := k.write(uint64(1+random.IntN(50)), 5, 8); gone != nil && open[gone.name] == 0 {
					missed += gone.events
				}
			}
			look()
			if c := d.count(); c.events != int64(missed) || c.packets != 0 {
				t.Fatalf("%d events and %d packets are counted, %d events were not found", c.events, c.packets, missed)
			}
		}
		if missed > 0 {
			lost++
		} else {
			complete++
		}
	}
	if lost < 50 || complete < 50 {
		t.Errorf("%d followers lost something, %d nothing", lost, complete)
	}
}

func TestFilesThatCameLaterOrInPartAreCountedByWhatTheyLack(t *testing.T) {
	t.Parallel()
	span := retention.Span{Packets: 4, Events: 40, Bytes: 400}
	all := span
	var d dropped
	d.Opened(retention.Stream + "_0")
	expect := func(events, packets int64) {
		t.Helper()
		if c := d.count(); c.events != events || c.packets != packets {
			t.Errorf("%+v, want %d events and %d packets", c, events, packets)
		}
	}
	d.tell(&retention.Dropped{File: "a_0", Span: span, All: all})
	expect(40, 0)
	d.Opened("a_0") // a copy gets it after the event
	expect(0, 0)
	d.Closed("a_0", ctf.Tally{Events: 30, Packets: 3})
	expect(10, 0)
	d.tell(&retention.Dropped{File: "clocks_0", Span: span, All: all}) // is not among all
	expect(10, 0)
	all.Packets, all.Bytes = all.Packets+4, all.Bytes+400 // of an earlier recorder, which counted no events
	d.tell(&retention.Dropped{File: "a_1", Span: retention.Span{Packets: 4, Bytes: 400}, All: all})
	expect(10, 4)
	d.Opened("a_2")
	d.Closed("a_2", ctf.Tally{Events: 39, Packets: 4, Damaged: 1}) // counted as damage
	all.Packets, all.Events, all.Bytes = all.Packets+4, all.Events+40, all.Bytes+400
	d.tell(&retention.Dropped{File: "a_2", Span: span, All: all})
	expect(10, 4)
	for i := range 3 * maxUnfound {
		all.Packets, all.Events, all.Bytes = all.Packets+4, all.Events+40, all.Bytes+400
		d.tell(&retention.Dropped{File: fmt.Sprint("b_", i), Span: span, All: all})
	}
	expect(10+40*3*maxUnfound, 4)
	if n := len(d.files); n > maxUnfound+1 {
		t.Errorf("%d files are remembered", n)
	}
}
