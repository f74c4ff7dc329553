package main_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"meridian/internal/testneed"
)

// mostOfABomb is how much memory a command may take for a small file, whatever it unpacks to, KiB.
const mostOfABomb = 256 << 10

// repeated is a text that is repeated, between a head and a tail.
type repeated struct {
	head, text string
	times      int
	tail       string
}

func (r repeated) write(w io.Writer) error {
	block := strings.Repeat(r.text, max(1, min(r.times, 1<<16)))
	_, err := io.WriteString(w, r.head)
	for n := 0; n < r.times && err == nil; n += 1 << 16 {
		_, err = io.WriteString(w, block[:len(r.text)*min(1<<16, r.times-n)])
	}
	if err == nil {
		_, err = io.WriteString(w, r.tail)
	}
	return err
}

// TestABombTakesBoundedMemory: a compressed file of some kilobytes, or one that nests or refers without end, costs no more memory than others.
func TestABombTakesBoundedMemory(t *testing.T) {
	testneed.Long(t, "unpacks gigabytes")
	t.Parallel()
	const many = 64 << 20
	dir := t.TempDir()
	aliases := "hosts: {a: {}}\nx0: &x0 [x]\n"
	for i := range 30 {
		a, b := string(rune('a'+i%26))+string(rune('a'+i/26)), string(rune('a'+(i+1)%26))+string(rune('a'+(i+1)/26))
		if i == 0 {
			aliases += a + ": &" + a + " [x, x]\n"
		}
		aliases += b + ": &" + b + " [*" + a + ", *" + a + "]\n"
	}
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte("a b 1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dataset := []string{"convert", "--method", "none", list, "-o", filepath.Join(dir, "list.csv"), "--dataset"}
	const ctf = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\n"
	doubled := ctf + "typealias integer { size = 8; } := t0;\n"
	for i := range 60 {
		doubled += fmt.Sprintf("typealias struct { t%d a; t%d b; } := t%d;\n", i, i, i+1)
	}
	for name, b := range map[string]struct {
		repeated
		zip  bool
		args []string
	}{
		"capture.pcap.gz":   {repeated{"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00", "\xff", 8 * many, ""}, true, nil},
		"capture.pcapng.gz": {repeated{"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x1c\x00\x00\x00", "\x06\x00\x00\x00\xf0\xff\xff\xff", many, ""}, true, nil},
		"interfaces.pcapng.gz": {repeated{"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x1c\x00\x00\x00",
			"\x01\x00\x00\x00\x14\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x14\x00\x00\x00", 4 << 20, ""}, true, nil},
		"capture.pcap.zst":    {repeated{"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00", "\xff", 8 * many, ""}, false, nil},
		"nested.otlp.json":    {repeated{`{"resourceSpans":`, "[", 4 << 20, ""}, true, nil},
		"nested.jaeger.json":  {repeated{`{"data":`, `{"a":`, 4 << 20, ""}, true, nil},
		"nested.chrome.json":  {repeated{`{"traceEvents":`, "[", 4 << 20, ""}, true, nil},
		"text.chrome.json":    {repeated{`[{"ph":"i","ts":1,"pid":1,"tid":1,"name":"`, "a", 8 * many, `"}]`}, true, nil},
		"text.otlp.json":      {repeated{`{"resourceSpans":[{"resource":{"attributes":[{"key":"`, "a", 8 * many, `"}]}}]}`}, true, nil},
		"unknown.chrome.json": {repeated{`{"traceEvents":[],"x":[0`, ",0", 4 * many, `]}`}, true, nil},
		"line.txt":            {repeated{"a b 1 2\na b ", "3", 8 * many, " 4\n"}, true, nil},
		"experiment.yaml":     {repeated{aliases, "", 0, ""}, false, []string{"run", "--check"}},
		"nested.yaml":         {repeated{"hosts: ", "[", 1 << 20, ""}, false, []string{"run", "--check"}},
		"lists.yaml":          {repeated{"hosts: [a]\nx:\n  ", "- ", 1 << 20, ""}, false, []string{"run", "--check"}},
		"aliases-sets.yaml":   {repeated{"datasets:\n  a: {inputs: [x]}\n" + strings.ReplaceAll(aliases, "hosts", "x"), "", 0, ""}, false, dataset},
		"nested-sets.yaml":    {repeated{"datasets: ", "[", 1 << 20, ""}, false, dataset},
		"nested.ctf":          {repeated{ctf + "stream { event.header := ", "struct { ", 4 << 20, ""}, false, nil},
		"lengths.ctf":         {repeated{ctf + "event { fields := struct { integer { size = 8; } x", "[1000000]", 1 << 20, "; }; };\n"}, false, nil},
		"doubled.ctf":         {repeated{doubled, "", 0, "event { fields := struct { t60 x; }; };\n"}, false, nil},
	} {
		path := filepath.Join(dir, name)
		var w bytes.Buffer
		var err error
		var z io.WriteCloser
		switch {
		case b.zip:
			z, err = gzip.NewWriterLevel(&w, gzip.BestSpeed)
		case strings.HasSuffix(name, ".zst"):
			z, err = zstd.NewWriter(&w)
		default:
			err = b.write(&w)
		}
		if z != nil {
			if err = b.write(z); err == nil {
				err = z.Close()
			}
		}
		file := path
		if err == nil && strings.HasSuffix(name, ".ctf") {
			err = os.Mkdir(path, 0o700)
			file = filepath.Join(path, "metadata")
		}
		if err == nil {
			err = os.WriteFile(file, w.Bytes(), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		args := append(b.args, path)
		if b.args == nil {
			args = []string{"convert", "--method", "none", path, "-o", filepath.Join(dir, name+".csv")}
		}
		c := exec.Command("meridian", args...)
		out, err := c.CombinedOutput()
		usage := c.ProcessState.SysUsage().(*syscall.Rusage)
		t.Logf("%s, %d KiB: %d MiB, %v, %.150s", name, w.Len()>>10, usage.Maxrss>>10, c.ProcessState.UserTime(), out)
		// What this process had when it started the command counts as the command's until its exec.
		var own syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
			t.Fatal(err)
		}
		most := int64(mostOfABomb)
		if name == "text.otlp.json" {
			most = 640 << 10 // the spans of one resource are held together, up to 256 MiB
		}
		if usage.Maxrss > max(most, own.Maxrss) {
			t.Errorf("%s of %d bytes takes %d MiB (%v)", name, w.Len(), usage.Maxrss>>10, err)
		}
		if err == nil && !strings.Contains(string(out), "skipped") && !strings.Contains(string(out), "cut in the middle") {
			t.Errorf("%s is read without a word: %.200s", name, out)
		}
	}
}
