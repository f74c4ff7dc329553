package collect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/spool"
)

// filled is a host whose trace is on two servers and in part no more on the host.
type filled struct {
	*lab
	dir, a, b string
	stopB     func()
	o         ship.Options
}

func newFilled(t *testing.T) *filled {
	f := &filled{lab: newLab(t), dir: filepath.Join(t.TempDir(), "trace"), a: t.TempDir(), b: t.TempDir()}
	w := newTrace(t, f.dir, 7)
	for _, name := range []string{"kernel_1_0", "kernel_1_1", "packets/web.pcapng"} {
		for range 40 {
			if name[0] == 'k' {
				w.write(name, w.packet(256<<10))
			} else {
				w.write(name, w.block(6, 4096))
			}
		}
	}
	f.serve("a", f.a, store.OS{})
	f.stopB = f.serve("b", f.b, store.OS{})
	f.o = ship.Options{Host: "web", Session: "s", Dir: f.dir, Replicas: 2}
	f.ship(f.o)
	for _, name := range []string{"kernel_1_0", "packets/web.pcapng"} { // servers have it
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *filled) of(dir string) string { return filepath.Join(dir, "s", "web") }

func (f *filled) check(sum ship.Summary) {
	f.t.Helper()
	same(f.t, f.of(f.a), f.of(f.b))
	if n := len(files(f.t, f.of(f.b))); n != 4 || sum.Lost != 0 || sum.Acknowledged != sum.Recorded {
		f.t.Errorf("%d files, %+v", n, sum)
	}
}

func TestAServerWithANewDiskIsFilledFromAnotherWithWhatTheHostHasNoMore(t *testing.T) {
	f := newFilled(t)
	f.stopB()
	if err := os.RemoveAll(f.b); err != nil {
		t.Fatal(err)
	}
	f.serve("b", f.b, store.OS{})
	f.check(f.ship(f.o))
}

func TestWhatAServerWroteBeforeAPowerCutIsComparedWithAnother(t *testing.T) {
	f := newFilled(t)
	f.stopB()
	path := filepath.Join(f.of(f.b), "kernel_1_0")
	if err := os.Truncate(path, 3_000_000); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteAt([]byte("never written"), 2_900_000)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	f.serve("b", f.b, store.OS{})
	f.check(f.ship(f.o))
}

func TestAServerSendsNothingToAnotherThatItDoesNotStoreOrThatIsOutOfBounds(t *testing.T) {
	f := newFilled(t)
	for _, c := range []struct {
		what string
		copy wire.Copy
		n    int64
		fail bool
	}{
		{"all there is", wire.Copy{To: "b", File: "kernel_1_0", From: 10<<20 - 5, Bytes: 100}, 5, false},
		{"beyond the end", wire.Copy{To: "b", File: "kernel_1_0", From: 1 << 40, Bytes: 100}, 0, false},
		{"no such file", wire.Copy{To: "b", File: "kernel_1_9", From: 0, Bytes: 100}, 0, false},
		{"to itself", wire.Copy{To: "a", File: "kernel_1_0", From: 0, Bytes: 100}, 0, true},
		{"outside", wire.Copy{To: "b", File: "../web/kernel_1_0", From: 0, Bytes: 100}, 0, true},
		{"the metadata", wire.Copy{To: "b", File: "metadata", From: 0, Bytes: 100}, 0, true},
		{"before the beginning", wire.Copy{To: "b", File: "kernel_1_0", From: -1, Bytes: 100}, 0, true},
		{"too much", wire.Copy{To: "b", File: "kernel_1_0", From: 0, Bytes: wire.MaxCopy + 1}, 0, true},
		{"a subject", wire.Copy{To: "b.>\n", File: "kernel_1_0", From: 0, Bytes: 100}, 0, true},
	} {
		request := wire.Encode(wire.Open{Version: wire.Version, Session: "s", Trace: uuid, Copy: &c.copy})
		m, err := f.connectAs("web").Request(wire.OfHostServer("web", "open", "a"), request, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if x, err := wire.Decode[wire.Opened](m.Data); err != nil || (x.Error != "") != c.fail || x.Copied != c.n || x.Files != nil {
			t.Errorf("%s: %+v, %v", c.what, x, err)
		}
	}
}

// What a server has after a power cut may be other bytes than it was sent, anywhere behind what it has acknowledged. It is sent again, in more than one
// window, and no ack of a part says that the rest is right.
func TestWhatAServerWroteBeforeAPowerCutIsReplacedAsAWhole(t *testing.T) {
	l := newLab(t)
	dir, servers := filepath.Join(t.TempDir(), "trace"), t.TempDir()
	w := newTrace(t, dir, 8)
	for range 8 {
		w.write("kernel_1_0", w.packet(128<<10))
	}
	o := ship.Options{Host: "web", Session: "s", Dir: dir, Window: 32 << 10, Chunk: 8 << 10}
	stop := l.serve("a", servers, store.OS{})
	l.ship(o)
	stop()
	file, err := os.OpenFile(filepath.Join(servers, "s", "web", "kernel_1_0"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{300_000, 700_000, 1<<20 - 100} {
		if _, err := file.WriteAt([]byte("never written"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	l.serve("a", servers, store.OS{})
	w.write("kernel_1_0", w.packet(4096))
	l.ship(o)
	same(t, dir, filepath.Join(servers, "s", "web"))
}

// A third server has of an earlier time what it never acknowledged, and after a power cut other bytes in it. When it takes the place of another, the host has
// the file no more.
func TestWhatAServerNeverAcknowledgedIsComparedWhenTheHostHasItNoMore(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dir, dirs := filepath.Join(t.TempDir(), "trace"), []string{t.TempDir(), t.TempDir(), t.TempDir()}
	w := newTrace(t, dir, 9)
	w.write("kernel_1_0", w.packet(256<<10))
	w.write("kernel_1_1", w.packet(512))
	third := filepath.Join(dirs[2], "s", "web")
	if err := os.CopyFS(third, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	content := files(t, dir)["kernel_1_0"]
	wrong := append([]byte{}, content...)
	copy(wrong[150_000:], "never written")
	for name, b := range map[string][]byte{"kernel_1_0": wrong, ".trace": []byte(uuid + "\n")} {
		if err := os.WriteFile(filepath.Join(third, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	l.serve("a", dirs[0], store.OS{})
	stopB := l.serve("b", dirs[1], store.OS{})
	s, err := ship.New(ship.Options{Conn: wire.Over(l.connectAs("web")), Host: "web", Session: "s", Dir: dir, Replicas: 2, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	stop := runs(t, s)
	await := func(what string, is func() bool) {
		t.Helper()
		for until := time.Now().Add(60 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal(what)
			}
		}
	}
	await("it is never acknowledged", func() bool {
		account, err := spool.Read(dir)
		return err == nil && account.Files["kernel_1_0"].Acknowledged == int64(len(content))
	})
	if err := os.Remove(filepath.Join(dir, "kernel_1_0")); err != nil {
		t.Fatal(err)
	}
	await("the account does not show that it went", func() bool {
		account, err := spool.Read(dir)
		return err == nil && account.Settled.Acknowledged == int64(len(content))
	})
	l.serve("c", dirs[2], store.OS{})
	stopB()
	await("the third server keeps other bytes", func() bool { return bytes.Equal(files(t, third)["kernel_1_0"], content) })
	stop()
	if sum := l.ship(ship.Options{Host: "web", Session: "s", Dir: dir, Replicas: 2}); sum.Lost != 0 || sum.Acknowledged != sum.Recorded {
		t.Errorf("%+v", sum)
	}
	same(t, filepath.Join(dirs[0], "s", "web"), third)
}
