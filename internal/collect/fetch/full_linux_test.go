package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/micro"

	"meridian/internal/collect/fetch"
	"meridian/internal/collect/wire"
	"meridian/internal/filetest"
)

// A trace that finds no room is not there under its name, however little is missing; with room it is the server's.
func TestATraceThatFindsNoRoomIsNotThere(t *testing.T) {
	l := newLab(t)
	host := filepath.Join(l.dir, "day", "web")
	files := map[string][]byte{"kernel_1_0": bytes.Repeat([]byte("k"), 9000), "packets/web.pcapng": bytes.Repeat([]byte("p"), 5000), "metadata": []byte("/* CTF 1.8 */"), ".trace": []byte("uuid-2\n")}
	for name, content := range files {
		path := filepath.Join(host, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := l.ask.Request(wire.ControlFiles, wire.Encode(wire.Files{Version: wire.Version, Session: "day", Host: "web"}), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	list, err := wire.Decode[wire.FileList](m.Data)
	if err != nil || list.Error != "" {
		t.Fatal(err, list.Error)
	}
	filetest.Filling(t, func(dir string) bool {
		run := func() error {
			h := fetch.Host{Conn: l.ask, Session: "day", Name: "web", Out: dir, Log: t.Logf, Told: func(_, _ int64) {}, Lists: []wire.FileList{list}}
			_, err := h.Run(context.Background())
			return err
		}
		if err := run(); err != nil {
			if _, here := os.Stat(filepath.Join(dir, "web")); !errors.Is(here, os.ErrNotExist) {
				t.Errorf("%v, and a trace is there", err)
			}
			if err := run(); err == nil { // an attempt is gone on with
				t.Error("there was room the second time")
			}
			return false
		}
		for name, want := range files {
			if got, err := os.ReadFile(filepath.Join(dir, "web", filepath.FromSlash(name))); name != ".trace" && (err != nil || !bytes.Equal(got, want)) {
				t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
			}
		}
		return true
	})
}

// A server whose directory is not readable as it should be says so to those who ask, and gives nothing.
func TestAServerSaysWhatItCannotRead(t *testing.T) {
	l := newLab(t)
	ask := func(session string) (list wire.FileList) {
		m, err := l.ask.Request(wire.ControlFiles, wire.Encode(wire.Files{Version: wire.Version, Session: session, Host: "web"}), time.Minute)
		if err == nil {
			list, err = wire.Decode[wire.FileList](m.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(l.dir, "dir", "web", ".trace"), 0o700), os.MkdirAll(filepath.Join(l.dir, "none", "web"), 0o700),
		os.WriteFile(filepath.Join(l.dir, "none", "web", wire.Metadata), make([]byte, wire.MaxRange+1), 0o600)); err != nil {
		t.Fatal(err)
	}
	if list := ask("none"); list.Error != "" || list.Trace != "" || len(list.Files) > 0 {
		t.Errorf("a host without a trace: %+v", list)
	}
	for _, session := range []string{"dir", "../x"} {
		if list := ask(session); list.Error == "" || len(list.Files) > 0 {
			t.Errorf("session %s: %+v", session, list)
		}
	}
	for name, r := range map[string]wire.Read{
		"a session that is away":  {Session: "gone", Host: "web", File: "metadata", Length: 1},
		"a file that is away":     {Session: "night", Host: "web", File: "kernel_9_0", Length: 1},
		"a directory":             {Session: "dir", Host: "web", File: "packets", Length: 1},
		"a negative length":       {Session: "night", Host: "web", File: "kernel_1_0", Length: -1},
		"more metadata than fits": {Session: "none", Host: "web", File: wire.Metadata, Length: 1},
	} {
		r.Version = wire.Version
		if m, err := l.ask.Request(wire.ReadFrom("s"), wire.Encode(r), time.Minute); err != nil || m.Header.Get(micro.ErrorHeader) == "" {
			t.Errorf("%s: %v, %.100q", name, err, m.Data)
		}
	}
}
