package tracefs

import (
	"net"
	"path/filepath"
	"strconv"
	"testing"

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
