package daemons

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"meridian/internal/experiment/protocol"
)

// record records the host: the events of programs with sensors, and where hosts are namespaces or machines of their own, kernel events
// and packets. It runs 'meridian record', of which it says when all is being recorded.
var record = &standard{
	spec: protocol.Spec{Name: "record", Doc: "records the host: programs with sensors, kernel events, packets", Phases: []protocol.PhaseSpec{
		{Name: "start", Doc: "begins to record; ends when everything is being recorded", With: []protocol.Param{
			{Name: "kernel", Doc: "groups of kernel events, as for 'meridian record --kernel': net,sched,irq,syscalls,sockets,disk"},
			{Name: "packets", Doc: "true: capture the packets of all interfaces"},
			{Name: "filter", Doc: "of packets, as for tcpdump"},
			{Name: "probes", Doc: "true: exchange clock probes when the daemon probe says so"},
		}},
		{Name: "stop", Doc: "ends the recording; its result has events and lost"},
	}},
	make: func(context.Context) (map[string]protocol.Phase, func(), error) {
		e, err := readEnvironment()
		r := &recorder{environment: e}
		return map[string]protocol.Phase{"start": r.start, "stop": r.stop}, r.end, err
	},
}

// Times of a recorder.
const (
	recordsWithin = 60 * time.Second // of its start
	endsWithin    = 60 * time.Second // of an interrupt
)

// recorder runs 'meridian record'.
type recorder struct {
	*environment
	command *exec.Cmd
	summary bytes.Buffer
	ended   chan error
	leftOut string
}

// recordWith are the parameters of start.
type recordWith struct {
	Kernel  string `json:"kernel"`
	Packets bool   `json:"packets"`
	Filter  string `json:"filter"`
	Probes  bool   `json:"probes"`
}

// args are those of 'meridian record'.
func (r *recorder) args(with recordWith) []string {
	args := []string{"record", "-o", r.trace, "--rings", r.rings, "--host", r.host, "--json", "--ready-fd", "3"}
	if with.Probes {
		args = append(args, "--probes", r.planFile())
	}
	if r.place == "processes" {
		if with.Kernel != "" || with.Packets {
			r.leftOut = "kernel events and packets: hosts that are processes share one kernel and one interface"
		}
		return args
	}
	if with.Kernel != "" {
		args = append(args, "--kernel", with.Kernel)
	}
	if with.Packets {
		args = append(args, "--packets")
	}
	if with.Filter != "" {
		args = append(args, "--filter", with.Filter)
	}
	if r.place == "namespaces" && (with.Packets || with.Kernel != "") {
		args = append(args, "--netns", "/proc/self/ns/net")
	}
	if r.place == "namespaces" && (strings.Contains(with.Kernel, "sched") || strings.Contains(with.Kernel, "syscalls")) {
		for _, pid := range daemonsHere() {
			args = append(args, "--pid", strconv.Itoa(pid))
		}
	}
	return args
}

// daemonsHere returns the processes of this host's other daemons, which wait by now. Hosts that are namespaces share one kernel: what it does for
// them is recorded by process.
func daemonsHere() (pids []int) {
	entries, err := os.ReadDir(os.Getenv("MERIDIAN_RUN_PIDS"))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := daemonProcess(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (r *recorder) start(ctx context.Context, c *protocol.Call) (any, error) {
	var with recordWith
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	if r.command != nil {
		return nil, errors.New("it records already")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ready, said, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	r.command = exec.Command(self, r.args(with)...)
	r.command.Stdout, r.command.Stderr, r.command.ExtraFiles = &r.summary, os.Stderr, []*os.File{said}
	if r.leftOut != "" {
		c.Logf("left out: %s", r.leftOut)
	}
	err = r.command.Start()
	if err := errors.Join(err, said.Close()); err != nil {
		r.command = nil
		return nil, err
	}
	r.ended = make(chan error, 1)
	go func() { r.ended <- r.command.Wait() }()
	stop := context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Now()) })
	defer stop()
	_ = ready.SetReadDeadline(time.Now().Add(recordsWithin))
	if n, err := ready.Read(make([]byte, 16)); n == 0 {
		return nil, fmt.Errorf("the recorder does not begin: %w", err)
	}
	return nil, nil
}

// recorded is the result of stop.
type recorded struct {
	Events  uint64 `json:"events"`
	Lost    uint64 `json:"lost"`
	LeftOut string `json:"left_out,omitempty"`
	Missing string `json:"missing,omitempty"` // of what was asked for
}

func (r *recorder) stop(context.Context, *protocol.Call) (any, error) {
	if r.command == nil {
		return nil, errors.New("it does not record: phase start comes first")
	}
	err := r.interrupt()
	r.command = nil
	var exit *exec.ExitError
	broken := errors.As(err, &exit) && exit.ExitCode() == 3
	if err != nil && !broken {
		return nil, fmt.Errorf("the recorder failed: %w", err)
	}
	var summary struct {
		Total struct {
			Events uint64 `json:"events"`
			Lost   uint64 `json:"lost"`
		} `json:"total"`
	}
	if err := json.Unmarshal(r.summary.Bytes(), &summary); err != nil {
		return nil, fmt.Errorf("summary of the recorder: %w", err)
	}
	r.summary.Reset()
	out := &recorded{Events: summary.Total.Events, Lost: summary.Total.Lost, LeftOut: r.leftOut}
	if broken && out.Lost == 0 {
		out.Missing = "the recorder lacks something that was asked for: its log says what"
	}
	return out, nil
}

// interrupt ends the recorder and waits for it.
func (r *recorder) interrupt() error {
	_ = r.command.Process.Signal(os.Interrupt)
	select {
	case err := <-r.ended:
		return err
	case <-time.After(endsWithin):
		_ = r.command.Process.Kill()
		return errors.Join(fmt.Errorf("it did not end within %v", endsWithin), <-r.ended)
	}
}

// end ends a recorder that still runs: the trace of an experiment that failed is whole as well.
func (r *recorder) end() {
	if r.command != nil {
		_ = r.interrupt()
	}
}
