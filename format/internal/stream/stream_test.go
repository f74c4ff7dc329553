package stream

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"meridian/format/internal/stream/streamtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// content is larger than all pieces that are read ahead, and does not compress to nothing.
func content() []byte {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, 5*pieceSize+123)
	for i := range b {
		b[i] = "abcdefgh"[r.IntN(8)]
	}
	return b
}

func TestEveryCompressionGivesTheContent(t *testing.T) {
	want := content()
	skippable := append([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00skip"), streamtest.Compress(t, "zstd", want)...)
	twice := append(streamtest.Compress(t, "gzip", want[:1000]), streamtest.Compress(t, "gzip", want[1000:])...)
	for name, file := range map[string][]byte{
		"": want, "gzip": streamtest.Compress(t, "gzip", want), "zstd": streamtest.Compress(t, "zstd", want), "zstd, skippable": skippable, "gzip, two members": twice,
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(s)
		if err != nil || !bytes.Equal(got, want) || s.Consumed() != int64(len(file)) || name != "" && s.Compressed() != name[:4] {
			t.Errorf("%s: %d bytes of %d, %v, consumed %d of %d", name, len(got), len(want), err, s.Consumed(), len(file))
		}
		if _, err := s.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%s: %v behind the end", name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAShortFileIsReadWhole(t *testing.T) {
	for n := range 6 {
		s, err := New(bytes.NewReader([]byte("abcde")[:n]))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(s)
		if string(got) != "abcde"[:n] || err != nil {
			t.Errorf("%q %v", got, err)
		}
	}
}

func TestWhatComesBeforeDamageIsDelivered(t *testing.T) {
	want := content()
	for _, kind := range []string{"gzip", "zstd"} {
		file := streamtest.Compress(t, kind, want)
		corrupt := bytes.Clone(file)
		corrupt[len(corrupt)*3/4] ^= 0x55
		corrupt[len(corrupt)*3/4+1] ^= 0x55
		for name, damaged := range map[string][]byte{"cut": file[:len(file)/2], "corrupt": corrupt} {
			s, err := New(bytes.NewReader(damaged))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(s)
			var damage *Damage
			if !errors.As(err, &damage) || damage.Compression != kind || len(got) < len(want)/4 {
				t.Errorf("%s %s: %d bytes, %v", kind, name, len(got), err)
			}
			if name == "cut" && (!bytes.HasPrefix(want, got) || damage.Error() != kind+" data cut short") {
				t.Errorf("%s: %v, or not what was compressed", kind, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

var errDisk = errors.New("disk on fire")

func TestAnErrorOfTheFileIsNoDamage(t *testing.T) {
	for _, kind := range []string{"", "gzip", "zstd"} {
		file := streamtest.Compress(t, kind, content())
		s, err := New(io.MultiReader(bytes.NewReader(file[:len(file)/2]), broken{}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(s)
		var damage *Damage
		if !errors.Is(err, errDisk) || errors.As(err, &damage) {
			t.Errorf("%s: %v", kind, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errDisk }

// Closing in the midst of everything leaves no goroutine behind: TestMain looks.
func TestClosingEarlyEndsTheDecompression(t *testing.T) {
	for _, kind := range []string{"gzip", "zstd"} {
		file := streamtest.Compress(t, kind, content())
		for _, n := range []int{0, 1, pieceSize + 1} {
			s, err := New(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, s, int64(n)); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(file[:1000]); err != nil {
			t.Fatal(err)
		}
		s, err := New(r)
		if err != nil {
			t.Fatal(err)
		}
		s.close = r.Close
		if err := s.Close(); err != nil { // wakes the decompression, which waits for the pipe
			t.Error(err)
		}
		w.Close()
	}
}
