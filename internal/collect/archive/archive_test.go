package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"meridian/internal/collect/disktest"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/s3"
	"meridian/internal/s3/s3test"
)

const part = 256 << 10

// lab is a store, an object store and a clock.
type lab struct {
	t       *testing.T
	r       *rand.Rand
	disk    *disktest.Disk
	store   *store.Store
	objects *s3test.Server
	now     time.Time
	traces  map[string]string // by host
}

func newLab(t *testing.T, seed uint64) *lab {
	l := &lab{t: t, r: rand.New(rand.NewPCG(seed, 7)), disk: disktest.New(seed), objects: s3test.New(t, "bucket"), now: time.Unix(1_700_000_000, 0), traces: map[string]string{}}
	l.objects.Setenv(t)
	l.openStore()
	return l
}

func (l *lab) openStore() {
	l.t.Helper()
	var err error
	if l.store, err = store.New("dir", l.disk, store.Limits{}); err != nil {
		l.t.Fatal(err)
	}
}

// archive returns a new process's archive.
func (l *lab) archive(server string) *Archive {
	l.t.Helper()
	c, err := s3.FromEnvironment()
	if err != nil {
		l.t.Fatal(err)
	}
	return New(Options{Store: l.store, Client: c, Bucket: "bucket", Prefix: "runs", Server: server, Age: time.Minute, Part: part, Now: func() time.Time { return l.now }, Log: l.t.Logf})
}

func (l *lab) host(name string) *store.Host {
	l.t.Helper()
	if l.traces[name] == "" {
		l.traces[name] = fmt.Sprintf("2a6422d0-6cee-11e0-8c08-%012x", name)[:36]
	}
	h, err := l.store.Host("night", name, l.traces[name])
	if err != nil {
		l.t.Fatal(err)
	}
	return h
}

func (l *lab) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(l.r.Uint32())
	}
	return b
}

// apply stores a chunk and brings it to the disk.
func (l *lab) apply(host string, c wire.Chunk) {
	l.t.Helper()
	if err := l.host(host).Apply(&c); err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.store.Sync(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) append(host, file string, n int) {
	l.t.Helper()
	at := int64(len(l.disk.Content("dir/night/" + host)[file]))
	for n > 0 {
		k := min(n, 1<<20)
		l.apply(host, wire.Chunk{Kind: wire.Data, File: file, Offset: at, Data: l.bytes(k)})
		at, n = at+int64(k), n-k
	}
}

func (l *lab) document(host string) {
	l.t.Helper()
	l.apply(host, wire.Chunk{Kind: wire.Document, File: wire.Metadata, Data: l.bytes(1 + l.r.IntN(5000))})
}

func (l *lab) pass(a *Archive) {
	l.t.Helper()
	if err := a.Pass(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// read returns what readers of the archive find, by HOST/FILE.
func (l *lab) read() map[string][]byte {
	l.t.Helper()
	f := s3.NewFS(l.t.Context(), s3.FromEnvironment)
	out := map[string][]byte{}
	err := fs.WalkDir(f, "bucket/runs/night", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(f, name)
		out[strings.TrimPrefix(name, "bucket/runs/night/")] = b
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// local returns what the store has.
func (l *lab) local() map[string][]byte { return l.disk.Content("dir/night") }

func (l *lab) compare(want map[string][]byte) {
	l.t.Helper()
	got := l.read()
	for name, content := range want {
		if !bytes.Equal(got[name], content) {
			l.t.Errorf("%s: %d bytes in the archive, which are not the %d that were stored", name, len(got[name]), len(content))
		}
		delete(got, name)
	}
	for name, content := range got {
		if len(content) > 0 {
			l.t.Errorf("%s: %d bytes that nobody stored", name, len(content))
		}
	}
}

func TestTheArchiveIsReadAsTheDirectoryThatWasStored(t *testing.T) {
	l := newLab(t, 1)
	for i, host := range []string{"web", "db", "a b+c%"} {
		l.document(host)
		for k, size := range []int{1, part - 1, part, part + 1, 2 * part, 5*part + 77} {
			l.append(host, fmt.Sprintf("kernel_%d_%d", i, k), size)
		}
		l.append(host, "packets/web.pcapng", 3*part)
	}
	a := l.archive("one")
	l.pass(a)
	// Full parts are closed at once, ends when their files have not grown for a minute.
	for name, content := range l.read() {
		if want := l.local()[name]; !strings.HasSuffix(name, "/metadata") && len(content) != len(want)/part*part {
			t.Errorf("%s has %d bytes of %d", name, len(content), len(want))
		}
	}
	l.now = l.now.Add(time.Minute)
	l.pass(a)
	l.compare(l.local())
	before := len(l.objects.Requests())
	l.pass(a)
	if n := len(l.objects.Requests()); n != before {
		t.Errorf("nothing was new, and there were %d requests", n-before)
	}
	// A file that goes on has its last part replaced, and nothing else.
	objects := len(l.objects.Objects("bucket"))
	l.append("web", "kernel_0_5", 100)
	l.pass(a)
	l.now = l.now.Add(time.Minute)
	l.pass(a)
	l.compare(l.local())
	if n := len(l.objects.Objects("bucket")); n != objects {
		t.Errorf("%d objects, of which %d are of use", n, objects)
	}
}

func TestAHostOfAnEarlierProcessIsArchivedWithoutItsAgent(t *testing.T) {
	l := newLab(t, 2)
	l.document("web")
	l.append("web", "kernel_0", 2*part+5)
	l.openStore()
	a := l.archive("one")
	l.pass(a)
	l.now = l.now.Add(time.Minute)
	l.pass(a)
	l.compare(l.local())
	if len(a.known) > 0 {
		t.Errorf("%v is still looked at", a.known)
	}
}

func TestASessionThatItsHostHasLeftIsArchivedToItsEnd(t *testing.T) {
	l := newLab(t, 12)
	l.document("web")
	l.append("web", "kernel_0", part+5)
	a := l.archive("one")
	l.pass(a)
	l.now = l.now.Add(time.Minute)
	l.pass(a)
	l.append("web", "kernel_0", 7)
	l.apply("web", wire.Chunk{Kind: wire.Cut, File: "kernel_0", Offset: part + 1})
	l.append("web", "kernel_0", 2)
	l.host("web").Stored() // its acks were sent
	if _, err := l.store.Host("morning", "web", l.traces["web"]); err != nil {
		t.Fatal(err)
	}
	if _, err := l.store.Sync(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l.pass(a)
		l.now = l.now.Add(time.Minute)
	}
	l.pass(a)
	want := l.local()
	l.compare(want)
}

func TestWhatTheDiskHasLostStaysInTheArchive(t *testing.T) {
	l := newLab(t, 3)
	l.document("web")
	l.append("web", "kernel_0", 3*part+5)
	l.append("web", "kernel_1", part)
	a := l.archive("one")
	l.pass(a)
	l.now = l.now.Add(time.Minute)
	l.pass(a)
	want := l.local()
	// A file is gone, another has lost its end, and the server starts anew.
	f, err := l.disk.Open("dir/night/web/kernel_0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(part + 9); err != nil {
		t.Fatal(err)
	}
	if err := l.disk.Remove("dir/night/web/kernel_1"); err != nil {
		t.Fatal(err)
	}
	l.openStore()
	l.pass(l.archive("one"))
	l.host("web") // opened, and nothing synced yet
	b := l.archive("one")
	l.pass(b)
	l.now = l.now.Add(time.Minute)
	l.pass(b)
	l.compare(want)
	// The agent sends it again, and then goes on.
	l.apply("web", wire.Chunk{Kind: wire.Data, File: "kernel_0", Offset: part + 9, Data: want["web/kernel_0"][part+9:]})
	l.append("web", "kernel_0", 2*part)
	l.pass(b)
	l.now = l.now.Add(time.Minute)
	l.pass(b)
	want["web/kernel_0"] = l.local()["web/kernel_0"]
	l.compare(want)
}

func TestBytesThatChangedAreArchivedAnew(t *testing.T) {
	for name, change := range map[string]func(*lab){
		"a recorder cut off half a packet": func(l *lab) {
			l.apply("web", wire.Chunk{Kind: wire.Cut, File: "kernel_0", Offset: part + 100})
			l.append("web", "kernel_0", 2*part)
		},
		"all of it": func(l *lab) {
			l.apply("web", wire.Chunk{Kind: wire.Cut, File: "kernel_0", Offset: 0})
			l.append("web", "kernel_0", part+1)
		},
		"a power cut left something else": func(l *lab) {
			l.openStore() // from now on its bytes are those of an earlier process
			l.host("web")
			if _, err := l.store.Sync(); err != nil {
				l.t.Fatal(err)
			}
			l.apply("web", wire.Chunk{Kind: wire.Data, File: "kernel_0", Offset: part + 5, Data: l.bytes(3000)})
		},
	} {
		for _, seen := range []bool{true, false} { // by the process that archived it, or by none
			t.Run(fmt.Sprintf("%s, seen %v", name, seen), func(t *testing.T) {
				l := newLab(t, 4)
				l.document("web")
				l.append("web", "kernel_0", 3*part+5)
				a := l.archive("one")
				l.pass(a)
				l.now = l.now.Add(time.Minute)
				l.pass(a)
				l.compare(l.local())
				change(l)
				if a.o.Store = l.store; !seen {
					_, _ = l.store.Content("night", "web") // a process that was killed has asked
					a = l.archive("one")
				}
				l.pass(a)
				l.now = l.now.Add(time.Minute)
				l.pass(a)
				l.compare(l.local())
			})
		}
	}
}

func TestAllServersOfASessionAreReadAsOne(t *testing.T) {
	l := newLab(t, 5)
	l.document("web")
	l.append("web", "kernel_0", 2*part)
	first := l.archive("one")
	l.pass(first)
	l.append("web", "kernel_0", 2*part+9)
	second := l.archive("two")
	l.pass(second)
	l.now = l.now.Add(time.Minute)
	l.pass(second)
	l.compare(l.local())
}

func TestASessionWithTwoTracesOfAHostIsRefused(t *testing.T) {
	l := newLab(t, 6)
	l.document("web")
	l.append("web", "kernel_0", 2*part)
	l.pass(l.archive("one"))
	l.disk = disktest.New(7)
	l.traces["web"] = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564"
	l.openStore()
	l.document("web")
	l.append("web", "kernel_0", part)
	if err := l.archive("one").Pass(t.Context()); err == nil || !strings.Contains(err.Error(), "has another trace of this host (2a6422d0-6cee-11e0-8c08-") {
		t.Errorf("%v", err)
	}
	l.pass(l.archive("two"))
	if _, err := fs.ReadDir(s3.NewFS(t.Context(), s3.FromEnvironment), "bucket/runs/night"); err == nil || !strings.Contains(err.Error(), "has two traces of host web") {
		t.Errorf("%v", err)
	}
}

func TestTwoServersOfOneNameLoseNothing(t *testing.T) {
	l := newLab(t, 8)
	l.document("web")
	l.append("web", "kernel_0", part)
	a, b := l.archive("one"), l.archive("one")
	l.pass(a)
	l.pass(b)
	l.append("web", "kernel_0", part)
	l.pass(a)
	l.append("web", "kernel_0", part)
	if err := b.Pass(t.Context()); err == nil || !strings.Contains(err.Error(), "give it another by --name") {
		t.Errorf("%v", err)
	}
	l.pass(b)
	l.compare(l.local())
}

// TestAnArchiveThatIsKilledAtAnyRequestGoesOn has files grow, be cut and be replaced while the object store refuses requests or loses its
// answers, and the server is killed or loses power. In the end the archive has what the store has.
func TestAnArchiveThatIsKilledAtAnyRequestGoesOn(t *testing.T) {
	seeds := 6
	if testing.Short() {
		seeds = 3
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testKills(t, 100+seed) })
	}
}

func testKills(t *testing.T, seed uint64) {
	l := newLab(t, seed)
	hosts, names := []string{"web", "db"}, []string{"kernel_0", "kernel_1", "packets/web.pcapng"}
	a := l.archive("one")
	for range 30 {
		host, name := hosts[l.r.IntN(2)], names[l.r.IntN(3)]
		switch l.r.IntN(8) {
		case 0:
			l.document(host)
		case 1:
			if size := len(l.local()[host+"/"+name]); size > 0 {
				l.apply(host, wire.Chunk{Kind: wire.Cut, File: name, Offset: int64(size - 1 - l.r.IntN(min(size, part)))})
			}
		case 2:
			l.now = l.now.Add(time.Minute)
		default:
			l.append(host, name, 1+l.r.IntN(2*part))
		}
		ctx, kill := context.WithCancel(t.Context())
		left, how := new(atomic.Int64), l.r.IntN(4)
		left.Store(int64(l.r.IntN(6)))
		l.objects.Inject(func(w http.ResponseWriter, _ *http.Request) bool {
			if left.Add(-1) >= 0 {
				return false
			}
			switch how {
			case 0: // killed before the store has it
				kill()
				panic(http.ErrAbortHandler)
			case 1: // killed behind it
				kill()
			case 2:
				s3test.Refuse(w, http.StatusBadRequest, "InvalidRequest")
				return true
			}
			return false
		})
		err := a.Pass(ctx)
		// The last request of a process that was killed may come to the store after its successor has read the index.
		if err != nil && how != 2 && ctx.Err() == nil && !errors.Is(err, s3.ErrChanged) {
			t.Fatal(err)
		}
		if kill(); err != nil && how < 2 {
			if l.r.IntN(2) == 0 {
				l.openStore()
			}
			a = l.archive("one")
		}
	}
	l.objects.Inject(nil)
	for _, host := range hosts {
		l.document(host)
		l.append(host, names[0], 1)
	}
	if err := a.Pass(t.Context()); err != nil && !errors.Is(err, s3.ErrChanged) {
		t.Fatal(err)
	}
	l.pass(a)
	l.now = l.now.Add(time.Minute)
	l.pass(a)
	l.compare(l.local())
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

func TestAnAnswerThatIsLostIsNoLoss(t *testing.T) {
	l := newLab(t, 9)
	l.document("web")
	l.append("web", "kernel_0", part)
	var requests atomic.Int64
	l.objects.Inject(func(_ http.ResponseWriter, r *http.Request) bool {
		if requests.Add(1) == 3 {
			l.objects.Inject(nil)
			l.objects.ServeHTTP(discard{http.Header{}}, r)
			panic(http.ErrAbortHandler)
		}
		return false
	})
	a := l.archive("one")
	for range 3 { // the index may be read again
		_ = a.Pass(t.Context())
	}
	l.pass(a)
	l.compare(l.local())
}

// discard is an answer that nobody gets.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func TestADamagedPartIsNotReadAsGood(t *testing.T) {
	l := newLab(t, 10)
	l.document("web")
	l.append("web", "kernel_0", part)
	l.pass(l.archive("one"))
	for key, data := range l.objects.Objects("bucket") {
		if strings.Contains(key, "/kernel_0/") {
			l.objects.Damage("bucket", key, len(data)/2)
		}
	}
	_, err := fs.ReadFile(s3.NewFS(t.Context(), s3.FromEnvironment), "bucket/runs/night/web/kernel_0")
	if err == nil || !strings.Contains(err.Error(), "the content is not what its checksum says") {
		t.Errorf("%v", err)
	}
}

func TestAnArchiveRunsUntilItIsStoppedAndGoesOnAfterAnOutage(t *testing.T) {
	l := newLab(t, 11)
	l.document("web")
	l.append("web", "kernel_0", part)
	l.objects.Inject(func(w http.ResponseWriter, _ *http.Request) bool {
		s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	a := l.archive("one")
	logged := make(chan string, 10)
	a.o.Every, a.o.Log = time.Millisecond, func(format string, args ...any) { logged <- fmt.Sprintf(format, args...) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- a.Run(ctx) }()
	if line := <-logged; !strings.Contains(line, "AccessDenied") || !strings.Contains(line, "tried again") {
		t.Errorf("%s", line)
	}
	l.objects.Inject(nil)
	if line := <-logged; line != "archive: it goes on" {
		t.Errorf("%s", line)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	l.compare(l.local())
}
