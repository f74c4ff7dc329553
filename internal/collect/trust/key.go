package trust

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"meridian/internal/collect/wire"
)

// version of the files. Another one is refused.
const version = 1

// Limits of a key's file.
const (
	maxKeyFile = 64 << 10
	maxServers = 64
)

// Key is all that a user needs to connect: as what, where to, the private key, and the authority of the broker's certificate.
type Key struct {
	Version   int       `json:"version"`
	Role      wire.Role `json:"role"`
	Name      string    `json:"name"` // of the host; of the other roles their own
	Servers   []string  `json:"servers"`
	Authority string    `json:"authority"` // its certificate, PEM
	Seed      string    `json:"seed"`      // private: of the NKey
}

// newKey makes a key. public is what the broker knows of it.
func newKey(role wire.Role, name string, servers []string, authority []byte) (k *Key, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, "", err
	}
	if public, err = pair.PublicKey(); err != nil {
		return nil, "", err
	}
	return &Key{Version: version, Role: role, Name: name, Servers: servers, Authority: string(authority), Seed: string(seed)}, public, nil
}

// ReadKey reads a key or an invitation. exposed says how to mend that others than the file's owner can read it.
func ReadKey(file string) (k *Key, exposed error, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", file)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		exposed = fmt.Errorf("%s: others can read or write this key (mode %#o); run: chmod 600 %s", file, mode, file)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, nil, err
	}
	if k, err = ParseKey(b); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return k, exposed, nil
}

// ParseKey reads a key. Its errors say nothing of the private part.
func ParseKey(b []byte) (*Key, error) {
	if len(b) > maxKeyFile {
		return nil, fmt.Errorf("not a key or invitation: it has more than %d bytes", maxKeyFile)
	}
	k := new(Key)
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(k); err != nil {
		return nil, errors.New("not a key or invitation: 'meridian server init' and 'server invite' make these")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("a key with something behind it: copy the file again")
	}
	return k, k.check()
}

// check refuses what no server makes.
func (k *Key) check() error {
	if k.Version != version {
		return fmt.Errorf("a key of version %d, and this program knows %d: update the older program", k.Version, version)
	}
	if _, err := wire.PermissionsOf(k.Role, k.Name); err != nil {
		return fmt.Errorf("a key: %w", err)
	}
	if len(k.Servers) == 0 || len(k.Servers) > maxServers {
		return fmt.Errorf("a key with %d addresses of servers: 1 to %d are permitted", len(k.Servers), maxServers)
	}
	for _, s := range k.Servers {
		if err := CheckServer(s); err != nil {
			return err
		}
	}
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(k.Authority)) {
		return errors.New("a key without the certificate of the server's authority: copy the file again")
	}
	_, err := k.pair()
	return err
}

// CheckServer refuses what is no URL of a broker with TLS.
func CheckServer(server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "tls" && u.Scheme != "nats" || strings.Contains(server, ",") {
		return fmt.Errorf("%q is no address of a broker: want one such as tls://collector:4222", server)
	}
	return nil
}

func (k *Key) pair() (nkeys.KeyPair, error) {
	pair, err := nkeys.FromSeed([]byte(k.Seed))
	if err == nil {
		var public string
		if public, err = pair.PublicKey(); err == nil && nkeys.IsValidPublicUserKey(public) {
			return pair, nil
		}
	}
	return nil, errors.New("a key whose private part is not valid: copy the file again")
}

func (k *Key) encode() []byte { return encode(k) }

// encode writes a file of JSON.
func encode(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // of our types, none can fail
	}
	return append(b, '\n')
}

// URLs returns where to connect.
func (k *Key) URLs() string { return strings.Join(k.Servers, ",") }

// Options are those of a connection with this key: a broker without TLS 1.3 and a certificate of the authority gets nothing, not even a signature.
func (k *Key) Options() ([]nats.Option, error) {
	pair, err := k.pair()
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(k.Authority))
	return []nats.Option{
		nats.Nkey(public, pair.Sign),
		nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}),
	}, nil
}

// Refused reports whether a broker has refused the key, or the client the broker.
func Refused(err error) bool {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrSecureConnWanted) ||
		errors.Is(err, nats.ErrNkeysNotSupported) || errors.As(err, &name) || errors.As(err, &authority) || errors.As(err, &invalid)
}

// Explain says what to do about a connection that failed. k is nil where no key was used.
func Explain(err error, k *Key) error {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case k == nil && Refused(err):
		return fmt.Errorf("%w: the broker asks for a key: 'meridian server invite HOST' makes one for an agent (--invite), 'meridian server init' has made that of operators (--key)", err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("%w: the broker does not know the key of %s %s: it was revoked, or is of another server; 'meridian server invite' makes a new one", err, k.Role, k.Name)
	case errors.Is(err, nats.ErrSecureConnWanted), errors.Is(err, nats.ErrNkeysNotSupported):
		return fmt.Errorf("%w: the broker has no keys or no TLS, so nothing is sent to it: is the server's --dir that of 'meridian server init'?", err)
	case errors.As(err, &name):
		return fmt.Errorf("%w: connect by another address, or add this one by 'meridian server init --renew --name NAME,...'", err)
	case errors.As(err, &authority):
		return fmt.Errorf("%w: the key is of another server, or another machine answers at this address", err)
	case errors.As(err, &invalid):
		return fmt.Errorf("%w: 'meridian server init --renew' makes a new certificate; is this machine's clock right?", err)
	}
	return err
}
