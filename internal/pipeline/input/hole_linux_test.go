package input

import (
	"bytes"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"meridian/internal/scratch"
)

func TestWhatWasReadOfACopyTakesNoRoom(t *testing.T) {
	path, writer := pipeIn(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := scratch.New(t.TempDir())
	out, copies, err := FollowPipes(ctx, []string{"a=" + path}, dir, func(string, bool) {})
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimPrefix(out[0], "a=")
	room := func() int64 {
		var s syscall.Stat_t
		if err := syscall.Stat(file, &s); err != nil {
			t.Fatal(err)
		}
		return s.Blocks * 512
	}
	const size = 40 << 20
	if _, err := writer.Write(bytes.Repeat([]byte{1}, size)); err != nil {
		t.Fatal(err)
	}
	awaitCopy(t, file, size)
	for read := int64(0); read <= 33<<20; read += 1 << 20 {
		if err := copies.Forget(file, read); err != nil {
			t.Fatal(err)
		}
	}
	if err := copies.Forget("another file", size); err != nil {
		t.Error(err)
	}
	if got := room(); got > size-32<<20+1<<20 {
		t.Errorf("the copy takes %d bytes, of which 7 MiB are to be read", got)
	}
	b, err := os.ReadFile(file)
	if err != nil || len(b) != size {
		t.Fatalf("the copy has %d bytes: %v", len(b), err)
	}
	for _, x := range []struct {
		part []byte
		want byte
	}{{b[:keptHead], 1}, {b[keptHead : 32<<20], 0}, {b[32<<20:], 1}} {
		if n := bytes.Count(x.part, []byte{x.want}); n != len(x.part) {
			t.Errorf("of %d bytes %d are %d", len(x.part), n, x.want)
		}
	}
	cancel()
	if err := copies.Wait(); err != nil {
		t.Error(err)
	}
	if err := dir.Close(); err != nil {
		t.Error(err)
	}
}
