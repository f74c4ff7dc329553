//go:build linux

// Recordbench measures the cost of recording a host: the remaining network throughput, the CPU time of the recorder, and
// whether all events are recorded. tcpdump and trace-cmd are measured in turn with it, in one run on one machine.
//
//	namespace "web"                       namespace "db"             unrecorded | meridian ... | tcpdump | trace-cmd
//	iperf3 -c ----- eth0 == veth == eth0 ----- iperf3 -s             meridian ... | tcpdump | trace-cmd | unrecorded
//	     \__ recorded at this end, and by some at both __/           ...
//
//	emitter: 1,000,000 events/s of two goroutines --> rings --> meridian record     alone, spinning, beside other work
//
//	go run ./tools/recordbench -audit 200               all counts of the same packets agree, or say what is lost (audit.go)
//	go run ./tools/recordbench [-rounds 10] [-seconds 20] [-runs 5] [-only TEXT] [-check] [-markdown]
//
// Two loads: TCP as fast as it goes, whose packets are few and large, and small datagrams, 100,000 a second. What is
// printed are medians over the rounds, ratios of medians to the unrecorded, the recorder's time of a core, and what the
// interface counted and the trace lacks. A recorder is whatever processes it has; what the kernel does in the recorded
// program's own time shows in the throughput. Packets that one finds in its trace are counted by what it says itself at
// its end, trace-cmd's by reading its file.
//
// It needs root, iproute2, iperf3 and, to be compared with, tcpdump and trace-cmd; bin/meridian is from make build.
// With -check the exit code is 1 if a bar is missed (bars.go). Nothing here is a test: other work on the machine may not
// break the build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"meridian/internal/netlab"
)

// bench is what is to be measured, and what came out.
type bench struct {
	meridian string
	dir      string // for traces, which must not be in memory
	rounds   int
	length   time.Duration // of a load in a round
	runs     int
	only     string

	groups string // of kernel events, for programs

	loads  []*load
	events []*emitted
	gap    *account

	runTimes map[string][]runTime // by program
}

func main() {
	netlab.Helper()
	if len(os.Args) > 1 && os.Args[1] == "emit" {
		exit(emit(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "work" {
		exit(work(os.Args[2:]))
	}
	b := &bench{}
	flag.StringVar(&b.meridian, "meridian", "bin/meridian", "the command to measure")
	flag.IntVar(&b.rounds, "rounds", 10, "how many times each recorder has its turn")
	seconds := flag.Float64("seconds", 20, "how long each load is recorded, all rounds together")
	flag.IntVar(&b.runs, "runs", 5, "how many times a program's events are recorded in each way")
	flag.StringVar(&b.only, "only", "", "measure only what has this text in its name: tcp, udp, account, events; programs measures each of the recorder's programs alone")
	flag.StringVar(&b.groups, "groups", "net,sched,irq,syscalls,sockets,disk", "`GROUPS` of kernel events whose programs are measured")
	check := flag.Bool("check", false, "exit with 1 if a bar is missed")
	markdown := flag.Bool("markdown", false, "print tables as Markdown")
	sessions := flag.Int("audit", 0, "measure nothing, but compare all counts of the packets of so many sessions")
	datagrams := flag.Int("datagrams", 200_000, "of each session of the audit")
	flag.Parse()
	if *sessions > 0 {
		exit(b.audit(os.Stdout, *sessions, *datagrams))
	}
	b.length = max(time.Second, time.Duration(*seconds/float64(b.rounds)+0.5)*time.Second) // iperf3 knows whole seconds
	if err := b.run(); err != nil {
		exit(err)
	}
	b.print(os.Stdout, *markdown)
	if missed := b.judge(os.Stdout); *check && missed > 0 {
		exit(fmt.Errorf("%d bars missed", missed))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "recordbench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (b *bench) run() error {
	return b.prepared(func() error {
		if err := netlab.Outside(context.Background(), b.dir, netlab.TwoHosts, b.traffic); err != nil {
			return err
		}
		return errors.Join(b.emitters(), b.programs())
	})
}

// prepared calls do with the command found, and with a directory that is removed afterwards.
func (b *bench) prepared(do func() error) (err error) {
	if b.meridian, err = filepath.Abs(b.meridian); err != nil {
		return err
	}
	if _, err := os.Stat(b.meridian); err != nil {
		return fmt.Errorf("%w; run make build", err)
	}
	if b.dir, err = os.MkdirTemp("", "recordbench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	return do()
}

func (b *bench) wanted(name string) bool { return strings.Contains(name, b.only) }

// progress prints to stderr what is being measured.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// print writes the tables.
func (b *bench) print(w io.Writer, markdown bool) {
	for _, l := range b.loads {
		l.print(w, markdown)
	}
	if b.gap != nil {
		b.gap.print(w)
	}
	printEmitted(w, b.events, markdown)
	printPrograms(w, b.runTimes)
}
