package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// countedLoss reports whether a line says no more than that a busy machine's kernel or recorder lost events, and counted them.
func countedLoss(line string) bool {
	return strings.HasSuffix(strings.TrimSpace(line), ", counted as lost")
}

// keptFromUs is said of events that a busy machine's kernel shows to no recorder, and counts: no fault of a step.
const keptFromUs = "the kernel ran no program of the recorder for "

// TestEachStepDownIsSaidInOneLine records, with ever fewer rights, what was asked for or the next best. Where that is less than what was
// asked for, the exit code is 3.
func TestEachStepDownIsSaidInOneLine(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	setpriv, unshare := testneed.Program(t, "setpriv"), testneed.Program(t, "unshare")
	dir := everybodys(t)
	meridian, emitter := installed(t, dir, "meridian"), installed(t, dir, "emit")
	tracefs := bounded(t, noBPF)
	rawAlone := []string{setpriv, "--bounding-set=-all,+net_raw"}
	nothing := []string{setpriv, "--bounding-set=-all"}
	nobody := []string{setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"}
	// Something else lies where tracefs was, and nobody may mount another.
	hidden := []string{unshare, "-m", "sh", "-c", `for d in /sys/kernel/tracing /sys/kernel/debug; do [ ! -d $d ] || mount -t tmpfs none $d || exit; done; exec "$@"`, "sh"}
	const ebpf, ftrace, raw = "warning: kernel events by eBPF: not permitted: run as root, or with CAP_BPF and CAP_PERFMON",
		"warning: kernel events by tracefs: not permitted: run as root", "warning: packets: AF_PACKET: operation not permitted; capturing needs root (CAP_NET_RAW)"
	for i, test := range []struct {
		rights, asked []string
		lines         []string // what each begins with, and ends with behind a +
		kernel        bool     // kernel events are recorded
		packets       bool
		lacks         string // what else the recording lacks
	}{
		{nil, []string{"--kernel", "net,sched", "--packets"}, nil, true, true, ""},
		{tracefs, []string{"--kernel", "net,sched"}, []string{ebpf + "+; tracefs is used instead, and packets are captured"}, true, true, "not recorded: --kernel net: packets were captured instead"},
		{tracefs, []string{"--kernel", "sched"}, []string{ebpf + "+; tracefs is used instead"}, true, false, ""},
		{tracefs, []string{"--kernel", "sched", "--packets"}, []string{ebpf + "+; tracefs is used instead"}, true, true, ""},
		{tracefs, []string{"--kernel", "net"}, []string{ebpf + "+; packets are captured instead"}, false, true, "not recorded: --kernel net: packets were captured instead"},
		{bounded(t, "-all"), []string{"--kernel", "net,sched"}, []string{ebpf + "+; tracefs is used instead", raw + "+; none are captured",
			"warning: kernel events by tracefs: packets come without headers"}, true, false,
			"not recorded: --kernel net: tracefs has no headers of packets"},
		{append(hidden, rawAlone...), []string{"--kernel", "net,sched"}, []string{ebpf, ftrace + "+; packets are captured instead"}, false, true,
			"not recorded: --kernel net: packets were captured instead; not recorded: --kernel sched"},
		{append(hidden, nothing...), []string{"--kernel", "sched"}, []string{ebpf, ftrace}, false, false, "not recorded: --kernel sched"},
		{nobody, []string{"--kernel", "net,sched"}, []string{ebpf, ftrace, raw + "+; only what programs emit is recorded"}, false, false,
			"not recorded: --kernel net; not recorded: --kernel sched"},
		{nobody, []string{"--packets"}, []string{raw + "+; only what programs emit is recorded"}, false, false, "not recorded: --packets: none were captured"},
		{nobody, nil, nil, false, false, ""},
	} {
		at := filepath.Join(dir, fmt.Sprint("trace", i))
		rings := filepath.Join(dir, fmt.Sprint("rings", i))
		if err := os.Mkdir(rings, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(rings, 0o777); err != nil {
			t.Fatal(err)
		}
		args := append(append(append([]string{}, test.rights...), meridian, "record", "-o", at, "--rings", rings), test.asked...)
		o := ran(t, dir, append(args, "--", emitter, "5")...)
		what := fmt.Sprintf("%q of %q", test.asked, test.rights)
		if test.lacks == "" && o.code != 0 && !slices.ContainsFunc(strings.Split(o.stderr, "\n"), countedLoss) || test.lacks != "" && o.code != 3 || !strings.Contains(o.stdout, "emitted 5\n") || !strings.Contains(o.stdout, "  emit\n") {
			t.Errorf("%s: exit code %d\n%s%s", what, o.code, o.stdout, o.stderr)
			continue
		}
		said := strings.Split(strings.TrimSuffix(o.stderr, "\n"), "\n")
		lacks := slices.ContainsFunc(said, func(line string) bool { return strings.HasSuffix(line, test.lacks) })
		said = slices.DeleteFunc(said, func(line string) bool { // some kernels do not report all switches, which is not a step
			return line == "" || strings.Contains(line, "switches of threads were not reported by the kernel") ||
				countedLoss(line) || test.lacks != "" && strings.HasSuffix(line, test.lacks)
		})
		if !lacks {
			t.Errorf("%s: it is not said that %s:\n%s", what, test.lacks, o.stderr)
		}
		if len(said) != len(test.lines) {
			t.Errorf("%s: %d lines, not %d:\n%s", what, len(said), len(test.lines), o.stderr)
			continue
		}
		for k, line := range said {
			begin, end, _ := strings.Cut(test.lines[k], "+")
			if !strings.HasPrefix(line, "meridian: "+begin) || !strings.HasSuffix(line, end) {
				t.Errorf("%s: line %d is\n%s\nnot %s", what, k, line, test.lines[k])
			}
		}
		kernel, _ := filepath.Glob(filepath.Join(at, "kernel_*"))
		packets, _ := filepath.Glob(filepath.Join(at, "packets", "*.pcapng"))
		if len(kernel) > 0 != test.kernel || len(packets) > 0 != test.packets {
			t.Errorf("%s: recorded are %q and %q", what, kernel, packets)
		}
	}
}
