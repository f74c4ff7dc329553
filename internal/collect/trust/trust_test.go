package trust_test

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
)

// made is a server's directory with keys.
type made struct {
	*testing.T
	dir string
	*trust.Trust
}

func initialise(t *testing.T, names ...string) *made {
	t.Helper()
	m := &made{T: t, dir: t.TempDir()}
	if names == nil {
		names = []string{"127.0.0.1"}
	}
	var err error
	if m.Trust, err = trust.Init(m.dir, trust.Options{Names: names, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *made) invite(host string) *trust.Key {
	m.Helper()
	file := filepath.Join(m.dir, host+".invitation")
	if err := m.Invite(host, nil, trust.NewFile(file)); err != nil {
		m.Fatal(err)
	}
	return m.read(file)
}

func (m *made) read(file string) *trust.Key {
	m.Helper()
	key, exposed, err := trust.ReadKey(file)
	if err = errors.Join(err, exposed); err != nil {
		m.Fatal(err)
	}
	return key
}

func (m *made) users() []wire.User {
	m.Helper()
	users, err := m.Users()
	if err != nil {
		m.Fatal(err)
	}
	return users
}

// start starts a broker with the keys.
func (m *made) start() *broker.Broker {
	m.Helper()
	config, err := m.TLS()
	if err != nil {
		m.Fatal(err)
	}
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test", Users: m.users(), TLS: config})
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(b.Close)
	return b
}

// dial connects to a broker. On a busy machine one that takes long to answer is asked again: its word counts alone.
func dial(t *testing.T, b *broker.Broker, k *trust.Key, more ...nats.Option) (c *nats.Conn, err error) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; {
		if c, err = connect(t, b.URL(), k, more...); err == nil || trust.Refused(err) || time.Now().After(late) {
			return c, err
		}
	}
}

func connect(t *testing.T, url string, k *trust.Key, more ...nats.Option) (*nats.Conn, error) {
	t.Helper()
	options, err := k.Options()
	if err != nil {
		t.Fatal(err)
	}
	c, err := nats.Connect(url, append(append(options, nats.Timeout(time.Minute)), more...)...)
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

func TestKeysAreForTheirOwnerAloneAndNeverReplaced(t *testing.T) {
	m := initialise(t)
	m.invite("web")
	files := 0
	err := filepath.WalkDir(m.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == m.dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if files++; info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || files != 9 { // the directory, its seven files, the invitation
		t.Errorf("%d files: %v", files, err)
	}
	before := m.users()
	if _, err := trust.Init(m.dir, trust.Options{Names: []string{"other"}, Now: time.Now()}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("keys were made twice: %v", err)
	}
	if err := m.Invite("db", nil, trust.NewFile(filepath.Join(m.dir, "web.invitation"))); err == nil {
		t.Error("an invitation was replaced")
	}
	if err := m.Invite("web", nil, trust.NewFile(filepath.Join(m.dir, "second"))); err == nil {
		t.Error("a host has two invitations")
	}
	if now := m.users(); len(now) != len(before) {
		t.Errorf("users are %v after invitations that failed", now)
	}
}

func TestKeysThatCannotBeMadeLeaveNothing(t *testing.T) {
	for _, names := range [][]string{nil, {""}, {"a b"}, {"host:4222"}, {"a/b"}, {"tls://a"}, {strings.Repeat("x", 300)}} {
		dir := t.TempDir()
		if _, err := trust.Init(dir, trust.Options{Names: names, Now: time.Now()}); err == nil {
			t.Errorf("a certificate for %q", names)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("%v, %v is left", entries, err)
		}
	}
	m := initialise(t)
	if err := m.Invite("web", nil, func([]byte) (func() error, error) { return nil, errors.New("the disk is full") }); err == nil || len(m.users()) != 2 {
		t.Errorf("%v: the broker accepts an invitation that nobody has", err)
	}
	for _, host := range []string{"", "..", "a/b", ".x"} {
		if err := m.Invite(host, nil, trust.NewFile(filepath.Join(m.dir, "file"))); err == nil {
			t.Errorf("host %q has an invitation", host)
		}
	}
	for _, server := range []string{"", "collector", "http://collector", "tls://", "tls://user:password@collector"} {
		if err := m.Invite("web", []string{server}, trust.NewFile(filepath.Join(m.dir, "file"))); err == nil {
			t.Errorf("an invitation to %q", server)
		}
	}
	if _, err := os.Lstat(filepath.Join(m.dir, "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestABrokerAcceptsTheKeysOfItsUsersAlone(t *testing.T) {
	m, other := initialise(t), initialise(t)
	invited, stranger := m.invite("web"), other.invite("web")
	b := m.start()
	for _, k := range []*trust.Key{invited, m.read(m.ServerKey()), m.read(m.OperatorKey())} {
		if _, err := dial(t, b, k); err != nil {
			t.Errorf("%s %s: %v", k.Role, k.Name, err)
		}
	}
	if _, err := dial(t, b, stranger); !trust.Refused(err) {
		t.Errorf("an invitation of another server: %v", err)
	}
	stranger.Authority = invited.Authority // he knows the broker, and the broker does not know him
	if _, err := dial(t, b, stranger); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("another key: %v", err)
	}
	patient, insecure := nats.Timeout(time.Minute), nats.Secure(&tls.Config{InsecureSkipVerify: true})
	if _, err := nats.Connect(b.URL(), patient, insecure); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("no key: %v", err)
	}
	if _, err := nats.Connect(b.URL(), patient, insecure, nats.UserInfo("web", "")); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a name without a key: %v", err)
	}
	public := m.users()[2].Key
	sign := func([]byte) ([]byte, error) { return make([]byte, 64), nil }
	if _, err := nats.Connect(b.URL(), patient, insecure, nats.Nkey(public, sign)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a public key and a forged signature: %v", err)
	}
	old := nats.Secure(&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	if _, err := connect(t, b.URL(), invited, old); err == nil {
		t.Error("the broker speaks TLS 1.2")
	}
}

// A broker that somebody else runs must not get so much as a signature: it could use it for a connection of its own.
func TestNothingIsSentToABrokerWithoutACertificateOfTheAuthority(t *testing.T) {
	m, other := initialise(t), initialise(t)
	key := m.invite("web")
	plain, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "plain"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	for name, b := range map[string]*broker.Broker{"without TLS": plain, "of another authority": other.start()} {
		if _, err := dial(t, b, key); !trust.Refused(err) || errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("a broker %s: %v", name, err)
		}
	}
}

func TestAHostSpeaksForItselfAloneThroughTheBroker(t *testing.T) {
	m := initialise(t)
	web := m.invite("web")
	m.invite("db")
	b := m.start()
	server, err := dial(t, b, m.read(m.ServerKey()))
	if err != nil {
		t.Fatal(err)
	}
	all, err := server.SubscribeSync("meridian.v1.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Flush(); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 64)
	c, err := dial(t, b, web, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	forged := []string{wire.OfHost("db", "data"), wire.OfHost("db", "alive"), wire.OfHostServer("db", "open", "s"), wire.OfHost("web", "ack"), wire.OfHost("db", "inbox") + ".1",
		wire.ServerAlive("s"), "meridian.v1.control.start", wire.OfSession("s", wire.EventsJSON)}
	for _, subject := range forged {
		if err := c.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	own := wire.OfHost("web", "alive")
	if err := c.Publish(own, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := all.NextMsg(time.Minute); err != nil || got.Subject != own {
		t.Errorf("%+v, %v came through", got, err)
	}
	for _, subject := range []string{wire.OfHost("db", "ack"), wire.OfHost("db", "data"), wire.OfHost("web", "data"), wire.AllAgentsAlive, "_INBOX.>", "meridian.>", ">"} {
		if _, err := c.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		forged = append(forged, subject)
	}
	for _, subject := range forged {
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", subject, err)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("%s and what follows it is not refused", subject)
		}
	}
}

func TestNewCertificatesKeepInvitations(t *testing.T) {
	m := initialise(t, "elsewhere")
	key := m.invite("web")
	if err := m.Renew(trust.Options{Names: []string{"127.0.0.1", "collector"}, Port: 4333, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, m.start(), key); err != nil {
		t.Errorf("an invitation of before: %v", err)
	}
	if urls := m.invite("db").URLs(); urls != "tls://127.0.0.1:4333,tls://collector:4333" {
		t.Errorf("a new invitation is to %s", urls)
	}
	if err := m.Renew(trust.Options{Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if urls := m.invite("mail").URLs(); urls != "tls://127.0.0.1:4333,tls://collector:4333" {
		t.Errorf("names that were not given anew are %s", urls)
	}
	long := initialise(t)
	if err := long.Renew(trust.Options{Now: time.Now().Add(-20 * 365 * 24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, long.start(), long.invite("web")); !trust.Refused(err) {
		t.Errorf("a certificate that has expired: %v", err)
	}
}
