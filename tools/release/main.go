// Release makes all files of a release, the same bytes for the same sources, version and Go release, whatever the directory.
//
//	make release VERSION=0.2.0  -->  dist/meridian_0.2.0_linux_amd64.tar.gz    command, manual pages, completions, C header, units
//	                                 dist/meridian_0.2.0_darwin_arm64.tar.gz   ...
//	                                 dist/meridian_0.2.0_windows_amd64.zip
//	                                 dist/meridian_0.2.0_amd64.deb             the same where Debian has such files; no maintainer scripts
//	                                 dist/SHA256SUMS
//
// The command is built without cgo, paths and build number. Files have the time of the commit, or SOURCE_DATE_EPOCH, and belong to root. dist/ appears whole or
// not at all, and must not be there before.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are those of a release, as GOOS/GOARCH.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// versions that archives and Debian packages can have.
var versions = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(?:~?[0-9A-Za-z.+]+)?$`)

// release is what is to be made.
type release struct {
	version, commit string
	source          string // the checkout
	time            time.Time
	common          []file // of all archives
	linux           []file // of those of Linux
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	version := flag.String("version", "", "such as 0.2.0")
	out := flag.String("o", "dist", "directory to be made")
	only := flag.String("only", strings.Join(platforms, ","), "platforms, GOOS/GOARCH")
	flag.Parse()
	if err := run(ctx, ".", *version, *out, strings.Split(*only, ","), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, source, version, out string, only, rest []string) (err error) {
	version = strings.TrimPrefix(version, "v")
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %s", rest[0])
	case !versions.MatchString(version):
		return fmt.Errorf("version %q: want one like 0.2.0 or 0.2.0~rc1 (make release VERSION=0.2.0)", version)
	}
	for _, p := range only {
		if !slices.Contains(platforms, p) {
			return fmt.Errorf("unknown platform %q (%s)", p, strings.Join(platforms, ", "))
		}
	}
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("%s exists: remove it or name another directory with -o", out)
	}
	r := &release{version: version, source: source}
	if err := r.dated(ctx); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(out)), ".release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	work, dist := filepath.Join(temp, "work"), filepath.Join(temp, "dist")
	if err := errors.Join(os.Mkdir(work, 0o755), os.Mkdir(dist, 0o755)); err != nil {
		return err
	}
	if err := r.gather(ctx, work); err != nil {
		return err
	}
	for _, p := range only {
		if err := r.platform(ctx, p, work, dist); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := sums(dist); err != nil {
		return err
	}
	return os.Rename(dist, out)
}

// dated finds the time that all files get, and the commit: without git the time comes from SOURCE_DATE_EPOCH and there is no commit.
func (r *release) dated(ctx context.Context) error {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if out, err := exec.CommandContext(ctx, "git", "-C", r.source, "log", "-1", "--format=%H %ct").Output(); err == nil {
		commit, at, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		changed, err := exec.CommandContext(ctx, "git", "-C", r.source, "status", "--porcelain").Output()
		if err != nil {
			return fmt.Errorf("git status: %w", err)
		}
		if len(changed) > 0 {
			return fmt.Errorf("the checkout has changes beside the commit; commit or remove them:\n%s", changed)
		}
		r.commit = commit
		if text == "" {
			text = at
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return fmt.Errorf("no time for the files: %q is no number of seconds since 1970; without git set SOURCE_DATE_EPOCH", text)
	}
	r.time = time.Unix(seconds, 0).UTC()
	return nil
}

// build builds the command for a platform.
func (r *release) build(ctx context.Context, platform, path string) error {
	system, processor, _ := strings.Cut(platform, "/")
	// What -w would drop when linking is not compiled to begin with.
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-o", path,
		"-ldflags", "-s -w -buildid= -X main.releaseVersion="+r.version+" -X main.releaseCommit="+r.commit, "./cmd/meridian")
	c.Dir = r.source
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// gather collects what archives have beside the command. Manual pages and completions are made by the command itself, built for this machine.
func (r *release) gather(ctx context.Context, work string) error {
	command, err := filepath.Abs(filepath.Join(work, "here"))
	if err != nil {
		return err
	}
	if err := r.build(ctx, runtime.GOOS+"/"+runtime.GOARCH, command); err != nil {
		return err
	}
	pages := filepath.Join(work, "man")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, command, "man", pages).CombinedOutput(); err != nil {
		return fmt.Errorf("manual pages: %w\n%s", err, out)
	}
	if r.common, err = filesIn(pages, "man"); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "meridian.bash", "zsh": "_meridian", "fish": "meridian.fish"} {
		script, err := exec.CommandContext(ctx, command, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("completion of %s: %w", shell, err)
		}
		r.common = append(r.common, file{name: "completions/" + name, content: script})
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "LICENSE"} {
		content, err := os.ReadFile(filepath.Join(r.source, name))
		if name == "LICENSE" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		r.common = append(r.common, file{name: name, content: content})
	}
	header, err := os.ReadFile(filepath.Join(r.source, "sensor/c/meridian.h"))
	if err != nil {
		return err
	}
	parts, err := filesIn(filepath.Join(r.source, "sensor/c/meridian"), "c/meridian")
	if err != nil {
		return err
	}
	units, err := filesIn(filepath.Join(r.source, "examples/systemd"), "systemd")
	if err != nil {
		return err
	}
	r.linux = append(append(append(r.linux, file{name: "c/meridian.h", content: header}), parts...), units...)
	return nil
}

// filesIn returns the files of a folder, under another name.
func filesIn(dir, name string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		within, err := filepath.Rel(dir, path)
		files = append(files, file{name: name + "/" + filepath.ToSlash(within), content: content})
		return err
	})
	return files, err
}

// platform makes the archive of a platform, and of Linux the Debian package.
func (r *release) platform(ctx context.Context, platform, work, dist string) error {
	system, processor, _ := strings.Cut(platform, "/")
	name := "meridian"
	if system == "windows" {
		name += ".exe"
	}
	path := filepath.Join(work, system+"-"+processor)
	if err := r.build(ctx, platform, path); err != nil {
		return err
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := append([]file{{name: name, content: binary, mode: 0o755}}, r.common...)
	if system == "linux" {
		files = append(files, r.linux...)
	}
	stem := fmt.Sprintf("meridian_%s_%s_%s", r.version, system, processor)
	var archive bytes.Buffer
	ending, write := ".tar.gz", writeTarGz
	if system == "windows" {
		ending, write = ".zip", writeZip
	}
	if err := write(&archive, below(stem, files), r.time); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dist, stem+ending), archive.Bytes(), 0o644); err != nil {
		return err
	}
	if system != "linux" {
		return nil
	}
	var deb bytes.Buffer
	if err := r.writeDeb(&deb, processor, files); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, fmt.Sprintf("meridian_%s_%s.deb", r.version, processor)), deb.Bytes(), 0o644)
}

// sums writes SHA256SUMS, as sha256sum -c reads it.
func sums(dist string) error {
	entries, err := os.ReadDir(dist)
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dist, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(b), e.Name())
	}
	return os.WriteFile(filepath.Join(dist, "SHA256SUMS"), lines.Bytes(), 0o644)
}
