package format

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/format/internal/stream/streamtest"
	"meridian/internal/testseed"
)

const list = "# hosts of the lab\n3\nweb db 1700000000.1 1700000000.2\n"

func TestAFileIsWhatItsContentSays(t *testing.T) {
	dir := t.TempDir()
	pcap := "\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + strings.Repeat("\x00", 16)
	pcapng := "\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a" + strings.Repeat("\x00", 16)
	random := make([]byte, 5000)
	r := rand.NewChaCha8([32]byte{1})
	if _, err := r.Read(random); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, content string
		want          Kind
		err           string
	}{
		{"a.pcap", pcap, Capture, ""},
		{"b.txt", pcap, Capture, ""},
		{"c", pcapng, Capture, ""},
		{"d.pcap.gz", streamtest.Compress(t, "gzip", pcap), Capture, ""},
		{"e.txt", streamtest.Compress(t, "zstd", pcapng), Capture, ""},
		{"nano.pcap", "\xa1\xb2\x3c\x4d" + strings.Repeat("\x00", 20), Capture, ""},
		{"list", list, Messages, ""},
		{"list.pcap", list, Messages, ""},
		{"list.gz", streamtest.Compress(t, "gzip", list), Messages, ""},
		{"list.zst", streamtest.Compress(t, "zstd", list), Messages, ""},
		{"long", list + strings.Repeat("web db 1 2\n", 100000), Messages, ""},
		{"crlf", "web\tdb\t1\t2\r\n", Messages, ""},
		{"no end of line", "a b 1 2", Messages, ""},
		{"bytes in front", "\xef\xbb\xbfa b 1 2\n", Messages, ""},
		{"headings", "FROM TO SENT RECEIVED\na b 1 2\nb a 3 4\n", Messages, ""},
		{"names", "hôte-à 主机 1e9 1.5e9\n", Messages, ""},
		{"collectives", "@collective step web 1 2\n@collective step db 1.5 1e9\n", Messages, ""},
		{"broadcasts", "@broadcast hello web 1\n@broadcast hello db .5\n", Messages, ""},
		{"all of it", "a b 1 2\n@collective step web 1 2\n@broadcast hello db 1 # and so on\n", Messages, ""},
		{"no time left", "@collective step web 1\n", Unknown, "text, but not a message list"},
		{"no number", "@collective step web in out\n", Unknown, "text, but not a message list"},
		{"heard when", "@broadcast hello web noon\n", Unknown, "text, but not a message list"},
		{"no host", "@broadcast hello 1\n", Unknown, "text, but not a message list"},
		{"a host's word", "@broadcast 1 2 3 4\n", Unknown, "text, but not a message list"},
		{"comments.txt", "# nothing yet\n", Messages, ""},
		{"bad.txt", "web db yesterday today\n", Messages, ""},
		{"comments", "# nothing yet\n", Unknown, "text without any message"},
		{"prose", "Dear reader,\nthis is no list.\n", Unknown, `text, but not a message list ("Dear reader,")`},
		{"table", "a,b,1,2\n", Unknown, `text, but not a message list ("a,b,1,2")`},
		{"other.json", `{"name": "x", "list": [1, 2]}`, Unknown, "JSON, but neither OTLP, Jaeger nor a Chrome trace; known are"},
		{"array.json", "\xef\xbb\xbf[\n {\"a\": 1}]", Unknown, "JSON, but neither OTLP, Jaeger nor a Chrome trace; known are"},
		{"nothing.json", " {} ", Unknown, "JSON, but neither"},
		{"log", "[INFO] begun\n", Unknown, `text, but not a message list ("[INFO] begun")`},
		{"code", "{ echo; }\n", Unknown, `text, but not a message list ("{ echo; }")`},
		{"directive", "@foo x\n", Unknown, `unknown directive "@foo" of a message list; known: @collective, @broadcast`},
		{"empty.pcap", "", Unknown, "empty file"},
		{"empty.gz", streamtest.Compress(t, "gzip", ""), Unknown, "empty file"},
		{"cut.gz", streamtest.Compress(t, "gzip", list)[:9], Unknown, "gzip data cut short"},
		{"random.txt", string(random), Unknown, "unknown format (begins with "},
		{"nearly.txt", "a b 1 2\n\x00", Unknown, "unknown format (begins with 61 20 62 20 31 20 32 0a)"},
		{"x.xz", "\xfd7zXZ\x00\x00", Unknown, "compressed with xz; decompress"},
		{"x.tar", strings.Repeat("x", 257) + "ustar", Unknown, "a tar archive; unpack"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := Detect(path)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), path+": "+c.err) {
			t.Errorf("%s: %v %v", c.name, got, err)
		}
	}
	if _, err := Detect(filepath.Join(dir, "missing")); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	if _, err := Detect(dir); err == nil {
		t.Error("a directory was detected")
	}
}

func TestATraceWithCompressedFilesIsToldFromADirectoryWithoutOne(t *testing.T) {
	dir := t.TempDir()
	within := filepath.Join(dir, "session", "kernel")
	if err := errors.Join(os.MkdirAll(within, 0o777), os.WriteFile(filepath.Join(within, "metadata.gz"), []byte("\x1f\x8b"), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, within} {
		if _, err := Files(path); err == nil || !strings.HasPrefix(err.Error(), within+": a CTF trace with compressed files") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestRandomBytesAreNoText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, 8+r.IntN(200))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if kind, _ := detect(b, true, ".txt"); kind == Messages {
			t.Fatalf("%q", b)
		}
	}
}

func TestTheFilesOfADirectoryAreThoseThatAreKnown(t *testing.T) {
	dir := t.TempDir()
	if _, err := Files(dir); err == nil || !strings.Contains(err.Error(), "no file in the directory") {
		t.Errorf("%v", err)
	}
	put := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put("README", "Dear reader\n")
	if _, err := Files(dir); err == nil || !strings.Contains(err.Error(), "README: text, but not a message list") {
		t.Errorf("%v", err)
	}
	put("a_0", "\xc1\x1f\xfc\xc1\x00\x00\x00\x00") // behind README, which is not a trace either
	if _, err := Files(dir); err == nil || err.Error() != dir+": CTF streams, but no file named metadata" {
		t.Errorf("%v", err)
	}
	put("b", list)
	put("a.pcap", "\xd4\xc3\xb2\xa1\x02\x00\x04\x00"+strings.Repeat("\x00", 16))
	put(".hidden", list)
	if err := os.Mkdir(filepath.Join(dir, "within"), 0o777); err != nil {
		t.Fatal(err)
	}
	got, err := Files(dir)
	if want := []string{filepath.Join(dir, "a.pcap"), filepath.Join(dir, "b")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
}

// What cannot be read may be a trace: a result without it would be incomplete in silence.
func TestADirectoryWithAFileThatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(list), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("gone", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if got, err := Files(dir); err != nil || len(got) != 2 {
		t.Errorf("%v %v", got, err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil { // root may read all but this
		t.Fatal(err)
	}
	var unread *fs.PathError
	if got, err := Files(dir); !errors.As(err, &unread) || !strings.Contains(err.Error(), "loop") {
		t.Errorf("%v %v", got, err)
	}
}

func TestTextIsOpenedDecompressed(t *testing.T) {
	for _, content := range []string{list, streamtest.Compress(t, "gzip", list), streamtest.Compress(t, "zstd", list)} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := OpenText(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil || string(b) != list || f.Consumed() != int64(len(content)) {
			t.Errorf("%q %v %d", b, err, f.Consumed())
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Whatever the bytes, detection answers with a kind or a reason, and text is only what a person could read.
func FuzzDetect(f *testing.F) {
	f.Add([]byte(list), true, ".txt")
	f.Add([]byte("\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a"), false, "")
	f.Add([]byte("web db 1 2"), false, ".pcap")
	f.Add([]byte("\xef\xbb\xbf# x\n\xc3"), false, ".txt")
	testseed.Fuzz(f, func(t *testing.T, head []byte, whole bool, extension string) {
		kind, reason := detect(head, whole, extension)
		if (kind == Unknown) != (reason != "") {
			t.Fatalf("%v %q", kind, reason)
		}
		if kind == Messages && bytes.IndexByte(head, 0) >= 0 {
			t.Fatalf("%q is no text", head)
		}
	})
}

func TestInADirectoryNoNameMakesAMessageList(t *testing.T) {
	directory := t.TempDir()
	for name, content := range map[string]string{
		"notes.txt": "captured on a rainy day\n", "good.txt": "web db 1 2\n", "readme.log": "# nothing but a comment\n",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Files(directory)
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "good.txt" {
		t.Fatalf("%v, %v", files, err)
	}
}
