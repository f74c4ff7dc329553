package trust_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
)

func TestWhoIsRevokedIsDisconnectedAndOthersStay(t *testing.T) {
	m := initialise(t)
	web, db := m.invite("web"), m.invite("db")
	b := m.start()
	lost := make(chan error, 8)
	if _, err := dial(t, b, web, nats.MaxReconnects(0), nats.ClosedHandler(func(c *nats.Conn) { lost <- c.LastError() })); err != nil {
		t.Fatal(err)
	}
	good, err := dial(t, b, db, nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { t.Errorf("the other host is disconnected: %v", err) }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, changes := make(chan error, 1), make(chan int, 8)
	before := m.users()
	go func() {
		ended <- m.Follow(ctx, before, func(now []wire.User) error {
			err := b.SetUsers(now)
			changes <- len(now)
			return err
		}, func(err error) { t.Error(err) })
	}()
	if err := m.Revoke("web", time.Now()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lost:
	case <-time.After(60 * time.Second):
		t.Fatal("a revoked host stays connected")
	}
	if n := <-changes; n != 3 {
		t.Errorf("%d users after one of four was revoked", n)
	}
	if _, err := dial(t, b, web); !trust.Refused(err) {
		t.Errorf("a revoked host connects: %v", err)
	}
	late := m.invite("late")
	for n := range changes {
		if n == 4 {
			break
		}
	}
	if _, err := dial(t, b, late); err != nil {
		t.Errorf("a host that was invited meanwhile: %v", err)
	}
	if err := good.Flush(); err != nil {
		t.Error(err)
	}
	good.Opts.DisconnectedErrCB = nil
	good.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if m.Revoke("web", time.Now()) == nil {
		t.Error("a host is revoked twice")
	}
}

func TestAListThatCannotBeReadChangesNothing(t *testing.T) {
	m := initialise(t)
	m.invite("web")
	before := m.users()
	ctx, cancel := context.WithCancel(t.Context())
	ended, failed := make(chan error, 1), make(chan error, 8)
	go func() {
		ended <- m.Follow(ctx, before, func(now []wire.User) error {
			t.Errorf("the users are %v", now)
			return nil
		}, func(err error) { failed <- err })
	}()
	path := filepath.Join(m.Dir(), "users.json")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"{", `{"version":2}`, `{"version":1,"users":[{"role":"root","name":"web","key":"U"}]}`} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case <-failed:
		case <-time.After(60 * time.Second):
			t.Fatalf("%s is read", bad)
		}
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
