package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"time"
)

// Certificates are valid for ten years. They begin a year ago: the clocks of hosts may be far behind.
const (
	validFor    = 10 * 365 * 24 * time.Hour
	validBefore = 365 * 24 * time.Hour
)

// authority signs certificates of brokers. It is on P-256, which clients in all languages know.
type authority struct {
	certificate            *x509.Certificate
	key                    *ecdsa.PrivateKey
	certificatePEM, keyPEM []byte
}

func newAuthority(now time.Time) (*authority, error) {
	template, err := newTemplate("Meridian authority", now)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return parseAuthority(encodePair(der, key))
}

func newTemplate(name string, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-validBefore), NotAfter: now.Add(validFor)}, nil
}

// encodePair returns a certificate and its private key as PEM.
func encodePair(der []byte, key *ecdsa.PrivateKey) (certificate, private []byte, err error) {
	b, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b}), nil
}

// authority reads that of the directory.
func (t *Trust) authority() (*authority, error) {
	certificate, err := os.ReadFile(t.path(authorityFile))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(t.path(authorityKeyFile))
	if err != nil {
		return nil, err
	}
	a, err := parseAuthority(certificate, key, nil)
	if err != nil {
		return nil, fmt.Errorf("the authority in %s: %w: bring its files back from a copy, or make new keys for all", t.dir, err)
	}
	return a, nil
}

func parseAuthority(certificate, key []byte, err error) (*authority, error) {
	if err != nil {
		return nil, err
	}
	c, k := firstBlock(certificate), firstBlock(key)
	a := &authority{certificatePEM: certificate, keyPEM: key}
	if a.certificate, err = x509.ParseCertificate(c); err != nil {
		return nil, err
	}
	private, err := x509.ParsePKCS8PrivateKey(k)
	if err != nil {
		return nil, err
	}
	var is bool
	if a.key, is = private.(*ecdsa.PrivateKey); !is || !a.key.PublicKey.Equal(a.certificate.PublicKey) {
		return nil, errors.New("certificate and private key do not match")
	}
	return a, nil
}

// firstBlock returns what the first block of PEM has; nil without one.
func firstBlock(b []byte) []byte {
	if block, _ := pem.Decode(b); block != nil {
		return block.Bytes
	}
	return nil
}

// issue makes the certificate of a broker.
func (a *authority) issue(names []string, now time.Time) (certificate, key []byte, err error) {
	template, err := newTemplate(names[0], now)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	return encodePair(der, private)
}

// maxNameBytes is that of DNS.
const maxNameBytes = 253

// CheckName refuses what is no name of a machine and no IP address.
func CheckName(name string) error {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	good := name != "" && len(name) <= maxNameBytes
	for _, c := range []byte(name) {
		good = good && (c == '-' || c == '.' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z')
	}
	if !good {
		return fmt.Errorf("%q is no host name or IP address: a name has letters, digits, '-' and '.' only, and no port", name)
	}
	return nil
}
