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

// capture records some of everything into a directory.
func capture(t *testing.T, dir string) {
	t.Helper()
	r := &Recorder{roots: map[int]bool{}, warnings: warn(t)}
	var err error
	if r.mount, err = findMount(); err == nil {
		r.all, err = newInstance(r.mount, 32<<10)
	}
	if err != nil {
		missing(t, err)
	}
	defer func() {
		for _, g := range r.rings {
			g.pages.Close()
			g.stats.Close()
		}
		if err := r.all.remove(); err != nil {
			t.Error(err)
		}
		r.mount.close()
	}()
	if err := r.all.write("trace_options", "nohash-ptr"); err != nil {
		t.Log(err)
	}
	r.decoder = newDecoder(kernel.Net|kernel.Sched|kernel.IRQ|kernel.Syscalls, false, 2, &r.layouts, newTasks(nobody))
	if err := r.enable(kernel.Net | kernel.Sched | kernel.IRQ | kernel.Syscalls); err != nil {
		t.Fatal(err)
	}
	if err := r.countCPUs(); err != nil {
		t.Fatal(err)
	}
	if err := r.openRings(); err != nil {
		t.Fatal(err)
	}
	for _, tid := range threads(os.Getpid()) { // the machine may be busy with other things
		if err := r.all.append("set_event_pid", strconv.Itoa(int(tid))); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.all.begin(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	chat(t)
	time.Sleep(150 * time.Millisecond) // longer than the 27 bits of a difference
	chat(t)
	if err := r.all.end(); err != nil {
		t.Fatal(err)
	}

	put := func(name, text string, err error) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"header_page", "header_event"} {
		text, err := r.all.read("events/" + name)
		put(name, text, err)
	}
	for k := kind(1); k < kinds; k++ {
		text, err := r.all.read("events/" + known[k].event + "/format")
		put(filepath.Base(known[k].event)+".format", text, err)
	}
	for _, l := range r.merge.lanes { // the text first: reading pages takes them out of the ring
		name := "cpu" + strconv.Itoa(l.cpu)
		text, err := r.all.read("per_cpu/" + name + "/trace")
		put(name+".txt", text, err)
		var pages []byte
		for {
			n, err := l.fill(l.buffer)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			pages = append(pages, l.buffer[:n]...)
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
