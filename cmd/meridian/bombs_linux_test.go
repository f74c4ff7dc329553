package main_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
	if testing.Short() || testneed.Race() {
		t.Skip("left out with -short: unpacks gigabytes")
	}
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
	for name, b := range map[string]struct {
		repeated
		zip  bool
		args []string
	}{
		"capture.pcap.gz":     {repeated{"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00", "\xff", 8 * many, ""}, true, nil},
		"capture.pcapng.gz":   {repeated{"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x1c\x00\x00\x00", "\x06\x00\x00\x00\xf0\xff\xff\xff", many, ""}, true, nil},
		"nested.otlp.json":    {repeated{`{"resourceSpans":`, "[", 4 << 20, ""}, true, nil},
		"nested.jaeger.json":  {repeated{`{"data":`, `{"a":`, 4 << 20, ""}, true, nil},
		"nested.chrome.json":  {repeated{`{"traceEvents":`, "[", 4 << 20, ""}, true, nil},
		"text.chrome.json":    {repeated{`[{"ph":"i","ts":1,"pid":1,"tid":1,"name":"`, "a", 8 * many, `"}]`}, true, nil},
		"unknown.chrome.json": {repeated{`{"traceEvents":[],"x":[0`, ",0", 4 * many, `]}`}, true, nil},
		"line.txt":            {repeated{"a b 1 2\na b ", "3", 8 * many, " 4\n"}, true, nil},
		"experiment.yaml":     {repeated{aliases, "", 0, ""}, false, []string{"run", "--check"}},
		"nested.yaml":         {repeated{"hosts: ", "[", 1 << 20, ""}, false, []string{"run", "--check"}},
	} {
		path := filepath.Join(dir, name)
		var w bytes.Buffer
		var err error
		if b.zip {
			z, _ := gzip.NewWriterLevel(&w, gzip.BestSpeed) // a level that there is
			if err = b.write(z); err == nil {
				err = z.Close()
			}
		} else {
			err = b.write(&w)
		}
		if err == nil {
			err = os.WriteFile(path, w.Bytes(), 0o600)
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
		if usage.Maxrss > max(mostOfABomb, own.Maxrss) {
			t.Errorf("%s of %d bytes takes %d MiB (%v)", name, w.Len(), usage.Maxrss>>10, err)
		}
		if err == nil && !strings.Contains(string(out), "skipped") && !strings.Contains(string(out), "cut in the middle") {
			t.Errorf("%s is read without a word: %.200s", name, out)
		}
	}
}
