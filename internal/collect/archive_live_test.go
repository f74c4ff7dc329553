package collect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"meridian/internal/collect"
	"meridian/internal/collect/archive"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/s3"
	"meridian/internal/s3/s3test"
)

// Three agents send as fast as they can while the server archives, and the object store fails a tenth of the requests: afterwards it has all, once.
func TestAnArchiveKeepsUpWithAgentsThatSend(t *testing.T) {
	objects := s3test.New(t, "bucket")
	objects.Setenv(t)
	var requests atomic.Uint64
	objects.Inject(func(w http.ResponseWriter, _ *http.Request) bool {
		failed := requests.Add(1)%10 == 0
		if failed {
			s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		}
		return failed
	})
	client, err := s3.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	l, stored := newLab(t), t.TempDir()
	s, err := store.New(stored, store.OS{}, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := collect.NewServer(collect.ServerOptions{Conn: wire.Over(l.connect()), Name: "a", Store: s, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	archived := archive.New(archive.Options{Store: s, Client: client, Bucket: "bucket", Prefix: "runs", Server: "a", Age: 200 * time.Millisecond, Every: 10 * time.Millisecond, Part: 256 << 10, Log: t.Logf})
	ctx, cancel := context.WithCancel(t.Context())
	var serving errgroup.Group
	serving.Go(func() error { return server.Run(ctx) })
	serving.Go(func() error { return archived.Run(ctx) })

	hosts := []string{"web", "db", "app"}
	var sending errgroup.Group
	for i, host := range hosts {
		w := newTrace(t, filepath.Join(t.TempDir(), host), uint64(i))
		c, ended := l.connectAs(host), make(chan struct{})
		sending.Go(func() error {
			o, err := ship.New(ship.Options{Conn: wire.Over(c), Host: host, Session: "night", Dir: w.dir, Ended: ended, Log: t.Logf})
			if err != nil {
				return err
			}
			sum, err := o.Run(t.Context())
			if err == nil && (sum.Lost != 0 || sum.Acknowledged != sum.Recorded) {
				err = fmt.Errorf("%s: %+v", host, sum)
			}
			return err
		})
		sending.Go(func() error {
			defer close(ended)
			r := rand.New(rand.NewPCG(uint64(i), 5))
			for n := range 60 {
				w.write(fmt.Sprintf("kernel_1_%d", n%3), w.packet(64+8*r.IntN(12_000)))
				w.metadata(n)
				time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
			}
			return nil
		})
	}
	if err := sending.Wait(); err != nil {
		t.Fatal(err)
	}
	read := func() (got map[string][]byte) {
		got = make(map[string][]byte)
		f := s3.NewFS(t.Context(), s3.FromEnvironment)
		err := fs.WalkDir(f, "bucket/runs/night", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				got[strings.TrimPrefix(name, "bucket/runs/night/")], err = fs.ReadFile(f, name)
			}
			return err
		})
		if err != nil && !strings.Contains(err.Error(), "replaced") && !errors.Is(err, fs.ErrNotExist) { // it was put anew meanwhile
			t.Log(err)
		}
		return got
	}
	want := files(t, filepath.Join(stored, "night"))
	differs := func() (name string) {
		got := read()
		for name, b := range want {
			if !bytes.Equal(got[filepath.ToSlash(name)], b) {
				return name
			}
		}
		return ""
	}
	parts := 0
	for name := range want {
		size := len(want[name])
		parts += max((size+256<<10-1)/(256<<10), 1)
	}
	// Parts that were replaced go after the index has changed.
	for until := time.Now().Add(time.Minute); differs() != "" || len(objects.Objects("bucket")) != parts+1; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%q is not archived as it is; %d objects, want %d parts and an index: nothing twice", differs(), len(objects.Objects("bucket")), parts)
		}
	}
	cancel()
	if err := serving.Wait(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
