package tracefs

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"meridian/internal/record/kernel"
)

var renew = flag.Bool("capture", false, "write testdata/linux from the rings of this machine's kernel, as root")

func TestPagesOfThisKernelSayWhatItPrints(t *testing.T) {
	dir := t.TempDir()
	if *renew {
		dir = filepath.Join("testdata", "linux")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	capture(t, dir)
	t.Log(compare(t, dir))
}

const allGroups = kernel.Net | kernel.Sched | kernel.IRQ | kernel.Syscalls

// capture records some of everything into a directory.
func capture(t *testing.T, dir string) {
	t.Helper()
	s, err := newSession(32<<10, false)
	if err != nil {
		missing(t, err)
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.all.write("trace_options", "nohash-ptr"); err != nil {
		t.Log(err)
	}
	l, err := s.enable(allGroups, false, warn(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.openRings(l.page); err != nil {
		t.Fatal(err)
	}
	for _, tid := range threads(os.Getpid()) { // the machine may be busy with other things
		if err := s.all.append("set_event_pid", strconv.Itoa(int(tid))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.all.begin(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	chat(t)
	time.Sleep(150 * time.Millisecond) // longer than the 27 bits of a difference
	chat(t)
	if err := s.all.end(); err != nil {
		t.Fatal(err)
	}
	save(t, s, dir)
}

// save writes the formats, and each ring as text and as pages.
func save(t *testing.T, s *session, dir string) {
	t.Helper()
	put := func(name, text string, err error) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"header_page", "header_event"} {
		text, err := s.all.read("events/" + name)
		put(name, text, err)
	}
	for k := kernel.Kind(1); k < kinds; k++ {
		if known[k].event == "" {
			continue
		}
		text, err := s.all.read("events/" + known[k].event + "/format")
		put(filepath.Base(known[k].event)+".format", text, err)
	}
	for _, g := range s.rings { // the text first: reading pages takes them out of the ring
		name := "cpu" + strconv.Itoa(g.cpu)
		text, err := s.all.read("per_cpu/" + name + "/trace")
		put(name+".txt", text, err)
		var pages []byte
		for {
			n, err := g.readPage(g.buffer)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			pages = append(pages, g.buffer[:n]...)
		}
		put(name+".raw", string(pages), nil)
	}
}

// chat sends some packets to ourselves.
func chat(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintln(c, "hello")
}
