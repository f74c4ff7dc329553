package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

const version = "0.9.0~rc1"

// checkout copies what the command is built from into a directory.
func checkout(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within, err := filepath.Rel(root, path)
		to := filepath.Join(dir, within)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules", "bin", "dist", "docs"}, d.Name()):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular() || d.Name() == ".git" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(to, content, 0o644))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// released makes a release of Linux on this processor from a copy of the checkout, and returns its directory.
func released(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	checkout(t, dir)
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	if err := run(context.Background(), dir, version, filepath.Join(dir, "dist"), []string{"linux/" + runtime.GOARCH}, nil); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "dist")
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Of one release: built twice in two directories it is the same, its archive has what it should, and the package is installed and removed without a trace.
func TestAReleaseOfLinux(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("packages of Linux are tried on Linux")
	}
	testneed.Long(t, "builds the command twice")
	first, second := released(t, "first"), released(t, "in/another/directory/that/is/longer")
	entries, err := os.ReadDir(first)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if !bytes.Equal(read(t, filepath.Join(first, e.Name())), read(t, filepath.Join(second, e.Name()))) {
			t.Errorf("%s differs between two directories", e.Name())
		}
	}
	t.Run("sums", func(t *testing.T) {
		testneed.Program(t, "sha256sum")
		c := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
		c.Dir = first
		if out, err := c.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != 2 {
			t.Errorf("%v: %s", err, out)
		}
	})
	stem := "meridian_" + version + "_linux_" + runtime.GOARCH
	t.Run("archive", func(t *testing.T) { checkArchive(t, filepath.Join(first, stem+".tar.gz"), stem) })
	deb := filepath.Join(first, "meridian_"+version+"_"+runtime.GOARCH+".deb")
	t.Run("package", func(t *testing.T) { checkPackage(t, deb) })
	t.Run("units", func(t *testing.T) { checkUnitsOf(t, deb) })
}

func checkArchive(t *testing.T, path, stem string) {
	zipped, err := gzip.NewReader(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	in, names := tar.NewReader(zipped), []string{}
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(h.Name, stem+"/")
		names = append(names, name)
		want := int64(0o644)
		if name == "meridian" {
			want = 0o755
			checkCommand(t, in)
		}
		if h.Mode != want || h.Uid != 0 || h.ModTime.Unix() != 1700000000 || name == h.Name {
			t.Errorf("%+v", h)
		}
	}
	for _, want := range []string{"meridian", "README.md", "CHANGELOG.md", "man/meridian.1", "man/meridian-align.1", "completions/meridian.bash", "completions/_meridian",
		"completions/meridian.fish", "c/meridian.h", "systemd/meridian-agent.service", "systemd/meridian-server.service"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %q", want, names)
		}
	}
}

// checkCommand runs the command of an archive.
func checkCommand(t *testing.T, in io.Reader) {
	binary, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "meridian")
	if err := os.WriteFile(path, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "meridian "+version+" ") {
		t.Errorf("%v: %s", err, out)
	}
}

// checkPackage installs a package below a directory of its own, and removes it.
func checkPackage(t *testing.T, path string) {
	testneed.Root(t, "dpkg")
	testneed.Program(t, "dpkg")
	testneed.Program(t, "systemd-analyze")
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "var/lib/dpkg/info"), 0o755), os.MkdirAll(filepath.Join(root, "var/lib/dpkg/updates"), 0o755),
		os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) string {
		out, err := exec.Command("dpkg", append([]string{"--root=" + root, "--log=" + filepath.Join(root, "var/lib/dpkg/log")}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	dpkg("--install", path)
	if out := dpkg("--verify", "meridian"); out != "" {
		t.Errorf("dpkg --verify: %s", out)
	}
	scripts, err := filepath.Glob(filepath.Join(root, "var/lib/dpkg/info/meridian.p*"))
	if err != nil || len(scripts) > 0 {
		t.Errorf("maintainer scripts: %q, %v", scripts, err)
	}
	if out, err := exec.Command(filepath.Join(root, "usr/bin/meridian"), "version").CombinedOutput(); err != nil || !strings.Contains(string(out), version) {
		t.Errorf("%v: %s", err, out)
	}
	for _, unit := range []string{"meridian-agent.service", "meridian-server.service"} {
		text := string(read(t, filepath.Join(root, "usr/lib/systemd/system", unit)))
		if !strings.Contains(text, "\nExecStart=/usr/bin/meridian ") || strings.Contains(text, "/usr/local") {
			t.Errorf("%s does not start the command of the package", unit)
		}
		copied := filepath.Join(t.TempDir(), unit) // where the command is
		if err := os.WriteFile(copied, []byte(strings.ReplaceAll(text, "/usr/bin/meridian", filepath.Join(root, "usr/bin/meridian"))), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("systemd-analyze", "verify", "--man=no", copied).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", unit, err, out)
		}
	}
	dpkg("--purge", "meridian")
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 { // var, of dpkg itself
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestVersionsThatNoPackageCanHaveAreRefused(t *testing.T) {
	for _, bad := range []string{"", "x", "1", "1.2", "1.2.3 4", "1.2.3/4", "1.2.3-1", "1.2.3_4"} {
		if err := run(context.Background(), ".", bad, filepath.Join(t.TempDir(), "dist"), platforms, nil); err == nil || !strings.Contains(err.Error(), "want one like") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
