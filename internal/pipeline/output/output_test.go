package output

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/filetest"
)

func TestOutputsAppearTogetherWhenTheyArePublished(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "old")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	var s Set
	defer s.Remove()
	f, err := s.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	// More than a block, in pieces of random lengths.
	random := rand.New(rand.NewPCG(1, 2))
	var want []byte
	for len(want) < 3*blockSize {
		piece := make([]byte, random.IntN(blockSize/3))
		for i := range piece {
			piece[i] = byte(random.Uint32())
		}
		if n, err := f.Write(piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
		want = append(want, piece...)
	}
	temp, err := s.Directory(filepath.Join(dir, "directory"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(temp, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "before" {
		t.Fatalf("%d bytes before publication", len(text))
	}
	if err := s.Publish(); err != nil {
		t.Fatal(err)
	}
	s.Remove()
	if got, _ := os.ReadFile(path); !bytes.Equal(got, want) {
		t.Errorf("%d bytes, not the %d written", len(got), len(want))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v, %v: not those of the file that was replaced", info.Mode(), err)
	}
	if all := filetest.Names(t, dir); len(all) != 2 || all[0] != "directory" || all[1] != "old" {
		t.Errorf("left: %q", all)
	}
}

func TestRemovedOutputsLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	var s Set
	ctx, cancel := context.WithCancel(t.Context())
	f, err := s.Create(ctx, filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Directory(filepath.Join(dir, "directory")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := f.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("closed with %v after the context ended", err)
	}
	s.Remove()
	if all := filetest.Names(t, dir); len(all) != 0 {
		t.Errorf("left: %q", all)
	}
}

// fullDisk takes some writes and then fails.
type fullDisk struct{ left int }

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAnErrorOfTheWriterBehindEndsAllFurtherWrites(t *testing.T) {
	a := newAsyncWriter(&fullDisk{left: 2})
	block := make([]byte, blockSize)
	var err error
	for n := 0; err == nil; n++ {
		if n > 3*blockCount {
			t.Fatal("writes go on")
		}
		_, err = a.Write(block)
	}
	if !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := a.Close(); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

func TestLargeBlocksStandBehindWhatWasWrittenBefore(t *testing.T) {
	var set Set
	path := filepath.Join(t.TempDir(), "x")
	var want []byte
	err := set.Write(context.Background(), path, func(w io.Writer) error {
		for i := range 40 {
			b := bytes.Repeat([]byte{byte(i)}, i*i*i*10)
			want = append(want, b...)
			if i%3 == 0 {
				if err := w.(*File).WriteThrough(b); err != nil {
					return err
				}
			} else if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = set.Publish()
	}
	if got, readErr := os.ReadFile(path); err != nil || readErr != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d; %v, %v", len(got), len(want), err, readErr)
	}
}

func TestAnErrorOfALargeBlockEndsAllFurtherWrites(t *testing.T) {
	for _, before := range []int{0, 2 * blockSize} { // in the goroutine, or not
		a := newAsyncWriter(&fullDisk{left: 1})
		if _, err := a.Write(make([]byte, before)); err != nil {
			t.Fatal(err)
		}
		var err error
		for range 2 {
			err = a.through([]byte("x"))
		}
		if !errors.Is(err, errFull) {
			t.Error(err)
		}
		if _, err := a.Write([]byte("y")); !errors.Is(err, errFull) {
			t.Error(err)
		}
		if err := a.Close(); !errors.Is(err, errFull) {
			t.Error(err)
		}
	}
}

// TestAnErrorNamesTheDirectoryInsteadOfATemporaryFile: nobody may make a file there, because it is not there.
func TestAnErrorNamesTheDirectoryInsteadOfATemporaryFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	var s Set
	defer s.Remove()
	_, file := s.Create(t.Context(), filepath.Join(dir, "page.html"))
	_, directory := s.Directory(filepath.Join(dir, "x.ctf"))
	for _, err := range []error{file, directory} {
		if !errors.Is(err, fs.ErrNotExist) || err.Error() != "directory "+dir+" cannot be written: no such file or directory" {
			t.Errorf("%v", err)
		}
	}
}
