//go:build unix

package input

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/internal/scratch"
)

// awaitCopy waits until a copy has so many bytes: what is written to a pipe that nobody has opened is gone with its writer.
func awaitCopy(t *testing.T, file string, n int) {
	t.Helper()
	for {
		if b, err := os.ReadFile(file); err == nil && len(b) == n {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("nothing was copied")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestCopiesOfPipesEndWithThePipesOrWithTheContext(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		path, writer := pipeIn(t)
		dir := scratch.New(t.TempDir())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool, 2)
		out, copies, err := FollowPipes(ctx, []string{"a=" + path}, dir, func(p string, last bool) { ended <- last && p == path })
		if err != nil {
			t.Fatal(err)
		}
		file, named := strings.CutPrefix(out[0], "a=")
		if !named || copies.Pipe(file) != path || copies.Pipe(path) != "" || filepath.Base(file) != "p.pcap" {
			t.Errorf("%q is the copy of %q", out[0], copies.Pipe(file))
		}
		const text = "a header of a capture, and some packets"
		if _, err := writer.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if interrupted {
			cancel()
			if err := copies.Wait(); err != nil || len(ended) > 0 {
				t.Errorf("interrupted: %v, and %d pipes are said to have ended", err, len(ended))
			}
			continue
		}
		awaitCopy(t, file, len(text))
		writer.Close()
		if !<-ended {
			t.Error("the only pipe was not the last")
		}
		if err := copies.Wait(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("the copy is %q, %v", got, err)
		}
		cancel()
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPipesBesideOtherTracesAreNotTheLast(t *testing.T) {
	path, writer := pipeIn(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := scratch.New(t.TempDir())
	ended := make(chan bool, 1)
	out, copies, err := FollowPipes(ctx, []string{path, t.TempDir()}, dir, func(_ string, last bool) { ended <- last })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.WriteString("few bytes"); err != nil {
		t.Fatal(err)
	}
	awaitCopy(t, out[0], len("few bytes"))
	writer.Close()
	if <-ended {
		t.Error("a directory is left, and the pipe was the last")
	}
	if err := copies.Wait(); err == nil || !strings.Contains(err.Error(), "ended after 9 bytes") {
		t.Errorf("no capture came: %v", err)
	}
	if err := dir.Close(); err != nil {
		t.Error(err)
	}
}
