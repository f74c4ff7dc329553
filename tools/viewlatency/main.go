// Endtoend measures how fast `meridian view` makes an index of traces on a disk, from their bytes to the address of the page.
//
// It writes traces of hosts that talk to one another, a directory of CTF for each (traces.go): as LTTng's kernel tracer
// would, with packets that are matched, or as programs with sensors would, with marks. Then it runs
//
//	meridian view --no-browser --index FILE -q DIR/*
//
// several times, each of the binaries that are to be compared in turn, and prints the medians of how long each took until
// it told the address, of the time of processors that it had, and of what it held at most: altogether (VmHWM), in which
// the pages of mapped traces count though the system can take them back at any time, and of its own (RssAnon, looked at
// every 5 ms). Of several binaries it prints the ratios to the first.
//
//	go run ./tools/viewlatency -dir DIR [-kind kernel|sensors] [-events 10000000] [-hosts 8] [-messages 1000000]
//	    [-runs 5] [-binary FILE[,FILE...]] [-profile FILE]
//
// Traces that are in DIR already are used as they are.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"meridian/internal/load"
)

func main() {
	var o load.Options
	flag.IntVar(&o.Events, "events", 10_000_000, "how many events the traces have, about")
	flag.IntVar(&o.Hosts, "hosts", 8, "of how many hosts they are")
	flag.IntVar(&o.Messages, "messages", 1_000_000, "how many messages go between them")
	dir := flag.String("dir", "", "where the traces are written and left; empty: a temporary directory")
	kind := flag.String("kind", "kernel", "what the traces are: kernel or sensors")
	runs := flag.Int("runs", 5, "how often each binary is run; 0 only writes the traces")
	binaries := flag.String("binary", "", "the commands to be run, with commas between them; empty: one built from the sources")
	profile := flag.String("profile", "", "where a profile of one more run, in this process, is written")
	flag.Parse()
	if err := run(context.Background(), o, *kind, *dir, *binaries, *profile, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "viewlatency:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o load.Options, kind, dir, binaries, profile string, runs int) error {
	scratch, err := os.MkdirTemp("", "endtoend")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if dir == "" {
		dir = filepath.Join(scratch, "traces")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
		if err := writeTraces(dir, kind, o); err != nil {
			return err
		}
		runtime.GC()
	}
	traces, err := filepath.Glob(filepath.Join(dir, "*"))
	if err == nil && profile != "" {
		err = profiled(ctx, traces, profile)
	}
	if err != nil || runs == 0 {
		return err
	}
	list := strings.Split(binaries, ",")
	if binaries == "" {
		list = []string{filepath.Join(scratch, "meridian")}
		build := exec.CommandContext(ctx, "go", "build", "-o", list[0], "meridian/cmd/meridian")
		if build.Stderr = os.Stderr; build.Run() != nil {
			return fmt.Errorf("building the command failed")
		}
	}
	return compare(ctx, list, traces, scratch, runs)
}
