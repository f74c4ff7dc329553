package tracefs

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// prefix begins the names of our instances, and only of ours.
const prefix = "meridian-"

// instance is a directory of ftrace's with settings, events and buffers of its own.
type instance struct {
	dir  string
	gate *os.File // tracing_on; while it is open nobody can remove the instance
	runs bool     // or ran
}

// newInstance makes an instance that is set up and does not run yet. First it removes what recorders that were killed
// have left: an instance that somebody uses cannot be removed.
func newInstance(m *mount, bufferSize int) (*instance, error) {
	parent := filepath.Join(m.dir, "instances")
	stale, err := os.ReadDir(parent)
	if err != nil {
		return nil, unavailable("looking for instances", err)
	}
	for _, e := range stale {
		if strings.HasPrefix(e.Name(), prefix) {
			_ = unix.Rmdir(filepath.Join(parent, e.Name())) // it may be in use
		}
	}
	in := &instance{}
	for range 8 { // another recorder may take ours for stale before it is opened
		in.dir = filepath.Join(parent, prefix+rand.Text()[:12])
		if err := os.Mkdir(in.dir, 0o700); err != nil {
			return nil, unavailable("making an instance", err)
		}
		in.gate, err = os.OpenFile(filepath.Join(in.dir, "tracing_on"), os.O_WRONLY, 0)
		if !gone(err) {
			break
		}
	}
	if err != nil {
		return nil, unavailable("opening an instance", err)
	}
	if err := in.setUp(bufferSize); err != nil {
		in.remove()
		return nil, err
	}
	return in, nil
}

// setUp sets what recording asks for. Without overwriting, a full buffer keeps what is older, and no page is lost
// that an event before it asks for.
func (in *instance) setUp(bufferSize int) error {
	for _, s := range []struct{ file, value string }{
		{"tracing_on", "0"},
		{"trace_clock", "mono"},
		{"options/overwrite", "0"},
		{"options/event-fork", "1"},
		{"options/record-cmd", "0"}, // the reader knows names by itself
		{"options/record-tgid", "0"},
		{"options/stacktrace", "0"},
		{"options/userstacktrace", "0"},
		{"buffer_size_kb", strconv.Itoa(max(bufferSize, 4096) / 1024)},
	} {
		if err := in.write(s.file, s.value); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unavailable("setting up", err)
		}
	}
	return nil
}

// begin lets the events in, if it did not yet.
func (in *instance) begin() error {
	if in.runs {
		return nil
	}
	in.runs = true
	return in.set("1")
}

// end lets no more events in.
func (in *instance) end() error {
	in.runs = true // for good
	return in.set("0")
}

func (in *instance) set(value string) error {
	_, err := in.gate.WriteAt([]byte(value), 0)
	return err
}

// read returns a file of the instance.
func (in *instance) read(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(in.dir, name))
	return string(b), err
}

func (in *instance) write(name, value string) error {
	return in.put(name, value, os.O_WRONLY|os.O_TRUNC)
}

// append adds to a file that is a list.
func (in *instance) append(name, value string) error {
	return in.put(name, value, os.O_WRONLY|os.O_APPEND)
}

func (in *instance) put(name, value string, how int) error {
	f, err := os.OpenFile(filepath.Join(in.dir, name), how, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%q: %w", value, err)
	}
	return nil
}

// numbers returns those in a file that is a list of them.
func (in *instance) numbers(name string) (map[int32]bool, error) {
	s, err := in.read(name)
	if err != nil {
		return nil, err
	}
	all := make(map[int32]bool)
	for _, word := range strings.Fields(s) {
		if n, err := strconv.ParseInt(word, 10, 32); err == nil {
			all[int32(n)] = true
		}
	}
	return all, nil
}

// remove removes the instance, of which nothing may be open any more. Another recorder that begins just now may take
// it for stale as soon as the gate is closed and be the one who removes it.
func (in *instance) remove() error {
	err := in.gate.Close()
	if failed := unix.Rmdir(in.dir); failed != nil && !gone(failed) {
		err = errors.Join(err, fmt.Errorf("removing instance %s: %w", in.dir, failed))
	}
	return err
}

// gone says whether the error is that of an instance that another recorder has removed: its directory is not there, or
// was found and had no instance behind it any more.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV)
}

// counters are the lines of per_cpu/cpuN/stats that count what was lost.
var counters = [][]byte{[]byte("overrun: "), []byte("commit overrun: "), []byte("dropped events: ")}

// parseStats returns how many events a processor's stats say were lost.
func parseStats(s []byte) (lost uint64) {
	for line := range bytes.Lines(s) {
		for _, counter := range counters {
			if rest, ok := bytes.CutPrefix(line, counter); ok {
				n, _ := strconv.ParseUint(string(bytes.TrimSpace(rest)), 10, 64)
				lost += n
			}
		}
	}
	return lost
}
