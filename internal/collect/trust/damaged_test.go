package trust_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/trust"
	"meridian/internal/dirlock"
)

// A connection that fails has one of a few causes. What the user is told must be the mend of that one.
func TestARefusalSaysWhatMendsIt(t *testing.T) {
	t.Parallel()
	m := initialise(t)
	key := m.invite("web")
	for _, test := range []struct {
		err     error
		key     *trust.Key
		refused bool
		says    string
	}{
		{nats.ErrAuthorization, nil, true, "asks for a key"},
		{nats.ErrAuthorization, key, true, "does not know the key of host web"},
		{nats.ErrAuthRevoked, key, true, "does not know the key of host web"},
		{nats.ErrSecureConnWanted, key, true, "has no keys or no TLS"},
		{nats.ErrNkeysNotSupported, key, true, "has no keys or no TLS"},
		{x509.HostnameError{Certificate: new(x509.Certificate), Host: "x"}, key, true, "--renew --name"},
		{x509.UnknownAuthorityError{}, key, true, "of another server"},
		{x509.CertificateInvalidError{Reason: x509.Expired}, key, true, "clock right"},
		{nats.ErrNoServers, key, false, ""},
		{nats.ErrNoServers, nil, false, ""},
	} {
		wrapped := fmt.Errorf("connecting: %w", test.err)
		if trust.Refused(wrapped) != test.refused {
			t.Errorf("%v: refused is %t", test.err, !test.refused)
		}
		if got := trust.Explain(wrapped, test.key); got.Error() != wrapped.Error() && test.says == "" || !strings.Contains(got.Error(), test.says) || !errors.Is(got, test.err) && errors.Unwrap(got) == nil {
			t.Errorf("%v is explained by %v", test.err, got)
		}
	}
}

func TestWhoLacksAKeyIsToldHowToGetOne(t *testing.T) {
	t.Parallel()
	m := initialise(t)
	m.invite("web")
	m.invite("db")
	if err := m.Revoke("db", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	lacking := m.Lacking()
	for host, says := range map[string]string{"web": "", "db": "revoked at 2026-01-02T03:04:05Z", "cache": "it has no key", "server": "it has no key"} {
		if got := lacking(host); got != says && (says == "" || !strings.Contains(got, says)) {
			t.Errorf("%s: %q", host, got)
		}
	}
	// Where the keys cannot be read, nobody is told that he lacks one.
	if err := os.WriteFile(filepath.Join(m.Dir(), "users.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := m.Lacking()("cache"); got != "" {
		t.Errorf("%q", got)
	}
}

// A file of the directory may be lost, empty, damaged, or another one's. What needs it says so, and nothing is changed; the rest goes on.
func TestADamagedDirectoryOfKeysChangesNothing(t *testing.T) {
	t.Parallel()
	other := initialise(t)
	foreign := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(other.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, test := range []struct {
		file   string
		with   []byte // nil: it is gone
		fails  []string
		passes []string
	}{
		{"users.json", nil, []string{"users", "invite", "revoke", "renew"}, []string{"tls"}},
		{"users.json", []byte("{}"), []string{"users", "invite", "revoke", "renew"}, []string{"tls"}},
		{"users.json", []byte(strings.Repeat(" ", 64<<20)), []string{"users", "invite", "revoke", "renew"}, []string{"tls"}},
		{"users.json", []byte(`{"version":1,"servers":["collector"],"users":[]}`), []string{"users", "invite", "revoke", "renew"}, []string{"tls"}},
		{"users.json", []byte(`{"version":1,"servers":[],"users":[]}`), []string{"revoke", "renew"}, []string{"tls", "users"}},
		{"ca.pem", nil, []string{"invite", "renew"}, []string{"tls", "users"}},
		{"ca.pem", []byte("none"), []string{"invite", "renew"}, []string{"tls", "users"}},
		{"ca.pem", foreign("ca.pem"), []string{"renew"}, []string{"tls", "users"}},
		{"ca-key.pem", nil, []string{"renew"}, []string{"tls", "users", "invite"}},
		{"ca-key.pem", []byte("none"), []string{"renew"}, []string{"tls", "users", "invite"}},
		{"ca-key.pem", foreign("tls-key.pem"), []string{"renew"}, []string{"tls", "users", "invite"}},
		{"tls.pem", nil, []string{"tls"}, []string{"users", "invite"}},
		{"tls.pem", foreign("tls.pem"), []string{"tls"}, []string{"users", "invite"}},
		{"tls-key.pem", []byte{}, []string{"tls"}, []string{"users", "invite"}},
	} {
		m := initialise(t)
		m.invite("web")
		path := filepath.Join(m.Dir(), test.file)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if test.with != nil {
			if err := os.WriteFile(path, test.with, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := contents(t, m.Dir())
		invitation := filepath.Join(m.dir, "new")
		do := map[string]func() error{
			"users":  func() error { _, err := m.Users(); return err },
			"tls":    func() error { _, err := m.TLS(); return err },
			"invite": func() error { return m.Invite("new", nil, trust.NewFile(invitation)) },
			"revoke": func() error { return m.Revoke("web", time.Now()) },
			"renew":  func() error { return m.Renew(trust.Options{Now: time.Now()}) },
		}
		for _, name := range test.fails {
			if err := do[name](); err == nil {
				t.Errorf("%s of %d bytes: %s passes", test.file, len(test.with), name)
			}
			if _, err := os.Lstat(invitation); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: an invitation is left by %s: %v", test.file, name, err)
			}
		}
		if after := contents(t, m.Dir()); !slices.Equal(before, after) {
			t.Errorf("%s: what failed has changed files:\n%q\n%q", test.file, before, after)
		}
		for _, name := range test.passes {
			if err := do[name](); err != nil {
				t.Errorf("%s of %d bytes: %s: %v", test.file, len(test.with), name, err)
			}
		}
	}
}

// contents returns the files of a directory with their sizes and times.
func contents(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "lock") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(e.Name(), info.Size(), info.ModTime()))
	}
	return all
}

func TestKeysAreOpenedWhereTheyWereMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := trust.Open(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory without keys: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, trust.Folder), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Open(dir); err == nil || !strings.Contains(err.Error(), "no directory") {
		t.Errorf("a file in its place: %v", err)
	}
	if _, err := trust.Init(dir, trust.Options{Names: []string{"a"}, Now: time.Now()}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("keys in the place of a file: %v", err)
	}
	if _, err := trust.Init(filepath.Join(dir, trust.Folder, "below"), trust.Options{Names: []string{"a"}, Now: time.Now()}); err == nil {
		t.Error("keys below a file")
	}
	m := initialise(t)
	again, err := trust.Open(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	if users, err := again.Users(); err != nil || !slices.Equal(users, m.users()) {
		t.Errorf("%v, %v", users, err)
	}
	for _, file := range []string{filepath.Join(dir, "none"), dir} {
		if _, _, err := trust.ReadKey(file); err == nil {
			t.Errorf("a key from %s", file)
		}
	}
	torn := filepath.Join(dir, "torn")
	if err := os.WriteFile(torn, []byte(`{"version":1,`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := trust.ReadKey(torn); err == nil || !strings.Contains(err.Error(), torn) {
		t.Errorf("a torn key: %v", err)
	}
}

// Two commands of an operator at a time: the second waits, and neither loses what the other has done.
func TestAChangeWaitsForAnother(t *testing.T) {
	t.Parallel()
	m := initialise(t)
	lock, err := dirlock.Lock(m.Dir())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- m.Invite("web", nil, trust.NewFile(filepath.Join(m.dir, "web"))) }()
	select {
	case err := <-done:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if users := m.users(); len(users) != 3 {
		t.Errorf("%v", users)
	}
}
