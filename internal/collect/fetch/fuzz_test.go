package fetch

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/collect/wire"
	"meridian/internal/testseed"
)

// FuzzRead asks a server for ranges of files, as anybody with an operator's key may. No answer has a byte of a file that is none of the
// trace's, wherever names and links lead.
func FuzzRead(f *testing.F) {
	for _, ask := range []string{
		`{"session":"s","host":"h","file":"packets_0","offset":0,"length":4}`,
		`{"session":"s","host":"h","file":"metadata","offset":0,"length":100}`,
		`{"session":"s","host":"h","file":"link","offset":0,"length":100,"sum":true}`,
		`{"session":"s","host":"h","file":"../../secret","length":9}`,
		`{"session":"..","host":".","file":"secret","length":9}`,
	} {
		f.Add([]byte(ask))
	}
	top := f.TempDir()
	const secret = "SECRETSECRET"
	dir := filepath.Join(top, "srv")
	for name, text := range map[string]string{"secret": secret, "srv/s/h/packets_0": "0123456789", "srv/s/h/metadata": "/* CTF 1.8 */", "srv/secret": secret} {
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "secret"), filepath.Join(dir, "s", "h", "link")); err != nil {
		f.Fatal(err)
	}
	s := &source{dir, "a"}
	testseed.Fuzz(f, func(t *testing.T, ask []byte) {
		answer, err := s.read(ask)
		if err != nil {
			return
		}
		switch x := answer.(type) {
		case []byte:
			if len(x) > wire.MaxRange+wire.MaxOverhead || bytes.Contains(x, []byte(secret)) {
				t.Errorf("%d bytes for %s", len(x), ask)
			}
		case wire.State:
			if x.Have == int64(len(secret)) {
				t.Errorf("%+v for %s", x, ask)
			}
		default:
			t.Errorf("%T", answer)
		}
	})
}
