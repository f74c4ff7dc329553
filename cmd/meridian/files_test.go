package main_test

import (
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// The words of scripts for files and what may happen to them:
//
//	snapshot                  remember all files, hidden ones too
//	unchanged [FILE...]       since then nothing came, went or changed, but that these came
//	cut FILE BYTES            keep so many bytes; of -N all but the last N
//	noise FILE BYTES          random bytes
//	compress FILE TARGET      with gzip or zstd, by the target's name
//	interrupt DIR COMMAND...  interrupt a command (SIGINT) as soon as it writes a temporary file in DIR; it must end with 1
//	smalldisk DIR BYTES       mount a disk of that size (tmpfs); skip where that is not allowed

func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, 0)
	benchOf(ts).files = filesUnder(ts)
}

func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, 99)
	before, after := benchOf(ts).files, filesUnder(ts)
	for _, name := range args {
		if _, came := after[name]; !came || before[name] != "" {
			ts.Fatalf("%s did not come", name)
		}
		delete(after, name)
	}
	for name, content := range after {
		if before[name] == "" {
			ts.Fatalf("%s was left behind", name)
		} else if before[name] != content {
			ts.Fatalf("%s was changed", name)
		}
	}
	for name := range before {
		if after[name] == "" {
			ts.Fatalf("%s is gone", name)
		}
	}
}

// filesUnder returns a digest of each file under the script's directory.
func filesUnder(ts *testscript.TestScript) map[string]string {
	files := make(map[string]string)
	top := ts.MkAbs(".")
	ts.Check(filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		files[filepath.ToSlash(name)] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	}))
	return files
}

func cut(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 2)
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	name := ts.MkAbs(args[0])
	if size < 0 {
		info, err := os.Stat(name)
		ts.Check(err)
		size += info.Size()
	}
	ts.Check(os.Truncate(name, size))
}

func noise(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 2)
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(data) // never fails
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o666))
}

func compress(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 2)
	target, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	defer target.Close()
	var out io.WriteCloser = gzip.NewWriter(target)
	if strings.HasSuffix(args[1], ".zst") {
		out, err = zstd.NewWriter(target)
		ts.Check(err)
	}
	_, err = io.WriteString(out, ts.ReadFile(args[0]))
	ts.Check(errors.Join(err, out.Close(), target.Close()))
}

func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 99)
	if runtime.GOOS == "windows" {
		benchOf(ts).t.Skip("processes cannot be interrupted here")
	}
	dir := ts.MkAbs(args[0])
	before, old := len(filesUnder(ts)), contents(ts, dir)
	// On a busy machine the command may be through before this process has its turn; then all is as before, and again.
	for tries := 0; !interrupted(ts, dir, args[1:]); tries++ {
		if tries == 50 {
			ts.Fatalf("it always ended before it could be interrupted")
		}
		ts.Check(os.RemoveAll(dir))
		ts.Check(os.Mkdir(dir, 0o777))
		for name, content := range old {
			ts.Check(os.WriteFile(filepath.Join(dir, name), content, 0o666))
		}
	}
	if after := len(filesUnder(ts)); after != before {
		ts.Fatalf("%d files, before it was interrupted %d", after, before)
	}
}

// contents returns the files of a directory that has no others.
func contents(ts *testscript.TestScript, dir string) map[string][]byte {
	files := make(map[string][]byte)
	entries, err := os.ReadDir(dir)
	ts.Check(err)
	for _, e := range entries {
		files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
		ts.Check(err)
	}
	return files
}

// interrupted runs a command and interrupts it as soon as a temporary file is in dir. It reports false if the command had
// come through.
func interrupted(ts *testscript.TestScript, dir string, args []string) bool {
	c := exec.Command(args[0], args[1:]...)
	var stderr strings.Builder
	c.Dir, c.Stderr = ts.MkAbs("."), &stderr
	ts.Check(c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	look := time.NewTicker(200 * time.Microsecond)
	defer look.Stop()
	err, over := error(nil), false
	for begun := false; !begun && !over; {
		select {
		case err = <-ended:
			over = true
			continue
		case <-look.C:
		}
		entries, unread := os.ReadDir(dir)
		ts.Check(unread)
		for _, e := range entries {
			begun = begun || strings.HasPrefix(e.Name(), ".")
		}
	}
	if !over {
		// It may have ended meanwhile.
		if gone := c.Process.Signal(os.Interrupt); gone != nil && !errors.Is(gone, os.ErrProcessDone) {
			ts.Fatalf("%v", gone)
		}
		err = <-ended
	}
	if err == nil {
		return false
	}
	var failed *exec.ExitError
	if over || !errors.As(err, &failed) || failed.ExitCode() != 1 || !strings.Contains(stderr.String(), "interrupted") {
		ts.Fatalf("ended with %v: %s", err, stderr.String())
	}
	return true
}

func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 2)
	target := ts.MkAbs(args[0])
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+args[1], "tmpfs", target).CombinedOutput(); err != nil {
		said := strings.Split(strings.TrimSpace(string(out)), ": ")
		benchOf(ts).t.Skip("no small disk can be mounted: " + said[len(said)-1])
	}
	ts.Defer(func() {
		if out, err := exec.Command("umount", target).CombinedOutput(); err != nil {
			ts.Logf("umount: %v: %s", err, out)
		}
	})
}
