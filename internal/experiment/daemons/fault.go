package daemons

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"meridian/internal/experiment/protocol"
)

// fault disturbs the host on which it runs: its daemons, and where hosts are namespaces, its network. A fault lasts until a phase ends it,
// or the experiment.
var fault = &standard{
	spec: protocol.Spec{Name: "fault", Doc: "stops daemons of its host, and takes links, packets and time from its namespace", Phases: []protocol.PhaseSpec{
		{Name: "stop", Doc: "stops a daemon of this host by SIGSTOP, with all of its process group", With: []protocol.Param{
			{Name: "daemon", Doc: "which", Required: true},
			{Name: "for", Doc: "how long, such as 200ms, after which it goes on and the phase ends (default: until resume)"},
		}},
		{Name: "resume", Doc: "lets a daemon go on by SIGCONT", With: []protocol.Param{
			{Name: "daemon", Doc: "which", Required: true},
			{Name: "after", Doc: "how long to wait first, such as 200ms (default: not at all)"},
		}},
		{Name: "down", Doc: "takes the interface down by which a host is reached", With: []protocol.Param{{Name: "to", Doc: "that host", Required: true}}},
		{Name: "up", Doc: "brings the interface up that phase down took down, with its routes", With: []protocol.Param{{Name: "to", Doc: "the host of phase down", Required: true}}},
		{Name: "lose", Doc: "drops packets that leave by the interface by which a host is reached", With: []protocol.Param{
			{Name: "to", Doc: "that host", Required: true},
			{Name: "part", Doc: "of the packets, 0 to 1; 0: none any more", Required: true},
		}},
		{Name: "delay", Doc: "delays packets that leave by the interface by which a host is reached (netem)", With: []protocol.Param{
			{Name: "to", Doc: "that host", Required: true},
			{Name: "for", Doc: "how long, such as 20ms; 0s: not any more", Required: true},
		}},
	}},
	make: func(context.Context) (map[string]protocol.Phase, func(), error) {
		e, err := readEnvironment()
		f := &faults{environment: e, stopped: make(map[string]int), down: make(map[string]*downLink), delayed: make(map[string]bool)}
		return map[string]protocol.Phase{"stop": f.stop, "resume": f.resume, "down": f.takeDown, "up": f.bringUp, "lose": f.lose, "delay": f.delay}, f.end, err
	},
}

// faults are those of a host. Phases may run at the same time.
type faults struct {
	*environment
	mu      sync.Mutex
	stopped map[string]int       // daemons: their process groups
	down    map[string]*downLink // by host
	delayed map[string]bool      // interfaces whose packets are delayed
}

// faultWith are the parameters of all phases. Each phase knows some.
type faultWith struct {
	Daemon string  `json:"daemon"`
	For    string  `json:"for"`
	After  string  `json:"after"`
	To     string  `json:"to"`
	Part   float64 `json:"part"`
}

// stoppedWithin bounds how long a process may take to stop: one that waits for a disk stops after that.
const stoppedWithin = 30 * time.Second

func (f *faults) stop(ctx context.Context, c *protocol.Call) (any, error) {
	var with faultWith
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	var d time.Duration
	if with.For != "" {
		var err error
		if d, err = time.ParseDuration(with.For); err != nil || d <= 0 {
			return nil, fmt.Errorf("for: %q: want a time such as 200ms", with.For)
		}
	}
	began := time.Now()
	if err := f.stopDaemon(ctx, with.Daemon); err != nil || d == 0 {
		return nil, err
	}
	waited := wait(ctx, d)
	err := f.resumeDaemon(with.Daemon)
	return map[string]int64{"stopped_ns": int64(time.Since(began))}, errors.Join(err, waited)
}

// stopDaemon returns when the daemon's process stands.
func (f *faults) stopDaemon(ctx context.Context, name string) error {
	pid, err := daemonProcess(name)
	if err != nil {
		return err
	}
	f.mu.Lock()
	_, already := f.stopped[name]
	if !already {
		f.stopped[name] = pid
	}
	f.mu.Unlock()
	if already {
		return fmt.Errorf("daemon %q is stopped already", name)
	}
	if err := signalGroup(pid, stopSignal); err != nil {
		return errors.Join(fmt.Errorf("daemon %q: SIGSTOP: %w", name, err), f.resumeDaemon(name))
	}
	for end := time.Now().Add(stoppedWithin); ; {
		switch s, err := readStat(pid); {
		case err != nil:
			return fmt.Errorf("daemon %q: it has ended: %w", name, err)
		case s.state == "T":
			return nil
		case time.Now().After(end):
			return fmt.Errorf("daemon %q: it did not stop within %v", name, stoppedWithin)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (f *faults) resume(ctx context.Context, c *protocol.Call) (any, error) {
	var with faultWith
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	if with.After != "" {
		d, err := time.ParseDuration(with.After)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("after: %q: want a time such as 200ms", with.After)
		}
		if err := wait(ctx, d); err != nil {
			return nil, err
		}
	}
	return nil, f.resumeDaemon(with.Daemon)
}

func (f *faults) resumeDaemon(name string) error {
	f.mu.Lock()
	pid, ok := f.stopped[name]
	delete(f.stopped, name)
	f.mu.Unlock()
	if !ok {
		return fmt.Errorf("daemon %q is not stopped", name)
	}
	if err := signalGroup(pid, continueSignal); err != nil {
		return fmt.Errorf("daemon %q: SIGCONT: %w", name, err)
	}
	return nil
}

// end lets all go on: daemons that stand could not end by themselves. What was done to the network ends with the namespace.
func (f *faults) end() {
	for _, pid := range f.stopped {
		_ = signalGroup(pid, continueSignal) // it may have been killed
	}
}

// daemonProcess returns the number of a daemon's process, which leads its group. The file may be older than the process: a number that
// was given to a process of others since is refused.
func daemonProcess(name string) (pid int, err error) {
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return 0, fmt.Errorf("daemon: %q is not a name", name)
	}
	if name == os.Getenv("MERIDIAN_RUN_DAEMON") {
		return 0, fmt.Errorf("daemon %q is this one, which could not go on", name)
	}
	b, err := os.ReadFile(filepath.Join(os.Getenv("MERIDIAN_RUN_PIDS"), name))
	if err != nil {
		return 0, fmt.Errorf("daemon %q does not run on this host: %w", name, err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil || pid <= 1 {
		return 0, fmt.Errorf("daemon %q: process number %q", name, b)
	}
	s, err := readStat(pid)
	if err != nil {
		return 0, fmt.Errorf("daemon %q has ended: %w", name, err)
	}
	if s.parent != os.Getppid() || s.group != pid || s.state == "Z" {
		return 0, fmt.Errorf("daemon %q has ended, its number was %d", name, pid)
	}
	return pid, nil
}

// stat is of a process what proc_pid_stat(5) says.
type stat struct {
	state         string // T: stopped
	parent, group int
}

func readStat(pid int) (stat, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	b, err := os.ReadFile(path)
	if err != nil {
		return stat{}, err
	}
	s, err := parseStat(string(b))
	if err != nil {
		return stat{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// parseStat parses "PID (NAME) STATE PARENT GROUP ...". NAME may have spaces and parentheses.
func parseStat(text string) (s stat, err error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if !strings.Contains(text, ")") || len(fields) < 3 {
		return s, fmt.Errorf("unexpected %.80q", text)
	}
	s.state = fields[0]
	var parent, group error
	s.parent, parent = strconv.Atoi(fields[1])
	s.group, group = strconv.Atoi(fields[2])
	return s, errors.Join(parent, group)
}
