// Command runkill kills parts of experiments (meridian run) at random instants and checks that nothing is left behind and that the
// report names what was killed.
//
//	runkill -meridian PATH [-n 100] [-seed N] [-within 5s] [-on namespaces|processes] [-kind controller|keeper|host|daemon|^C|^C^C]
//
// Each round runs an experiment of two hosts with a command, a daemon that speaks, a server, and a program that leaves behind a child
// in a session of its own. At a random instant one of these is killed, half of the times by SIGKILL, else by SIGTERM: a daemon, a host's
// process, a keeper, the controller; or the controller is interrupted, once or twice. Most runs are long, so that the kill comes while
// they run; one of five is short, so that it may come at their end. Five seconds after the controller has ended there must be nothing
// of the experiment (see trace): no process (told by a variable of its environment, which all inherit), namespace, mount, control group, temporary
// directory or ring. It prints a line a round and fails at the first that is wrong.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// experiment is what is killed. The daemon that speaks and the command take some time, so that a kill hits anything.
const experiment = `name: kills
files: [speaks.sh]
hosts: [a, b]
timeout: 300s
daemons:
  command: {hosts: all, run: [sleep, "0.4"]}
  server: {host: a, shell: "echo listening; exec sleep 1000", ready: listening}
  leaves: {host: b, shell: "setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 & (sleep 1001 &) ; echo left; exec sleep 1000", ready: left}
  speaks: {hosts: all, run: [sh, speaks.sh], speaks: true}
schedule:
  - [server, leaves]
`

const speaks = `echo '{"waiting":["work"]}'
while read -r line; do
	call=${line#*\"start\":}
	sleep 0.3
	echo "{\"done\":${call%%,*}}"
done
`

// blocks are those of a run, beside the first.
func blocks(n int) string { return strings.Repeat("  - [command, speaks.work]\n", n) }

// Lengths of a run in blocks of 0.4 s.
const (
	long  = 40 // it does not end before the kill
	short = 2
)

// kinds are what is killed, and how.
var kinds = []string{"controller", "keeper", "host", "daemon", "^C", "^C^C"}

func main() {
	meridian := flag.String("meridian", "meridian", "the program `PATH`")
	n := flag.Int("n", 100, "rounds")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random numbers")
	on := flag.String("on", "", "place of the hosts; both in turn if empty")
	flag.DurationVar(&leftWithin, "within", 5*time.Second, "how long after the controller everything may take to end")
	kind := flag.String("kind", "", "what is killed, `KIND` of "+strings.Join(kinds, ", ")+"; all if empty")
	flag.Parse()
	if err := rounds(*meridian, *n, *seed, *on, *kind); err != nil {
		fmt.Fprintln(os.Stderr, "runkill:", err)
		os.Exit(1)
	}
}

func rounds(meridian string, n int, seed uint64, on, kind string) error {
	dir, err := os.MkdirTemp("", "runkill-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"long.yaml": experiment + blocks(long), "short.yaml": experiment + blocks(short), "speaks.sh": speaks} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	fmt.Printf("seed %d\n", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	places := []string{"namespaces", "processes"}
	if on != "" {
		places = []string{on}
	}
	of := kinds
	if kind != "" {
		of = []string{kind}
	}
	counts, missed := make(map[string]int), 0
	for i := range n {
		r := &round{meridian: meridian, dir: dir, name: strconv.Itoa(i), place: places[i%len(places)], kind: of[random.IntN(len(of))], random: random}
		r.mark = "RUNKILL=" + filepath.Base(dir) + "-" + r.name + "-"
		if err := r.run(); err != nil {
			return fmt.Errorf("round %d (seed %d): %s: %w", i, seed, r.what, err)
		}
		if counts[r.kind]++; !r.hit {
			missed++
		}
		fmt.Printf("%3d %-10s %-44s ended after %4d ms  %s\n", i, r.place, r.what, r.ended.Milliseconds(), r.said)
	}
	fmt.Printf("nothing was left behind: %v; %d came after the end\n", counts, missed)
	return nil
}

// round is one experiment and what is done to it.
type round struct {
	meridian, dir, name, place, mark string
	random                           *rand.Rand
	kind, what, said                 string
	hit                              bool
	ended                            time.Duration // from the last signal to the controller's end
	victim                           process
}

// process is a process of the experiment.
type process struct {
	pid          int
	kind         string // controller, keeper, host or daemon
	host, daemon string
}

func (r *round) run() error {
	out := filepath.Join(r.dir, "out-"+r.name)
	file, within := "long.yaml", 3*time.Second
	if r.random.IntN(5) == 0 {
		file, within = "short.yaml", 1500*time.Millisecond
	}
	c := exec.Command(r.meridian, "run", filepath.Join(r.dir, file), "--on", r.place, "-o", out, "-q")
	temp := filepath.Join(r.dir, "tmp-"+r.name)
	if err := os.Mkdir(temp, 0o777); err != nil {
		return err
	}
	// The environment of all: the mark, and a directory for temporary files.
	c.Env = append(os.Environ(), r.mark+"=", "TMPDIR="+temp)
	var stdout bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stdout
	traces := newTraces(temp)
	if err := c.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Wait()
	}()
	time.Sleep(time.Duration(r.random.Int64N(int64(within))))
	traces.note(r.processes(0))
	r.hit = r.kill(c.Process.Pid, done)
	signalled := time.Now()
	select {
	case <-done:
		r.ended = time.Since(signalled)
	case <-time.After(3 * time.Minute):
		return fmt.Errorf("the controller does not end:\n%s", stdout.String())
	}
	if err := r.nothingLeft(traces); err != nil {
		return fmt.Errorf("%w\n%s", err, stdout.String())
	}
	if !r.hit {
		r.said = "it had ended before"
		return os.RemoveAll(out)
	}
	if err := r.named(out, c.ProcessState); err != nil {
		return fmt.Errorf("%w\n%s", err, stdout.String())
	}
	return os.RemoveAll(out)
}

// victims are the kinds of processes that are not that of the round's name.
var victims = map[string]string{"^C": "controller", "^C^C": "controller"}

// oneSignal is how long two signals of a ^C^C are apart at least: sooner they count as one.
const oneSignal = 250 * time.Millisecond

// kill kills a random process of the experiment, when there is one. It reports whether the controller still ran.
func (r *round) kill(controller int, done <-chan struct{}) bool {
	kind := r.kind
	if victims[kind] != "" {
		kind = victims[kind]
	}
	signals := []syscall.Signal{syscall.SIGKILL}
	switch {
	case r.kind == "^C":
		signals = []syscall.Signal{syscall.SIGINT}
	case r.kind == "^C^C":
		signals = []syscall.Signal{syscall.SIGINT, syscall.SIGINT}
	case r.random.IntN(2) == 0:
		signals = []syscall.Signal{syscall.SIGTERM}
	}
	r.what = fmt.Sprintf("%v of a %s", signals, kind)
	for {
		select {
		case <-done:
			return false
		default:
		}
		var of []process
		for _, p := range r.processes(controller) {
			if p.kind == kind {
				of = append(of, p)
			}
		}
		if len(of) == 0 { // not yet
			time.Sleep(5 * time.Millisecond)
			continue
		}
		r.victim = of[r.random.IntN(len(of))]
		r.what += fmt.Sprintf(" (%s %s)", r.victim.host, r.victim.daemon)
		for i, signal := range signals {
			if i > 0 {
				time.Sleep(oneSignal + time.Duration(r.random.Int64N(int64(200*time.Millisecond))))
			}
			if err := syscall.Kill(r.victim.pid, signal); i == 0 && err != nil {
				return false
			}
		}
		return true
	}
}

// processes finds what carries the mark.
func (r *round) processes(controller int) (all []process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environment, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !bytes.Contains(environment, []byte(r.mark)) {
			continue
		}
		p := process{pid: pid, kind: "other"}
		args, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		p.host, p.daemon = variable(environment, "MERIDIAN_RUN_HOST"), variable(environment, "MERIDIAN_RUN_DAEMON")
		switch {
		case pid == controller:
			p.kind = "controller"
		case bytes.Contains(args, []byte("--kept")):
			p.kind = "host"
		case bytes.Contains(args, []byte("run-host")):
			p.kind = "keeper"
		case p.daemon == "speaks" && bytes.Contains(args, []byte("speaks.sh")), p.daemon == "command", p.daemon == "server":
			p.kind = "daemon"
		}
		all = append(all, p)
	}
	return all
}

func variable(environment []byte, name string) string {
	for one := range bytes.SplitSeq(environment, []byte{0}) {
		if value, ok := strings.CutPrefix(string(one), name+"="); ok {
			return value
		}
	}
	return ""
}

// leftWithin is how long after the controller everything may take to end. Where the machine is busy, as in tests, that is long.
var leftWithin = time.Minute

// nothingLeft checks that all has gone.
func (r *round) nothingLeft(t *traces) error {
	deadline := time.Now().Add(leftWithin)
	for {
		err := r.left(t)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (r *round) left(t *traces) error {
	for _, p := range r.processes(0) {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		return fmt.Errorf("process %d is left (%s): %q", p.pid, p.kind, bytes.ReplaceAll(args, []byte{0}, []byte{' '}))
	}
	return t.left()
}

// named checks that the report names what was killed.
func (r *round) named(out string, state *os.ProcessState) error {
	text, err := os.ReadFile(filepath.Join(out, "report.json"))
	if errors.Is(err, os.ErrNotExist) && r.victim.kind == "controller" {
		r.said = "the controller had not begun"
		return nil
	}
	if err != nil {
		return err
	}
	var report struct {
		State string
		Run   struct {
			Cause *struct{ Host, Daemon, What string }
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return err
	}
	cause := report.Run.Cause
	if cause == nil {
		if r.victim.kind == "controller" && report.State == "running" {
			r.said = "the report says that the run did not end"
			return nil
		}
		if report.State == "ended" && state.ExitCode() == 0 {
			r.said = "it came after the end"
			return nil
		}
		return fmt.Errorf("no cause is named: state %s, %v", report.State, state)
	}
	r.said = fmt.Sprintf("%s %s: %s", cause.Host, cause.Daemon, cause.What)
	switch {
	case r.victim.kind == "controller" && strings.Contains(cause.What, "interrupted"):
	case (r.kind == "keeper" || r.kind == "host") && cause.Host == r.victim.host:
	case r.kind == "daemon" && cause.Host == r.victim.host && cause.Daemon == r.victim.daemon:
	default:
		return fmt.Errorf("%+v is named", *cause)
	}
	return nil
}
