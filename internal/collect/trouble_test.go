package collect_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"meridian/internal/collect"
	"meridian/internal/collect/disktest"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// An agent says which server does not store its host, since when and what mends it, as long as that lasts.
func TestAnAgentSaysWhyAServerDoesNotStoreIt(t *testing.T) {
	t.Parallel()
	full := disktest.New(1)
	for _, c := range []struct {
		what    string
		disk    store.Disk
		limits  store.Limits
		before  func()
		problem string
	}{
		{"--max-bytes", store.OS{}, store.Limits{Bytes: 100_000}, nil, "100000 bytes in a session: raise --max-bytes of the server"},
		{"--max-files", store.OS{}, store.Limits{Files: 2}, nil, "2 files in a session: raise --max-files of the server"},
		{"--max-files-of-host", store.OS{}, store.Limits{AllFiles: 2}, nil, "2 files in all sessions: raise --max-files-of-host of the server"},
		{"--max-hosts", store.OS{}, store.Limits{Hosts: 1}, nil, "1 hosts: raise --max-hosts of the server"},
		{"a full disk", full, store.Limits{}, func() { full.Fill(true) }, "make room on the disk of "},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			l, stored := newLab(t), t.TempDir()
			s, err := store.New(stored, c.disk, c.limits)
			if err != nil {
				t.Fatal(err)
			}
			if c.limits.Hosts > 0 {
				if _, err := s.Host("s", "other", uuid); err != nil {
					t.Fatal(err)
				}
			}
			server, err := collect.NewServer(collect.ServerOptions{Conn: wire.Over(l.connect()), Name: "a", Store: s, Log: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var serving errgroup.Group
			serving.Go(func() error { return server.Run(ctx) })
			defer func() {
				cancel()
				if err := errors.Join(serving.Wait()); err != nil {
					t.Error(err)
				}
				_ = s.Close() // a disk that is full fails here too
			}()
			w := newTrace(t, filepath.Join(t.TempDir(), "trace"), 1)
			if c.before != nil {
				c.before()
			}
			for i := range 4 {
				w.write([]string{"a_1_0", "b_1_0", "c_1_0", "d_1_0"}[i], w.packet(64<<10))
			}
			operator := l.connect()
			states, err := operator.SubscribeSync(wire.AllAgentsAlive)
			if err != nil {
				t.Fatal(err)
			}
			x, err := ship.New(ship.Options{Conn: wire.Over(l.connectAs("web")), Host: "web", Session: "s", Dir: w.dir, Log: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			stop := runs(t, x)
			defer stop()
			for until := time.Now().Add(time.Minute); ; {
				m, err := states.NextMsg(time.Until(until))
				if err != nil {
					t.Fatal(err)
				}
				status, err := wire.ReadAgentStatus(m.Subject, m.Data)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(status.Error, "server a, since 20") && strings.Contains(status.Error, c.problem) {
					break
				} else if status.Error != "" {
					t.Errorf("%q, want %q", status.Error, c.problem)
				}
			}
		})
	}
}
