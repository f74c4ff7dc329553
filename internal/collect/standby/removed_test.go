package standby_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/standby"
	"meridian/internal/collect/wire"
	"meridian/internal/filetest"
)

// With RemoveSent a host keeps nothing that servers have, but that the session was there: the same command later must not record it anew.
func TestWhatIsSentIsRemovedAndNotRecordedAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve()
	a, err := standby.New(standby.Options{Conn: l.connect(nats.CustomInboxPrefix(wire.OfHost("web", "inbox"))), Host: "web", Dir: l.dir, Record: l.record, RemoveSent: true, Drain: time.Minute, Log: t.Logf,
		Check: func([]string) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	l.running(a.Run)
	l.expect(l.command(wire.Start, "night"), wire.StateRecording, "")
	l.command(wire.Stop, "night")
	dir := filepath.Join(l.dir, "night")
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		names := filetest.Names(t, dir)
		if len(names) == 1 && strings.HasPrefix(names[0], ".") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%q are there still", names)
		}
	}
	if _, err := os.Stat(filepath.Join(l.stored, "night", "web", "kernel_1_0")); err != nil {
		t.Errorf("it was removed and is not stored: %v", err)
	}
	if s := l.command(wire.Start, "night"); s.State == wire.StateRecording {
		t.Errorf("%+v", s)
	}
	if n := l.recordings(); n != 1 {
		t.Errorf("recorded %d times", n)
	}
}

// An agent whose directory it cannot understand does not begin: it might record over what is there.
func TestAnAgentDoesNotBeginInADirectoryThatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	options := func(dir, host string) standby.Options { return standby.Options{Host: host, Dir: dir} }
	dir := t.TempDir()
	if _, err := standby.New(options(dir, "a/b")); err == nil {
		t.Error("a host of two names")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{file, filepath.Join(file, "below")} {
		if _, err := standby.New(options(where, "web")); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", where, err)
		}
	}
	order := filepath.Join(dir, "agent", "night", ".command")
	if err := os.MkdirAll(filepath.Dir(order), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{", `{"session":"day"}`} {
		if err := os.WriteFile(order, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := standby.New(options(filepath.Join(dir, "agent"), "web")); err == nil || !strings.Contains(err.Error(), order) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := errors.Join(os.Remove(order), os.Mkdir(order, 0o700)); err != nil {
		t.Fatal(err)
	}
	var of *fs.PathError
	if _, err := standby.New(options(filepath.Join(dir, "agent"), "web")); !errors.As(err, &of) {
		t.Errorf("a directory in its place: %v", err)
	}
	if err := os.Remove(order); err != nil {
		t.Fatal(err)
	}
	if _, err := standby.New(options(filepath.Join(dir, "agent"), "web")); err != nil {
		t.Errorf("without the file: %v", err)
	}
}

// A command that cannot be noted is not begun: the next process would not know of it.
func TestACommandThatCannotBeNotedIsNotBegun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve()
	l.agent(time.Minute)
	l.expect(l.command(wire.Start, "first"), wire.StateRecording, "")
	if err := os.MkdirAll(filepath.Join(l.dir, "second", ".command.new"), 0o700); err != nil { // where it is written first
		t.Fatal(err)
	}
	l.command(wire.Stop, "first")
	s := l.command(wire.Start, "second")
	for end := time.Now().Add(time.Minute); s.State == wire.StateBusy && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		s = l.command(wire.Start, "second")
	}
	if s.State != wire.StateFailed && s.State != wire.StateRefused || s.Error == "" {
		t.Errorf("%+v", s)
	}
	if n := l.recordings(); n != 1 {
		t.Errorf("recorded %d times", n)
	}
}

func TestAnAgentWhoseConnectionIsClosedEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.connect()
	c.Close()
	a, err := standby.New(standby.Options{Conn: c, Host: "web", Dir: l.dir, Record: l.record, Check: func([]string) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Error(err)
	}
}
