package probe

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/testseed"
)

// FuzzReadKey reads key files and daily windows. A key that is believed is 64 hexadecimal digits; a window that is believed is not empty.
func FuzzReadKey(f *testing.F) {
	f.Add(strings.Repeat("0aF9", 16) + "\n")
	f.Add(strings.Repeat("0", 63))
	f.Add("14:00-14:10,23:59:30-00:05")
	f.Add("1:2:3-04:05")
	path := filepath.Join(f.TempDir(), "key")
	testseed.Fuzz(f, func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if k, err := ReadKey(path); err == nil && hex.EncodeToString(k[:]) != strings.ToLower(strings.TrimSpace(text)) {
			t.Errorf("%q is read as %x", text, k)
		} else if err != nil && k != (Key{}) {
			t.Errorf("%q: a key beside %v", text, err)
		}
		d, err := ParseDaily(text)
		if err != nil {
			return
		}
		for _, w := range d {
			if w.from == w.to || min(w.from, w.to) < 0 || max(w.from, w.to).Hours() >= 24 {
				t.Errorf("%q: a window from %v to %v", text, w.from, w.to)
			}
		}
	})
}
