package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"meridian/internal/probe/planned"
	"meridian/internal/record"
	"meridian/internal/record/kernel"
	"meridian/internal/record/netstate"
	"meridian/internal/record/packet"
	"meridian/internal/record/tracefs"
	"meridian/trace"
)

// recordSources are the sources of events other than programs.
type recordSources struct {
	list    []record.Source
	kernel  kernelRecorder
	packets *packet.Capture
	watcher *netstate.Watcher
	groups  kernel.Groups
	netns   uint32 // inode of the network namespace that is recorded; 0 for all

	missing  []string // a line for each source that was asked for and is not recorded
	warnings *trace.Warnings
	ftrace   *trace.Warnings // of tracefs; nil where it is not used
}

// kernelRecorder records the kernel's events, by eBPF or by tracefs.
type kernelRecorder interface {
	record.KernelEvents
	Follow(pid int) error
	Following() ([]int, error) // processes that still run
	Close() error
}

// anyInterface stands for all interfaces, as with tcpdump.
const anyInterface = "any"

// interfaceList is the value of --packets. An empty name, as from an empty variable of a script, is kept for check to refuse.
type interfaceList []string

func (l *interfaceList) Set(text string) error {
	*l = append(*l, strings.Split(text, ",")...)
	return nil
}
func (l *interfaceList) String() string { return strings.Join(*l, ",") }
func (l *interfaceList) Type() string   { return "interfaces" }

// check refuses flags that contradict each other, before anything is opened.
func (f *recordFlags) check() (kernel.Groups, error) {
	groups, err := kernel.ParseGroups(f.kernel)
	switch {
	case err != nil:
		return 0, wrong("--kernel: %v", err)
	case f.netns != "" && groups == 0 && f.packets == nil && !f.lastLook:
		return 0, wrong("--netns needs --packets or --kernel, whose events it selects")
	case len(f.pids) > 0 && groups&(kernel.Sched|kernel.Syscalls|kernel.Sockets) == 0 && !f.lastLook:
		return 0, wrong("--pid needs --kernel with sched, syscalls or sockets, whose events it selects")
	case slices.ContainsFunc(f.pids, func(pid int) bool { return pid <= 0 }):
		return 0, wrong("--pid: process numbers begin at 1")
	case f.filter != "" && f.packets == nil && groups&kernel.Net == 0:
		return 0, wrong("--filter needs --packets or --kernel net, whose packets it selects")
	case f.snaplen != packet.DefaultSnaplen && f.packets == nil:
		return 0, wrong("--snaplen needs --packets, whose packets it cuts")
	case slices.Contains(f.packets, ""):
		return 0, wrong("--packets=%s: empty interface name; --packets records all interfaces, --packets=eth0,lo some", &f.packets)
	case f.flush < record.MinFlush:
		return 0, wrong("--flush %v: must be at least %v", f.flush, record.MinFlush)
	case f.snaplen < 0:
		return 0, wrong("--snaplen %d: must not be negative; 0 keeps whole packets", f.snaplen)
	}
	if err := packet.CheckFilter(f.filter); err != nil {
		return 0, wrong("--filter: %v", err)
	}
	if groups&kernel.Net != 0 {
		if _, err := f.headerFilter(); err != nil {
			return 0, wrong("--filter with --kernel net: %v", err)
		}
	}
	return groups, nil
}

// pidsAreThere refuses numbers of processes that are not there: nothing of them could be recorded.
func (f *recordFlags) pidsAreThere() error {
	if len(f.pids) == 0 {
		return nil
	}
	if err := kernel.Followable(); err != nil {
		return err
	}
	for _, pid := range f.pids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
			return fmt.Errorf("--pid: process %d is not there: %w", pid, err)
		}
	}
	return nil
}

// headerFilter returns --filter for the kernel's events, nil without it.
func (f *recordFlags) headerFilter() (kernel.Packets, error) {
	if strings.TrimSpace(f.filter) == "" {
		return nil, nil
	}
	filter, err := packet.NewHeaderFilter(f.filter)
	if err != nil {
		return nil, err
	}
	var h packet.Headers // the events are read by one goroutine
	return func(outgoing bool, network, transport []byte) bool {
		h = packet.Headers{Network: network, Transport: transport, Outgoing: outgoing}
		return !filter.Excludes(&h)
	}, nil
}

// openSources opens the sources that the flags ask for. Where this machine does not permit one, the next best is opened, and
// warn gets a line for each such step:
//
//	kernel events by eBPF --> kernel events by tracefs --> none
//	                    \ net among them \--> packets captured --> none
func (f *recordFlags) openSources(command bool, w *trace.Warnings, warn func(string)) (_ *recordSources, err error) {
	groups, err := f.check()
	if err != nil {
		return nil, err
	}
	s := &recordSources{groups: groups, warnings: w}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if f.netns != "" {
		if s.netns, err = netstate.Inode(f.netns); err != nil {
			return nil, err
		}
	}
	if f.packets != nil {
		refused, err := s.openPackets(f)
		if err != nil {
			return nil, err
		}
		defer s.warnOfPackets(refused, warn)
		if refused != nil {
			s.lacks("--packets: none were captured")
		}
	}
	if err := s.addProbes(f, warn); err != nil {
		return nil, err
	}
	headers := false // kernel events include packets with headers
	if groups != 0 {
		if err := f.pidsAreThere(); err != nil {
			return nil, err
		}
		o := kernel.Options{Groups: groups, Pids: f.pids, OnlyFollowed: command, NetNS: s.netns, Pause: f.flush / 2}
		if o.Packets, err = f.headerFilter(); err != nil {
			return nil, err
		}
		ebpf, err := kernel.Open(o, w)
		var unavailable *kernel.Unavailable
		switch {
		case errors.As(err, &unavailable):
			if err := s.openInstead(f, o, unavailable, warn); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		default:
			s.kernel, headers = ebpf, groups&kernel.Net != 0
			if lacks, why := ebpf.Lacks(); lacks != 0 {
				warn(why.Error())
				s.lacksKernel(lacks)
			}
		}
	}
	if s.kernel != nil {
		source, err := record.Kernel(s.kernel)
		if err != nil {
			return nil, err
		}
		s.list = append(s.list, source)
	}
	if s.packets != nil || headers {
		if s.watcher, err = netstate.Open(netstate.Options{NetNS: f.netns}); err != nil {
			w.Add("interfaces", "addresses and their changes are not recorded", err.Error())
			return s, nil
		}
		s.list = append(s.list, record.Interfaces(s.watcher))
	}
	return s, nil
}

// addProbes adds the exchange of clock probes, if it is asked for.
func (s *recordSources) addProbes(f *recordFlags, warn func(string)) error {
	if f.probes == "" {
		return nil
	}
	if f.netns != "" && !ownNamespace(f.netns) {
		return wrong("--probes exchanges probes in the recorder's own network namespace: run meridian within the other one (ip netns exec), without --netns")
	}
	s.list = append(s.list, planned.New(f.probes, warn))
	return nil
}

// ownNamespace reports whether a network namespace is that of this process.
func ownNamespace(netns string) bool {
	own, err := netstate.Inode("/proc/self/ns/net")
	if err != nil {
		return false
	}
	that, err := netstate.Inode(netns)
	return err == nil && that == own
}

// openInstead opens what replaces kernel events by eBPF. Packets are captured, since the events of tracefs lack their headers,
// which are needed to match them.
func (s *recordSources) openInstead(f *recordFlags, o kernel.Options, missing error, warn func(string)) error {
	captured, too := "", ""
	asked := o.Groups
	if o.Groups&kernel.Net != 0 && f.packets == nil {
		refused, err := s.openPackets(f)
		if err != nil {
			return err
		}
		defer s.warnOfPackets(refused, warn)
		if s.packets != nil {
			captured, too = "; packets are captured instead", ", and packets are captured"
		}
	}
	defer func() { s.lacksKernel(asked) }()
	if s.packets != nil || o.Packets != nil { // tracefs has no headers to select by
		o.Groups &^= kernel.Net
	}
	if o.Groups&^kernel.Sockets == 0 { // which tracefs does not have
		warn(missing.Error() + captured)
		return nil
	}
	said := new(trace.Warnings) // reported only if tracefs is used
	ftrace, err := tracefs.Open(o, said)
	if err != nil {
		warn(missing.Error())
		warn(err.Error() + captured)
		return nil
	}
	s.kernel, s.ftrace, asked = ftrace, said, asked&^(o.Groups&^(kernel.Net|kernel.Sockets))
	warn(missing.Error() + "; tracefs is used instead" + too)
	return nil
}

// lacks notes that a source is not recorded as it was asked for. The exit code tells of it at the end.
func (s *recordSources) lacks(line string) { s.missing = append(s.missing, line) }

// lacksKernel notes the groups of kernel events that are not recorded, or without their headers.
func (s *recordSources) lacksKernel(groups kernel.Groups) {
	if groups&kernel.Net != 0 {
		switch {
		case s.packets != nil:
			s.lacks("--kernel net: packets were captured instead")
		case s.kernel != nil:
			s.lacks("--kernel net: tracefs has no headers of packets")
		default:
			s.lacks("--kernel net")
		}
	}
	if groups &^= kernel.Net; groups != 0 {
		s.lacks("--kernel " + groups.String())
	}
}

// lacksFollowed notes that what the kernel does for a command is not recorded.
func (s *recordSources) lacksFollowed(command string) {
	if groups := s.groups & (kernel.Sched | kernel.Syscalls | kernel.Sockets); groups != 0 {
		s.lacks(fmt.Sprintf("--kernel %v of %s", groups, command))
	}
}

// openPackets opens the capture of packets. Refused is why this machine does not permit it; err is a fault of the flags.
func (s *recordSources) openPackets(f *recordFlags) (refused, err error) {
	o := packet.Options{NetNS: f.netns, Snaplen: f.snaplen, Filter: f.filter, Pause: f.flush / 2}
	if f.snaplen == 0 {
		o.Snaplen = -1 // all
	}
	if !slices.Contains(f.packets, anyInterface) {
		o.Interfaces = f.packets
	}
	capture, err := packet.Open(o)
	switch {
	case err == nil:
		s.packets = capture
	case f.packets == nil, errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported):
		return err, nil
	}
	return nil, err
}

// warnOfPackets warns if capturing was refused.
func (s *recordSources) warnOfPackets(refused error, warn func(string)) {
	switch {
	case refused == nil:
	case s.kernel != nil:
		warn(refused.Error() + "; none are captured")
	default:
		warn(refused.Error() + "; only what programs emit is recorded")
	}
}

// interfaceNames returns the names of this machine's network interfaces.
func interfaceNames() (names []string) {
	all, _ := net.Interfaces() // only for completions and hints
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

// follow returns the function that follows a command, or nil without kernel events.
func (s *recordSources) follow() func(pid int) error {
	if s.kernel == nil {
		return nil
	}
	return s.kernel.Follow
}

// stillRunning returns a warning of processes that a command has left running, "" for none. As with perf and trace-cmd, and
// unlike with strace -f, the recording ends with the command: a daemon that it starts would never let it end.
func (s *recordSources) stillRunning(command string) string {
	if s.kernel == nil {
		return ""
	}
	pids, err := s.kernel.Following()
	if err != nil {
		s.warnings.Add("kernel events", "it is not known whether the command has left processes running", err.Error())
		return ""
	}
	const maxShown = 5
	which := ""
	for i, pid := range pids {
		if i == maxShown {
			which += ", ..."
			break
		}
		which += fmt.Sprintf(", %d", pid)
	}
	switch len(pids) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 process that %s has left running (%s) is no longer recorded", command, which[2:])
	}
	return fmt.Sprintf("%d processes that %s has left running (%s) are no longer recorded", len(pids), command, which[2:])
}

// addTo adds the sources to the options of a recording.
func (s *recordSources) addTo(o *record.Options) {
	o.Sources = s.list
	if s.packets != nil {
		o.Packets = s.packets
	}
	if s.netns != 0 {
		o.Only = inNamespace(s.netns)
	}
}

func (s *recordSources) close() {
	if s.kernel != nil {
		s.kernel.Close()
		s.kernel = nil
		if s.ftrace != nil {
			for _, line := range s.ftrace.Lines() {
				s.warnings.Add("", line, "")
			}
		}
	}
	if s.packets != nil {
		s.packets.Close()
		s.packets = nil
	}
	if s.watcher != nil {
		s.watcher.Close()
		s.watcher = nil
	}
}
