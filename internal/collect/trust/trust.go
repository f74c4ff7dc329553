// Package trust keeps the keys of a server: who may connect to its broker, as what, and by which certificate clients know the broker.
//
//	DIR/.trust/ca.pem, ca-key.pem      the authority that clients trust, and its private key
//	DIR/.trust/tls.pem, tls-key.pem    the broker's certificate, signed by the authority, and its private key
//	DIR/.trust/server.key              a [Key] with the role of a server: its own connection to the broker
//	DIR/.trust/operator.key            a [Key] with the role of an operator: 'meridian server hosts' and the like
//	DIR/.trust/users.json              the public keys that the broker accepts, each with a role and a name
//	HOST.invitation                    a [Key] with the role of a host; only the host has it
//
// Users prove with an NKey (Ed25519) who they are: the broker sends a random number, they sign it. The private part of a host's key is in its invitation alone,
// so what lies in .trust does not let anybody speak for a host. Clients know the broker by a certificate of the authority, over TLS 1.3.
//
// Files are readable by their owner alone. Each appears whole or not at all, and so does the directory.
package trust

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"meridian/internal/collect/wire"
	"meridian/internal/dirlock"
)

// Folder is the directory of the keys, in that of a server. No session has a name that begins with a dot.
const Folder = ".trust"

// Files of the directory.
const (
	authorityFile    = "ca.pem"
	authorityKeyFile = "ca-key.pem"
	tlsFile          = "tls.pem"
	tlsKeyFile       = "tls-key.pem"
	serverFile       = "server.key"
	operatorFile     = "operator.key"
	usersFile        = "users.json"
)

// DefaultPort is that of NATS.
const DefaultPort = 4222

// Options say what [Init] makes.
type Options struct {
	Names []string // of the broker's machine: hosts and IP addresses by which clients reach it
	Port  int      // of the broker, DefaultPort for 0
	Now   time.Time
}

// Trust is the directory of a server's keys. Several processes may use it at a time.
type Trust struct{ dir string }

// Init makes the keys of the server whose directory is dir. It replaces none.
func Init(dir string, o Options) (t *Trust, err error) {
	names, servers, err := addresses(o)
	if err != nil {
		return nil, err
	}
	final := filepath.Join(dir, Folder)
	if _, err := os.Lstat(final); err == nil {
		return nil, fmt.Errorf("%s: %w", final, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	next, err := os.MkdirTemp(dir, Folder+".") // of mode 0700
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(next))
		}
	}()
	if err := fill(&Trust{next}, names, servers, o.Now); err != nil {
		return nil, err
	}
	if err := os.Rename(next, final); err != nil { // fails where another process was first
		return nil, err
	}
	return &Trust{final}, syncDir(dir)
}

// addresses returns the names of the certificate and the URLs for clients.
func addresses(o Options) (names, servers []string, err error) {
	if o.Port == 0 {
		o.Port = DefaultPort
	}
	if len(o.Names) == 0 {
		return nil, nil, errors.New("the broker's machine has no name: give a host or an IP address by which clients reach it")
	}
	for _, name := range o.Names {
		if err := CheckName(name); err != nil {
			return nil, nil, err
		}
		servers = append(servers, (&url.URL{Scheme: "tls", Host: net.JoinHostPort(name, strconv.Itoa(o.Port))}).String())
	}
	return append(append([]string(nil), o.Names...), "localhost", "127.0.0.1", "::1"), servers, nil
}

// fill makes all files.
func fill(t *Trust, names, servers []string, now time.Time) error {
	a, err := newAuthority(now)
	if err != nil {
		return err
	}
	certificate, key, err := a.issue(names, now)
	if err != nil {
		return err
	}
	l := list{Version: version, Servers: servers}
	for file, content := range map[string][]byte{authorityFile: a.certificatePEM, authorityKeyFile: a.keyPEM, tlsFile: certificate, tlsKeyFile: key} {
		if err := writeNew(t.path(file), content); err != nil {
			return err
		}
	}
	for file, role := range map[string]wire.Role{serverFile: wire.ServerRole, operatorFile: wire.OperatorRole} {
		k, public, err := newKey(role, string(role), servers, a.certificatePEM)
		if err != nil {
			return err
		}
		if err := writeNew(t.path(file), k.encode()); err != nil {
			return err
		}
		l.Users = append(l.Users, wire.User{Role: role, Name: string(role), Key: public})
	}
	return writeNew(t.path(usersFile), l.encode())
}

// Open returns the keys of the server whose directory is dir. The error wraps [fs.ErrNotExist] if it has none.
func Open(dir string) (*Trust, error) {
	t := &Trust{filepath.Join(dir, Folder)}
	info, err := os.Stat(t.dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory: move it away, and run 'meridian server init --dir %s'", t.dir, dir)
	}
	return t, nil
}

func (t *Trust) path(file string) string { return filepath.Join(t.dir, file) }

// Dir returns the directory.
func (t *Trust) Dir() string { return t.dir }

// ServerDir returns the directory of the server, as --dir takes it.
func (t *Trust) ServerDir() string { return filepath.Dir(t.dir) }

// ServerKey returns the file with the key of the server.
func (t *Trust) ServerKey() string { return t.path(serverFile) }

// OperatorKey returns the file with the key of operators.
func (t *Trust) OperatorKey() string { return t.path(operatorFile) }

// Certificate returns the files of the broker's certificate and its private key.
func (t *Trust) Certificate() (certificate, key string) { return t.path(tlsFile), t.path(tlsKeyFile) }

// TLS returns the configuration of a broker.
func (t *Trust) TLS() (*tls.Config, error) {
	c, err := tls.LoadX509KeyPair(t.path(tlsFile), t.path(tlsKeyFile))
	if err != nil {
		return nil, fmt.Errorf("the broker's certificate in %s: %w: make it anew by 'meridian server init --renew --dir %s'", t.dir, err, t.ServerDir())
	}
	return &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS13}, nil
}

// Renew makes a new certificate of the broker, for new names if there are any. Invitations stay valid: the authority is the same.
func (t *Trust) Renew(o Options) error {
	return t.change(func(l *list) error { return t.renew(l, o) })
}

func (t *Trust) renew(l *list, o Options) (err error) {
	if len(o.Names) == 0 {
		if o.Names, o.Port, err = l.addresses(o.Port); err != nil {
			return fmt.Errorf("%s: %w", t.path(usersFile), err)
		}
	}
	names, servers, err := addresses(o)
	if err != nil {
		return err
	}
	a, err := t.authority()
	if err != nil {
		return err
	}
	certificate, key, err := a.issue(names, o.Now)
	if err != nil {
		return err
	}
	l.Servers = servers
	// A broker that reads between these two finds a pair that does not match, and says so.
	return errors.Join(replace(t.path(tlsKeyFile), key), replace(t.path(tlsFile), certificate), replace(t.path(usersFile), l.encode()))
}

// Invite makes a key for a host and hands its invitation to write, which returns how to take it back. With servers the invitation has these URLs instead of
// those of [Init].
func (t *Trust) Invite(host string, servers []string, write func([]byte) (undo func() error, err error)) error {
	if err := wire.CheckHost(host); err != nil {
		return err
	}
	return t.change(func(l *list) error { return t.invite(l, host, servers, write) })
}

func (t *Trust) invite(l *list, host string, servers []string, write func([]byte) (undo func() error, err error)) error {
	if l.find(host) >= 0 {
		return fmt.Errorf("host %s is invited already: to make a new key for it, revoke the old one by 'meridian server revoke %s --dir %s'", host, host, t.ServerDir())
	}
	if len(servers) == 0 {
		servers = l.Servers
	}
	authority, err := os.ReadFile(t.path(authorityFile))
	if err != nil {
		return err
	}
	k, public, err := newKey(wire.HostRole, host, servers, authority)
	if err != nil {
		return err
	}
	if err := k.check(); err != nil {
		return err
	}
	undo, err := write(k.encode())
	if err != nil {
		return err
	}
	l.Users = append(l.Users, wire.User{Role: wire.HostRole, Name: host, Key: public})
	delete(l.Revoked, host)
	if err := replace(t.path(usersFile), l.encode()); err != nil {
		return errors.Join(err, undo())
	}
	return nil
}

// NewFile returns what writes an invitation into a file that is not there yet.
func NewFile(path string) func([]byte) (undo func() error, err error) {
	return func(b []byte) (func() error, error) {
		return func() error { return os.Remove(path) }, writeNew(path, b)
	}
}

// Revoke takes the key of a host away.
func (t *Trust) Revoke(host string, now time.Time) error {
	return t.change(func(l *list) error {
		at := l.find(host)
		if at < 0 {
			return fmt.Errorf("host %s is not invited: %s has the names of those that are", host, t.path(usersFile))
		}
		l.Users = append(l.Users[:at], l.Users[at+1:]...)
		if l.Revoked == nil {
			l.Revoked = make(map[string]time.Time)
		}
		l.Revoked[host] = now.UTC()
		return replace(t.path(usersFile), l.encode())
	})
}

// Lacking reads the keys, and returns what says why a host cannot connect and what mends that: "" of one that has a key. Where the keys cannot be read it is
// "" of all.
func (t *Trust) Lacking() func(host string) string {
	l, err := t.list()
	known := make(map[string]bool, len(l.Users))
	for _, u := range l.Users {
		known[u.Name] = known[u.Name] || u.Role == wire.HostRole
	}
	return func(host string) string {
		since, revoked := l.Revoked[host]
		switch {
		case err != nil || known[host]:
			return ""
		case revoked:
			return fmt.Sprintf("its key was revoked at %s: 'meridian server invite %s --dir %s' makes another", since.Format(time.RFC3339), host, t.ServerDir())
		}
		return fmt.Sprintf("it has no key: 'meridian server invite %s --dir %s' makes one", host, t.ServerDir())
	}
}

// change calls f with the list of users while no other process changes the keys. f writes what it changes.
func (t *Trust) change(f func(*list) error) (err error) {
	lock, err := t.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	l, err := t.list()
	if err != nil {
		return err
	}
	return f(&l)
}

// Users returns who may connect.
func (t *Trust) Users() ([]wire.User, error) {
	l, err := t.list()
	return l.Users, err
}

// lockWithin is how long a change waits for another one.
const lockWithin = 5 * time.Second

// lock makes this process the only one that changes the keys.
func (t *Trust) lock() (interface{ Close() error }, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWithin)
	defer cancel()
	for {
		lock, err := dirlock.Lock(t.dir)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, dirlock.ErrLocked) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w for %v: try again when it has ended", t.dir, err, lockWithin)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
