//go:build unix

package private

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain makes the test binary a process that keeps what it makes, if it is told so, and then runs a command of the user.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PRIVATE_TEST_DIR"); dir != "" {
		if Asked() {
			Share()
		} else {
			Keep()
		}
		f, err := os.Create(filepath.Join(dir, "ours"))
		if err == nil {
			err = f.Close()
		}
		if err == nil && os.Getenv("PRIVATE_TEST_AGAIN") == "1" { // a process of ours, started by one of ours
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "PRIVATE_TEST_AGAIN=0", "PRIVATE_TEST_DIR="+filepath.Join(dir, "again"))
			err = c.Run()
		}
		if err == nil {
			args, _ := Command([]string{"sh", "-c", `> "$1/theirs"; env | grep -c ^MERIDIAN_UMASK= > "$1/said"; :`, "sh", dir})
			c := exec.Command(args[0], args[1:]...)
			c.Env = Environ(os.Environ())
			err = c.Run()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestOursIsPrivateAndTheUsersIsAsTheUsersShellSays(t *testing.T) {
	for _, test := range []struct {
		umask, environment string
		ours, theirs       fs.FileMode
	}{
		{"022", "", 0o600, 0o644},
		{"002", "", 0o600, 0o664},
		{"077", "", 0o600, 0o600},
		{"177", "", 0o600, 0o600},
		{"022", "MERIDIAN_PUBLIC=1", 0o644, 0o644},
		{"022", "MERIDIAN_PUBLIC=0", 0o600, 0o644},
		// What is said of the umask is true only of a process that was not given another since.
		{"077", "MERIDIAN_UMASK=22", 0o600, 0o644},
		{"027", "MERIDIAN_UMASK=22", 0o600, 0o640},
		{"022", "MERIDIAN_UMASK=x", 0o600, 0o644},
		{"022", "MERIDIAN_UMASK=7777", 0o600, 0o644},
	} {
		t.Run(strings.TrimSpace(test.umask+" "+test.environment), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "again"), 0o755); err != nil {
				t.Fatal(err)
			}
			c := exec.Command("sh", "-c", "umask "+test.umask+`; exec "$0"`, os.Args[0])
			c.Env = append(os.Environ(), "PRIVATE_TEST_AGAIN=1", "PRIVATE_TEST_DIR="+dir)
			if test.environment != "" {
				c.Env = append(c.Env, test.environment)
			}
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for name, want := range map[string]fs.FileMode{"ours": test.ours, "theirs": test.theirs, "again/ours": test.ours, "again/theirs": test.theirs} {
				info, err := os.Stat(filepath.Join(dir, name))
				if err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %v, %v; want %v", name, info, err, want)
				}
			}
			if said, err := os.ReadFile(filepath.Join(dir, "said")); string(said) != "0\n" {
				t.Errorf("programs of the user are told our umask: %q, %v", said, err)
			}
		})
	}
}
