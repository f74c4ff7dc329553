package tracefs

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"meridian/internal/record/internal/proc"
	"meridian/internal/record/kernel"
)

// datagrams sends some to ourselves: two packets of the loopback device each.
func datagrams(t *testing.T, n int) {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range n {
		if _, err := c.WriteTo([]byte("x"), c.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatThereWasNoRoomForIsCounted(t *testing.T) {
	whole, _ := record(t, Options{Groups: kernel.Net})
	tiny, r := open(t, Options{Groups: kernel.Net, BufferSize: 1}) // pages, and nobody reads them
	datagrams(t, 2000)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	lost := int(tiny.Lost())
	tiny.Read(t.Context())
	kept, truth := len(tiny.Stop()), len(whole.Stop())
	if whole.Lost() != 0 || kept == 0 || lost == 0 || int(tiny.Lost()) != lost || kept+lost > truth || kept+lost < 4000 {
		t.Errorf("%d kept and %d lost of %d", kept, lost, truth)
	}
}

// Nothing of ours lets a ring be overwritten, but the pages of one that is say how much.
func TestPagesSayHowManyEventsWereOverwritten(t *testing.T) {
	_, r := open(t, Options{Groups: kernel.Net, BufferSize: 1})
	if err := r.session.all.write("options/overwrite", "1"); err != nil {
		t.Fatal(err)
	}
	datagrams(t, 2000)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.merge.cursors {
		text, err := r.session.all.read(filepath.Join("per_cpu", "cpu"+strconv.Itoa(c.cpu), "stats"))
		if err != nil {
			t.Fatal(err)
		}
		said, least := parseStats([]byte(text)), false
		for {
			if ok, err := c.advance(); err != nil {
				t.Fatal(err)
			} else if !ok {
				break
			}
			// A page whose events leave no room for the number says only that there is a loss.
			least = least || c.page.missed == 1
		}
		if got := c.missed.Load(); got > said || (got == 0) != (said == 0) || got != said && !least {
			t.Errorf("processor %d: %d by its pages, %d by its stats", c.cpu, c.missed.Load(), said)
		}
	}
}

func TestStatsAreSummedUp(t *testing.T) {
	if n := parseStats([]byte("entries: 9\noverrun: 1\ncommit overrun: 20\nbytes: 7\ndropped events: 300\nread events: 5\n")); n != 321 {
		t.Error(n)
	}
	if n := parseStats([]byte("overrun: many\n")); n != 0 {
		t.Error(n)
	}
}

func TestWhatElseIsNotRecordedCountsAsLost(t *testing.T) {
	_, r := open(t, Options{Groups: kernel.Net})
	if len(r.session.rings) > 1 { // as if the others had come online later
		for _, g := range r.session.rings[1:] {
			g.close()
		}
		r.session.rings = r.session.rings[:1]
		r.merge.cursors = r.merge.cursors[:1]
	}
	r.session.rings[0].damaged.Add(2)
	r.session.rings[0].gaps.Add(4)
	r.follower.missing = 3
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	online, err := proc.OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	late := int64(len(online) - 1)
	faults, err := r.Faults()
	if want := kernel.Happened(kernel.Fault{Kind: unfollowed, Count: 3}, kernel.Fault{Kind: unreported, Count: 4}, kernel.Fault{Kind: lateProcessors, Count: late},
		kernel.Fault{Kind: kernel.DamagedRecords, Count: 2}); err != nil || !slices.Equal(faults, want) {
		t.Errorf("%v, %v, want %v", faults, err, want)
	}
	lost, err := r.Lost()
	if want := uint64(9 + late); err != nil || lost[r.session.rings[0].cpu] != want {
		t.Errorf("%d lost, %v, want %d", lost, err, want)
	}
}

func TestInvalidRecordsAndPagesAreCountedForTheirRing(t *testing.T) {
	_, r := open(t, Options{Groups: kernel.Net})
	given := false
	c := newCursor(0, pageLayoutOf(t))
	c.record, c.stamp = []byte{1}, 1 // too short for the number of its event
	c.readPage = func(b []byte) (int, error) {
		if given {
			return 0, nil
		}
		given = true
		for i := range b {
			b[i] = 0xff
		}
		return len(b), nil
	}
	r.merge.cursors = []*cursor{c}
	if _, err := r.readUntil(1<<63, func(*kernel.Event) error { return nil }); err != nil || c.damaged.Load() != 2 {
		t.Errorf("%d damaged, %v", c.damaged.Load(), err)
	}
}
