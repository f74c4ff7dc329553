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

	"meridian/internal/record/internal/tracing"
)

// prefix begins the names of our instances, and of no others.
const prefix = "meridian-"

// instance is an ftrace instance: a directory with settings, events and ring buffers of its own.
type instance struct {
	dir     string
	gate    *os.File // tracing_on; while it is open the instance cannot be removed
	started bool     // it records or has recorded
}

// newInstance makes an instance that is set up and does not record yet. First it removes the instances that killed recorders
// have left; one that is in use cannot be removed.
func newInstance(m *tracing.Mount, bufferSize int) (*instance, error) {
	parent := filepath.Join(m.Dir, "instances")
	stale, err := os.ReadDir(parent)
	if err != nil {
		return nil, unavailable("listing instances", err)
	}
	for _, e := range stale {
		if strings.HasPrefix(e.Name(), prefix) {
			_ = unix.Rmdir(filepath.Join(parent, e.Name())) // it may be in use
		}
	}
	in := &instance{}
	for range 8 { // another recorder may remove ours as stale before it is opened
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

// setUp sets the options of a recording. Without overwriting, a full buffer drops the newest events: pages that were written
// stay, so that no event is lost before a later one of its page.
func (in *instance) setUp(bufferSize int) error {
	for _, s := range []struct{ file, value string }{
		{"tracing_on", "0"},
		{"trace_clock", "mono"},
		{"options/overwrite", "0"},
		{"options/event-fork", "1"},
		{"options/record-cmd", "0"}, // the decoder learns names from events
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

// begin starts the recording. It does nothing if that was started or ended before.
func (in *instance) begin() error {
	if in.started {
		return nil
	}
	in.started = true
	return in.set("1")
}

// end stops the recording for good.
func (in *instance) end() error {
	in.started = true
	return in.set("0")
}

func (in *instance) set(value string) error {
	_, err := in.gate.WriteAt([]byte(value), 0)
	return err
}

// enable enables an event, with a filter if that is not empty.
func (in *instance) enable(event, filter string) error {
	if filter != "" {
		if err := in.write("events/"+event+"/filter", filter); err != nil {
			return err
		}
	}
	return in.write("events/"+event+"/enable", "1")
}

// read returns a file of the instance.
func (in *instance) read(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(in.dir, name))
	return string(b), err
}

func (in *instance) write(name, value string) error {
	return in.put(name, value, os.O_WRONLY|os.O_TRUNC)
}

// append adds to a file that holds a list.
func (in *instance) append(name, value string) error {
	return in.put(name, value, os.O_WRONLY|os.O_APPEND)
}

func (in *instance) put(name, value string, flags int) error {
	f, err := os.OpenFile(filepath.Join(in.dir, name), flags, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%q: %w", value, err)
	}
	return nil
}

// numbers returns the numbers in a file that holds a list.
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
// it for stale as soon as the gate is closed and be the one that removes it.
func (in *instance) remove() error {
	err := in.gate.Close()
	if failed := unix.Rmdir(in.dir); failed != nil && !gone(failed) {
		err = errors.Join(err, fmt.Errorf("removing instance %s: %w", in.dir, failed))
	}
	return err
}

// gone reports whether the error is that of an instance which another recorder has removed: its directory is missing, or
// was found while the instance was being removed.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV)
}

// counters are the lines of per_cpu/cpuN/stats that count lost events.
var counters = [][]byte{[]byte("overrun: "), []byte("commit overrun: "), []byte("dropped events: ")}

// parseStats returns how many events were lost by a processor's stats.
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
