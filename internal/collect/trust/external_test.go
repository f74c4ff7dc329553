package trust_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
)

// The command nats-server reads its file by the same function, and runs the same server.
func TestAnOrdinaryServerTakesTheConfiguration(t *testing.T) {
	m := initialise(t)
	web, db := m.invite("web.example.org"), m.invite("db")
	config := filepath.Join(m.dir, "meridian.conf")
	write := func() {
		t.Helper()
		var b bytes.Buffer
		certificate, key := m.Certificate()
		if err := broker.WriteConfiguration(&b, m.users(), certificate, key); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	main := filepath.Join(m.dir, "nats.conf")
	if err := os.WriteFile(main, []byte("listen: 127.0.0.1:-1\ninclude meridian.conf\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(main)
	if err != nil {
		t.Fatal(err)
	}
	if !o.NoFastProducerStall || o.MaxPayload < wire.MaxRange {
		t.Errorf("max_payload %d, no_fast_producer_stall %v", o.MaxPayload, o.NoFastProducerStall)
	}
	o.NoSigs, o.NoLog, o.TLSTimeout, o.AuthTimeout = true, true, 60, 61
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not listen")
	}
	at := fmt.Sprintf("tls://127.0.0.1:%d", s.Addr().(*net.TCPAddr).Port)
	trusted, err := connect(t, at, m.read(m.ServerKey()))
	if err != nil {
		t.Fatal(err)
	}
	all, err := trusted.SubscribeSync("meridian.v1.>")
	if err == nil {
		err = trusted.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 8)
	host, err := connect(t, at, web, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	own := wire.OfHost("web.example.org", "data")
	if err := errors.Join(host.Publish(wire.OfHost("db", "data"), nil), host.Publish(own, nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := all.NextMsg(time.Minute); err != nil || got.Subject != own {
		t.Errorf("%+v, %v", got, err)
	}
	if err := <-refused; !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("%v", err)
	}
	commands, err := host.SubscribeSync(wire.OfHost("web.example.org", "command"))
	if err == nil {
		err = host.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := trusted.Request(wire.OfHost("web.example.org", "command"), nil, time.Minute)
		answer <- err
	}()
	m1, err := commands.NextMsg(time.Minute)
	if err == nil {
		err = m1.Respond(nil)
	}
	if err = errors.Join(err, <-answer); err != nil {
		t.Errorf("an answer to a command: %v", err)
	}
	if _, err := nats.Connect(at); err == nil {
		t.Error("a client without a key connects")
	}
	if err := m.Revoke("db", time.Now()); err != nil {
		t.Fatal(err)
	}
	write()
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, at, db); !trust.Refused(err) {
		t.Errorf("a revoked host: %v", err)
	}
	if err := host.Flush(); err != nil {
		t.Error(err)
	}
}
