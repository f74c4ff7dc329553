package archive

import (
	"bytes"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/s3/s3test"
)

// keeping returns an archive that removes what it has from the disk after two minutes.
func (l *lab) keeping() *Archive {
	a := l.archive("one")
	a.o.Keep = 2 * time.Minute
	return a
}

// after lets so much time pass, and archives.
func (l *lab) after(a *Archive, d time.Duration) {
	l.t.Helper()
	l.now = l.now.Add(d)
	l.pass(a)
}

func TestWhatIsArchivedIsRemovedFromTheDiskWhenNothingCame(t *testing.T) {
	l := newLab(t, 21)
	for _, host := range []string{"web", "db"} {
		l.document(host)
		l.append(host, "kernel_0", 2*part+5)
		l.append(host, "packets/web.pcapng", part+1)
		l.host(host).Stored() // its acks were sent
	}
	want := l.local()
	a := l.keeping()
	l.pass(a)
	l.after(a, time.Minute)       // all is archived now
	l.after(a, time.Minute)       // a minute ago
	l.append("db", "kernel_0", 1) // which begins anew
	l.host("db").Stored()
	want["db/kernel_0"] = l.local()["db/kernel_0"]
	l.pass(a)
	if got := l.local(); len(got) != len(want) {
		t.Fatalf("%d files after a minute of two, want %d", len(got), len(want))
	}
	l.after(a, time.Minute+time.Second)
	for name := range l.local() {
		if strings.HasPrefix(name, "web/") {
			t.Errorf("%s is on the disk still", name)
		}
	}
	if len(l.local()) != len(want)/2 {
		t.Errorf("%d files of the other host, want %d", len(l.local()), len(want)/2)
	}
	l.compare(want)
	for range 4 {
		l.after(a, time.Minute)
	}
	if got := l.local(); len(got) != 0 || len(a.known)+len(a.whole)+len(a.seen) != 0 {
		t.Errorf("%d files on the disk, %v, %v and %v are remembered", len(got), a.known, a.whole, a.seen)
	}
	l.compare(want)
}

// An agent that goes on with a session that was removed sends what it has once more: the archive has everything, once.
func TestAnAgentThatGoesOnAfterItsSessionWasRemovedDoesNoHarm(t *testing.T) {
	l := newLab(t, 22)
	l.document("web")
	l.append("web", "kernel_0", 2*part+5)
	l.host("web").Stored()
	h := l.host("web")
	a := l.keeping()
	before := l.local()
	for range 5 {
		l.after(a, time.Minute)
	}
	if len(l.local()) != 0 {
		t.Fatal("it is on the disk still")
	}
	objects := len(l.objects.Objects("bucket"))
	if err := h.Apply(&wire.Chunk{Kind: wire.Data, File: "kernel_0", Offset: 2*part + 5, Data: []byte("more")}); err == nil {
		t.Error("a chunk is taken into a directory that was removed: its agent would not learn of that")
	}
	if page, _, err := l.host("web").States(""); err != nil || len(page) != 0 {
		t.Errorf("the server says that it has %v, %v", page, err)
	}
	l.apply("web", wire.Chunk{Kind: wire.Document, File: wire.Metadata, Data: before["web/metadata"]})
	l.apply("web", wire.Chunk{Kind: wire.Data, File: "kernel_0", Data: before["web/kernel_0"]})
	l.apply("web", wire.Chunk{Kind: wire.Data, File: "kernel_0", Offset: 2*part + 5, Data: []byte("more")})
	l.host("web").Stored()
	want := l.local()
	for range 6 {
		l.after(a, time.Minute)
	}
	l.compare(want)
	if n := len(l.objects.Objects("bucket")); n != objects || len(l.local()) != 0 {
		t.Errorf("%d objects, want %d as before; %d files on the disk", n, objects, len(l.local()))
	}
}

func TestNothingIsRemovedThatTheObjectStoreLacks(t *testing.T) {
	for name, damage := range map[string]func(l *lab){
		"a part": func(l *lab) {
			for key := range l.objects.Objects("bucket") {
				if strings.Contains(key, "/kernel_0/1-") {
					l.objects.Remove("bucket", key)
				}
			}
		},
		"all": func(l *lab) {
			l.objects.Inject(func(w http.ResponseWriter, _ *http.Request) bool {
				s3test.Refuse(w, http.StatusForbidden, "AccessDenied") // which is not tried again
				return true
			})
		},
		"its answer": func(l *lab) { l.host("web").Gap("kernel_0") }, // an ack was not sent
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 23)
			l.document("web")
			l.append("web", "kernel_0", 2*part+5)
			l.host("web").Stored()
			a := l.keeping()
			l.pass(a)
			l.after(a, time.Minute)
			want := l.local()
			damage(l)
			for range 4 {
				l.now = l.now.Add(time.Minute)
				_ = a.Pass(t.Context()) // it may fail: what counts is what is on the disk
			}
			if !maps.EqualFunc(l.local(), want, bytes.Equal) {
				t.Error("something was removed")
			}
		})
	}
}

func TestADirectoryIsRemovedAsAWholeOrNotAtAll(t *testing.T) {
	for seed := range uint64(40) {
		l := newLab(t, 100+seed)
		l.document("web")
		l.append("web", "kernel_0", part)
		l.append("web", "packets/web.pcapng", 10)
		l.host("web").Stored()
		want := l.local()
		if removed, err := l.store.Remove("night", "web", func(store.Content) bool { return true }); !removed || err != nil {
			t.Fatal(removed, err)
		}
		l.disk = l.disk.Cut()
		if got := l.local(); len(got) != 0 && !maps.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("seed %d: %d of %d files are left", seed, len(got), len(want))
		}
	}
	l := newLab(t, 1)
	l.document("web")
	l.host("web").Stored()
	l.openStore()
	if err := l.disk.Rename("dir/night/web", "dir/night/.removed.web"); err != nil { // a process was killed here
		t.Fatal(err)
	}
	l.pass(l.keeping())
	if entries, err := l.disk.ReadDir("dir/night"); err != nil || len(entries) != 0 {
		t.Errorf("%v are left, %v", entries, err)
	}
}

func TestArchivesExpireWhenNothingIsOnTheDiskAndNothingCame(t *testing.T) {
	l := newLab(t, 24)
	l.now = time.Now()
	l.document("web")
	l.append("web", "kernel_0", 2*part+5)
	l.host("web").Stored()
	a := l.keeping()
	a.o.Expire = 10 * time.Hour
	l.pass(a)
	l.after(a, time.Minute)
	l.now = l.now.Add(1000 * time.Hour)
	stays := l.archive("one") // what is on the disk is not old
	stays.o.Expire = 10 * time.Hour
	l.pass(stays)
	l.compare(l.local())
	for range 3 {
		l.after(a, 3*time.Minute)
	}
	if n := len(l.objects.Objects("bucket")); n != 0 || len(l.local()) != 0 {
		t.Errorf("%d objects are left, %d files on the disk", n, len(l.local()))
	}
}
