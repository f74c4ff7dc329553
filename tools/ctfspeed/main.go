// Ctfspeed compares the speed of format/ctf with babeltrace2's on the same trace and machine.
//
// It writes a trace as LTTng's kernel tracer would: a stream for each of four processors, packets of 1 MiB, compact
// event headers, two context fields and six integers an event. Then each reader goes over it in turn, several times, in a
// process of its own on one core: babeltrace2 without output (-o dummy), which decodes all fields, and format/ctf without
// and with all fields decoded. It prints the medians of the processor time (user and system), which other work on the
// machine disturbs least, and their ratios.
//
// Then it reads the streams without an order between them, all fields decoded, on one processor and by two goroutines on
// two, and prints the medians of the elapsed time and their ratio.
//
//	go run ./tools/ctfspeed [-events 10000000] [-runs 5] [-dir DIR] [-least 5]
//
// With -least it fails unless format/ctf, with all fields decoded, is that many times as fast.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"meridian/format/ctf"
	"meridian/trace"
)

func main() {
	events := flag.Int("events", 10_000_000, "events in the trace")
	runs := flag.Int("runs", 5, "runs of each reader")
	dir := flag.String("dir", "", "directory to write the trace to and to leave it in (default a temporary one, removed at the end)")
	least := flag.Float64("least", 0, "fail unless format/ctf is this many times as fast as babeltrace2")
	only := flag.String("read", "", "read the trace in -dir once and exit: times, fields, stream, streams")
	flag.Parse()
	if *only != "" {
		if err := readOnce(*only, *dir, *events); err != nil {
			fmt.Fprintln(os.Stderr, "ctfspeed:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*events, *runs, *dir, *least); err != nil {
		fmt.Fprintln(os.Stderr, "ctfspeed:", err)
		os.Exit(1)
	}
}

func run(events, runs int, dir string, least float64) error {
	if dir == "" {
		temp, err := os.MkdirTemp("", "ctfspeed")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		dir = filepath.Join(temp, "trace")
	}
	if !ctf.IsTrace(dir) {
		if err := write(dir, events); err != nil {
			return err
		}
	}
	babeltrace, err := exec.LookPath("babeltrace2")
	if err != nil {
		return fmt.Errorf("%w: install the Debian package babeltrace2", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ours := func(what string) []string {
		return []string{self, "-read", what, "-dir", dir, "-events", strconv.Itoa(events)}
	}
	readers := []struct {
		name string
		args []string
	}{
		{"babeltrace2 -o dummy", []string{babeltrace, "-o", "dummy", dir}},
		{"ctf, times and classes", ours("times")},
		{"ctf, all fields", ours("fields")},
	}
	times := make([][]float64, len(readers))
	for range runs {
		for i, r := range readers { // in turn, so that a slow minute of the machine affects all
			c := exec.Command(r.args[0], r.args[1:]...)
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", r.name, err, out)
			}
			times[i] = append(times[i], (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds())
		}
	}
	median := func(i int) float64 { slices.Sort(times[i]); return times[i][len(times[i])/2] }
	base := median(0)
	for i, r := range readers {
		m := median(i)
		fmt.Printf("%-24s %8.3f s  %7.2f M events/s  %6.1f times babeltrace2\n", r.name, m, float64(events)/m/1e6, base/m)
	}
	one, two, err := sideBySide(runs, ours("stream"), ours("streams"))
	if err != nil {
		return err
	}
	fmt.Printf("streams without order, all fields, elapsed: one processor %.3f s, two %.3f s: %.2f times as fast\n", one, two, one/two)
	if ratio := base / median(len(readers)-1); ratio < least {
		return fmt.Errorf("%.1f times as fast as babeltrace2, less than %g", ratio, least)
	}
	return nil
}

// readOnce reads the trace as -read says.
func readOnce(what, dir string, events int) error {
	switch what {
	case "stream":
		return readStreams(dir, events, 1)
	case "streams":
		return readStreams(dir, events, 2)
	case "times", "fields":
		runtime.GOMAXPROCS(1)
		return read(dir, events, what == "fields")
	}
	return fmt.Errorf("unknown -read %q (times, fields, stream, streams)", what)
}

// read reads the trace once.
func read(dir string, events int, fields bool) error {
	var w trace.Warnings
	t, err := ctf.Open(dir, &w)
	if err != nil {
		return err
	}
	s := t.Events()
	defer s.Close()
	var e trace.Event
	n := 0
	for {
		if err := s.Next(&e); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if n++; fields {
			s.Values()
		}
	}
	if n != events || len(w.Lines()) > 0 {
		return fmt.Errorf("read %d of %d events; warnings: %q", n, events, w.Lines())
	}
	return nil
}
