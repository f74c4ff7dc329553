package probe

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// Key is the secret that both ends share. Whoever has it may ask and answer.
type Key [32]byte

// keyFileLimit is the greatest length of a key's file: 64 hexadecimal digits and room for white space.
const keyFileLimit = 128

// NewKey returns a random key.
func NewKey() (k Key) {
	_, _ = rand.Read(k[:]) // it never fails (crypto/rand)
	return k
}

// WriteKey writes a key into a file that must not exist yet: 64 hexadecimal digits, readable by its owner alone.
func WriteKey(file string, k Key) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("key: %w: it is never replaced, since others may have a copy; remove it first or name another file", err)
	}
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	_, err = fmt.Fprintf(f, "%x\n", k[:])
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("key: %w", errors.Join(err, os.Remove(file)))
	}
	return nil
}

// ReadKey reads a key from a file. It refuses a file that others than its owner can read or write.
func ReadKey(file string) (k Key, err error) {
	f, err := os.Open(file)
	if err != nil {
		return k, fmt.Errorf("key: %w", err)
	}
	defer f.Close()
	switch s, err := f.Stat(); {
	case err != nil:
		return k, fmt.Errorf("key: %w", err)
	case !s.Mode().IsRegular():
		return k, fmt.Errorf("key: %s: not a regular file", file)
	case s.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return k, fmt.Errorf("key: %s: others can read or write it (mode %#o); run: chmod 600 %s", file, s.Mode().Perm(), file)
	}
	b, err := io.ReadAll(io.LimitReader(f, keyFileLimit+1))
	if err != nil {
		return k, fmt.Errorf("key: %w", err)
	}
	if b = bytes.TrimSpace(b); len(b) != 2*len(k) {
		return k, fmt.Errorf("key: %s: not a key, which has 64 hexadecimal digits", file)
	}
	if _, err := hex.Decode(k[:], b); err != nil {
		return Key{}, fmt.Errorf("key: %s: not a key, which has 64 hexadecimal digits", file)
	}
	return k, nil
}
