package ship

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"meridian/internal/collect/wire"
)

// parkable returns a shipper of a directory with so many files of one packet, of which its server has all, and which did not change for long.
func parkable(t *testing.T, n int) *Shipper {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		putPacket(t, filepath.Join(dir, fmt.Sprintf("sensor_%d_web_0", i)), byte(i))
	}
	s := &Shipper{o: Options{Replicas: 1, Log: t.Logf}, d: newDirectory(dir, DefaultClasses)}
	p := &peer{name: "s", state: open, files: make(map[string]*progress)}
	s.plan = plan{d: s.d, peers: []*peer{p}}
	if err := s.d.scan(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.d.close() })
	for name, f := range s.d.files {
		p.files[name] = &progress{sent: f.whole, have: f.whole}
	}
	return s
}

func putPacket(t *testing.T, path string, content byte) {
	t.Helper()
	b := make([]byte, 128)
	b[0], b[1], b[2], b[3], b[100] = 0xc1, 0x1f, 0xfc, 0xc1, content
	b[57] = 128 * 8 >> 8
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
}

func opened(s *Shipper) (n int) {
	for _, f := range s.d.files {
		if f.f != nil {
			n++
		}
	}
	return n
}

func TestFilesThatServersHaveAndThatRestAreClosed(t *testing.T) {
	const n = 200
	s := parkable(t, n)
	s.park(time.Now())
	if opened(s) != n {
		t.Fatalf("%d files are open, right after they were opened", opened(s))
	}
	lacking := s.d.order[3]
	s.plan.peers[0].files[lacking.name].have = 0
	s.park(time.Now().Add(2 * parkAfter))
	if opened(s) != 1 || lacking.f == nil {
		t.Errorf("%d files are open, and one is to be sent", opened(s))
	}
	if err := s.d.scan(); err != nil || opened(s) != 1 {
		t.Errorf("%d files are open after a scan that found nothing: %v", opened(s), err)
	}
	// One that is read again is opened, and closed again by and by.
	f := s.d.order[5]
	if r, err := f.reader(); err != nil || r == nil || opened(s) != 2 {
		t.Errorf("%d files are open: %v", opened(s), err)
	}
	s.park(time.Now().Add(2 * parkAfter))
	if opened(s) != 1 {
		t.Errorf("%d files are open", opened(s))
	}
	for _, x := range s.d.order { // a file that vanishes is gone, and is not wanted
		if x.f == nil {
			if err := os.Remove(x.path); err != nil {
				t.Fatal(err)
			}
			if err := s.d.scan(); err != nil || !x.unreadable() || len(s.d.vanished) != 1 {
				t.Errorf("%v, gone %v", err, x.gone)
			}
			break
		}
	}
}

func TestAFileInThePlaceOfAParkedOneIsNotTakenForIt(t *testing.T) {
	s := parkable(t, 1)
	s.park(time.Now().Add(2 * parkAfter))
	f := s.d.order[0]
	b, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	b[100]++ // in place, so that the system's number of it is the same
	if err := os.WriteFile(f.path, append(b, b...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.reader(); !errors.Is(err, errOther) {
		t.Errorf("%v", err)
	}
	if err := s.d.scan(); err != nil || len(s.d.renewed) != 1 || !f.replaced {
		t.Errorf("%v, %d are renewed", err, len(s.d.renewed))
	}
}

func TestATraceOfAnEarlierBootIsKnown(t *testing.T) {
	const before, now = "11111111-6cee-11e0-8c08-cb07d7b3a564", "22222222-6cee-11e0-8c08-cb07d7b3a564"
	for _, x := range []struct {
		clock string
		past  bool
	}{
		{"clock {\n\tname = \"monotonic\";\n\tuuid = \"" + before + "\";\n\tfreq = 1;\n};", true},
		{"clock {\n\tname = \"monotonic\";\n\tuuid = \"" + now + "\";\n};", false},
		{"clock { name = \"monotonic\"; };", false},
	} {
		dir := t.TempDir()
		text := "/* CTF 1.8 */\ntrace { major = 1; minor = 8; uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\"; byte_order = le; };\n" + x.clock
		if err := os.WriteFile(filepath.Join(dir, wire.Metadata), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := newDirectory(dir, DefaultClasses)
		d.boot = now
		if err := d.scan(); err != nil || d.past != x.past {
			t.Errorf("%q: %v, %v", x.clock, d.past, err)
		}
	}
}
