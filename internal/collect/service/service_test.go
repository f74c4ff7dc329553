package service_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"meridian/internal/collect/service"
	"meridian/internal/collect/wire"
)

// restricted is a broker with a user for each role, who may do what the table says.
func restricted(t *testing.T) func(role wire.Role) *nats.Conn {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, AuthTimeout: 60}
	for _, role := range wire.Roles() {
		p, err := wire.PermissionsOf(role, "web")
		if err != nil {
			t.Fatal(err)
		}
		permissions := &server.Permissions{Publish: &server.SubjectPermission{Allow: p.Publish}, Subscribe: &server.SubjectPermission{Allow: p.Subscribe}}
		if p.Answers {
			permissions.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
		}
		o.Users = append(o.Users, &server.User{Username: string(role), Password: "x", Permissions: permissions})
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the broker does not listen")
	}
	return func(role wire.Role) *nats.Conn {
		t.Helper()
		c, err := nats.Connect(s.ClientURL(), nats.Timeout(time.Minute), nats.UserInfo(string(role), "x"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { t.Errorf("%s: %v", role, err) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
}

// all asks and returns the answers that come until enough have.
func all[T any](t *testing.T, c *nats.Conn, subject string, enough int) (out []T) {
	t.Helper()
	inbox, err := c.SubscribeSync(c.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.PublishRequest(subject, inbox.Subject, nil); err != nil {
		t.Fatal(err)
	}
	for len(out) < enough {
		m, err := inbox.NextMsg(time.Minute)
		if err != nil {
			t.Fatalf("%s: %d answers: %v", subject, len(out), err)
		}
		var x T
		if err := json.Unmarshal(m.Data, &x); err != nil {
			t.Fatalf("%s: %v", m.Data, err)
		}
		out = append(out, x)
	}
	return out
}

func TestClientsOfMicroServicesFindUsWithinThePermissionsOfEachRole(t *testing.T) {
	connect := restricted(t)
	fails := true
	for role, o := range map[wire.Role]service.Options{
		wire.ServerRole: {Name: service.Server, Endpoints: []service.Endpoint{{Name: "start", Subject: wire.ControlStart, Queue: wire.ControlQueue, Check: wire.CheckReply, Handle: func([]byte) (any, string) { return 1, "" }}}},
		wire.HostRole: {Name: service.Agent, Endpoints: []service.Endpoint{{Name: "command", Subject: wire.OfHost("web", "command"), Stats: func() any { return "recording" }, Handle: func(b []byte) (any, string) {
			if fails = !fails; fails {
				return nil, "second"
			}
			return string(b), ""
		}}}},
	} {
		o.Log = t.Logf
		c := connect(role)
		stop, err := service.Start(c, o)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		if err := c.Flush(); err != nil { // the broker knows of it
			t.Fatal(err)
		}
	}
	operator, other := connect(wire.OperatorRole), connect(wire.ServerRole)
	var names []string
	for _, x := range all[micro.Ping](t, operator, "$SRV.PING", 2) {
		names = append(names, x.Name+" "+x.Version)
	}
	slices.Sort(names)
	version := fmt.Sprintf(" %d.0.0", wire.Version)
	if !slices.Equal(names, []string{service.Agent + version, service.Server + version}) {
		t.Errorf("%q", names)
	}
	if info := all[micro.Info](t, operator, "$SRV.INFO."+service.Server, 1)[0]; len(info.Endpoints) != 1 || info.Endpoints[0].Subject != wire.ControlStart || info.Endpoints[0].QueueGroup != wire.ControlQueue {
		t.Errorf("%+v", info)
	}
	for _, want := range []string{"", "second"} {
		m, err := other.Request(wire.OfHost("web", "command"), []byte("x"), time.Minute)
		if err != nil || m.Header.Get(micro.ErrorHeader) != want {
			t.Errorf("%v: %+v", err, m)
		}
	}
	stats := all[micro.Stats](t, operator, "$SRV.STATS."+service.Agent, 1)[0]
	if e := stats.Endpoints; len(e) != 1 || e[0].NumRequests != 2 || e[0].NumErrors != 1 || !strings.Contains(e[0].LastError, "second") || string(e[0].Data) != `"recording"` {
		t.Errorf("%+v", stats)
	}
}

func TestAServiceEndsWhenItsRequestsAreAnswered(t *testing.T) {
	connect := restricted(t)
	begun, finish, c := make(chan struct{}), make(chan struct{}), connect(wire.ServerRole)
	var mu sync.Mutex
	answered := false
	stop, err := service.Start(c, service.Options{Name: service.Server, Log: t.Logf, Endpoints: []service.Endpoint{{Name: "start", Subject: wire.ControlStart, Handle: func([]byte) (any, string) {
		close(begun)
		<-finish
		mu.Lock()
		answered = true
		mu.Unlock()
		return 1, ""
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := connect(wire.OperatorRole).PublishRequest(wire.ControlStart, "_INBOX.x", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case <-time.After(60 * time.Second):
		t.Fatal("no request came")
	}
	time.AfterFunc(50*time.Millisecond, func() { close(finish) })
	stop()
	mu.Lock()
	defer mu.Unlock()
	if !answered {
		t.Error("it ended before")
	}
}
