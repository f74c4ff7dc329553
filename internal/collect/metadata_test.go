package collect_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/disktest"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

func TestMetadataThatOutgrowsAMessageComesInParts(t *testing.T) {
	t.Parallel()
	for compress, lengths := range map[bool][]int{false: {300 << 10, 64<<10 - wire.MaxOverhead, 2 << 20, 10}, true: {300 << 10}} {
		l := newLabOf(t, broker.Limits{Message: 64 << 10})
		dir, servers := filepath.Join(t.TempDir(), "trace"), t.TempDir()
		w := newTrace(t, dir, 3)
		l.serve("a", servers, store.OS{})
		for i, more := range lengths {
			w.longMetadata(i, more)
			w.write("kernel_1_0", w.packet(200<<10))
			l.ship(ship.Options{Host: "web", Session: "s", Dir: dir, Compress: compress})
			same(t, dir, filepath.Join(servers, "s", "web"))
		}
	}
}

func TestABrokerThatPermitsNoChunksIsToldAndTheAgentGoesOn(t *testing.T) {
	t.Parallel()
	l := newLabOf(t, broker.Limits{Message: 4096})
	dir := filepath.Join(t.TempDir(), "trace")
	newTrace(t, dir, 3)
	said := make(chan string, 16)
	ended := make(chan struct{})
	close(ended)
	s, err := ship.New(ship.Options{Conn: wire.Over(l.connectAs("web")), Host: "web", Session: "s", Dir: dir, Ended: ended, Log: func(format string, args ...any) {
		select {
		case said <- fmt.Sprintf(format, args...):
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	stop := runs(t, s)
	for text := ""; text != "the broker permits messages of 4096 bytes: set its max_payload to 64 KiB or more"; {
		select {
		case text = <-said:
		case <-time.After(60 * time.Second):
			t.Fatal(text)
		}
	}
	if sum := stop(); sum.Recorded != sum.Acknowledged+sum.Lost { // no packets were recorded
		t.Errorf("%+v", sum)
	}
}

// The parts of a document make it up in their order alone, and bytes of one are in no other.
func TestPartsOfADocumentAreTakenWholeOrNotAtAll(t *testing.T) {
	disk := disktest.New(1)
	s, err := store.New("servers", disk, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Host("s", "web", uuid)
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		of       []byte
		from, to int
	}
	a, b := []byte("the first document, of some length"), []byte("another one, of which less is there")
	for _, c := range []struct {
		what  string
		parts []part
		want  []byte
	}{
		{"a part alone", []part{{a, 0, 10}}, nil},
		{"the rest", []part{{a, 10, 20}, {a, 20, len(a)}}, a},
		{"of another without its beginning", []part{{b, 10, len(b)}}, a},
		{"with a gap", []part{{b, 0, 10}, {b, 12, len(b)}}, a},
		{"of two, mixed", []part{{b, 0, 10}, {a, 10, len(a)}, {b, 10, len(b)}}, b},
		{"twice", []part{{a, 0, 10}, {a, 0, 10}, {a, 10, len(a)}, {a, 10, len(a)}}, a},
		{"in one", []part{{b, 0, len(b)}}, b},
	} {
		for _, p := range c.parts {
			data := (&wire.DocumentPart{Sum: wire.Sum(p.of), Size: int64(len(p.of)), Data: p.of[p.from:p.to]}).Append(nil)
			if err := h.Apply(&wire.Chunk{Kind: wire.Part, Session: "s", File: wire.Metadata, Offset: int64(p.from), Data: data}); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		}
		if got := string(disk.Content("servers/s/web")[wire.Metadata]); got != string(c.want) {
			t.Errorf("%s: %q", c.what, got)
		}
	}
	if _, err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := disk.Durable("servers/s/web")[wire.Metadata]; string(got) != string(b) {
		t.Errorf("on the disk is %q", got)
	}
	wrong := (&wire.DocumentPart{Sum: wire.Sum(a) + 1, Size: int64(len(a)), Data: a}).Append(nil)
	huge := binary.LittleEndian.AppendUint32(make([]byte, 4), wire.MaxRange+1)
	for what, c := range map[string]wire.Chunk{
		"a checksum that is another's": {Data: wrong}, "beyond the limit": {Data: append(huge, 'x')}, "nothing": {}, "no content": {Data: huge},
		"beyond its end": {Offset: 20, Data: wrong}, "far beyond": {Offset: 1 << 61, Data: wrong},
	} {
		c.Kind, c.Session, c.File = wire.Part, "s", wire.Metadata
		if h.Apply(&c) == nil {
			t.Errorf("%s: a part is taken", what)
		}
	}
	if got := string(disk.Content("servers/s/web")[wire.Metadata]); got != string(b) {
		t.Errorf("then there is %q", got)
	}
}
