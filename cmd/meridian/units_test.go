package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// units returns the units of examples/systemd, by file.
func units(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../examples/systemd/*.service")
	if err != nil || len(files) != 2 {
		t.Fatalf("%q, %v", files, err)
	}
	out := map[string]string{}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(b)
	}
	return out
}

func TestUnitsOfSystemdStartWhatThisCommandUnderstands(t *testing.T) {
	for path, unit := range units(t) {
		_, line, found := strings.Cut(unit, "\nExecStart=/usr/local/bin/meridian ")
		line, _, _ = strings.Cut(line, "\n")
		cmd, args, err := newRoot().Find(strings.Fields(line))
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err == nil && cmd.Args != nil {
			err = cmd.Args(cmd, cmd.Flags().Args())
		}
		if !found || err != nil || !cmd.HasParent() {
			t.Errorf("%s: %q: %v", path, line, err)
		}
	}
}

func TestSystemdUnderstandsOurUnits(t *testing.T) {
	testneed.Program(t, "systemd-analyze")
	for path, unit := range units(t) {
		copied := filepath.Join(t.TempDir(), filepath.Base(path)) // whose program is there
		if err := os.WriteFile(copied, []byte(strings.ReplaceAll(unit, "/usr/local/bin/meridian", "/bin/true")), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("systemd-analyze", "verify", "--man=no", copied).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", path, err, out)
		}
	}
}
