package standby

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"meridian/internal/testseed"
)

// FuzzReadOrder reads orders as crashes and full disks leave them. One that is believed is of its directory's session, and is read back as
// it was written.
func FuzzReadOrder(f *testing.F) {
	f.Add([]byte(`{"session":"s","args":["--kernel","net"],"since":"2026-01-02T03:04:05Z","ended":true,"failed":"x","sent":false}`))
	f.Add([]byte(`{"session":"other"}`))
	f.Add([]byte(`{"session":"s","since":"2026-01-02T03:0`))
	f.Add([]byte{})
	dir := filepath.Join(f.TempDir(), "s")
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, orderFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := readOrder(dir)
		if err != nil {
			return
		}
		if x == nil || x.Session != "s" {
			t.Fatalf("%+v", x)
		}
		x.state()
		if err := x.write(dir); err != nil {
			return // a year that JSON's times cannot have
		}
		again, err := readOrder(dir)
		if err != nil || !again.Since.Equal(x.Since) {
			t.Fatalf("%+v becomes %+v, %v", x, again, err)
		}
		if again.Since = x.Since; !reflect.DeepEqual(x, again) && len(x.Args) > 0 {
			t.Errorf("%+v becomes %+v", x, again)
		}
	})
}
