package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	"meridian/internal/record"
	"meridian/internal/record/kernel"
	"meridian/internal/record/netstate"
	"meridian/internal/record/packet"
	"meridian/internal/record/tracefs"
	"meridian/trace"
)

// recordSources is what is recorded beside programs.
type recordSources struct {
	list    []record.Source
	kernel  kernelRecorder
	packets *packet.Capture
	watcher *netstate.Watcher
	netns   uint32 // inode of the network namespace that is recorded; 0 for all

	warnings *trace.Warnings
	told     *trace.Warnings // what tracefs said; nil where it is not used
}

// kernelRecorder records the kernel's events, by whatever means.
type kernelRecorder interface {
	record.KernelEvents
	Follow(pid int) error
	Following() ([]int, error) // processes that still run
	Close() error
}

// anyInterface stands for all interfaces, as with tcpdump.
const anyInterface = "any"

// interfaceList is the value of --packets. What is empty is not what was meant, as where a script's variable is, and is kept for
// check to refuse.
type interfaceList []string

func (l *interfaceList) Set(text string) error {
	*l = append(*l, strings.Split(text, ",")...)
	return nil
}
func (l *interfaceList) String() string { return strings.Join(*l, ",") }
func (l *interfaceList) Type() string   { return "interfaces" }

// check refuses what cannot be meant, before anything is opened.
func (f *recordFlags) check() (kernel.Groups, error) {
	groups, err := kernel.ParseGroups(f.kernel)
	switch {
	case err != nil:
		return 0, wrong("--kernel: %v", err)
	case f.netns != "" && groups == 0 && f.packets == nil:
		return 0, wrong("--netns says whose packets --packets or --kernel net records; give one of these too")
	case f.filter != "" && f.packets == nil:
		return 0, wrong("--filter says which packets --packets records; give that too")
	case f.snaplen != packet.DefaultSnaplen && f.packets == nil:
		return 0, wrong("--snaplen says how much of each packet --packets records; give that too")
	case slices.Contains(f.packets, ""):
		return 0, wrong("--packets=%s: an interface has no name; --packets records all, --packets=eth0,lo some", &f.packets)
	case f.snaplen < 0:
		return 0, wrong("--snaplen %d: packets have no bytes to keep before their first; 0 keeps all", f.snaplen)
	}
	if err := packet.CheckFilter(f.filter); err != nil {
		return 0, wrong("--filter: %v", err)
	}
	return groups, nil
}

// openSources opens what the flags ask for. Of what this machine does not permit the next best is opened, and tell is told
// a line for each such step:
//
//	kernel events by eBPF --> kernel events by tracefs --> none
//	                    \ net among them \--> packets captured --> none
func (f *recordFlags) openSources(command bool, w *trace.Warnings, tell func(string)) (_ *recordSources, err error) {
	groups, err := f.check()
	if err != nil {
		return nil, err
	}
	s := &recordSources{warnings: w}
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
		defer s.tellOfPackets(refused, tell)
	}
	headers := false // the kernel's events have packets with their headers
	if groups != 0 {
		o := kernel.Options{Groups: groups, OnlyFollowed: command, NetNS: s.netns}
		ebpf, err := kernel.Open(o, w)
		var unavailable *kernel.Unavailable
		switch {
		case errors.As(err, &unavailable):
			if err := s.openInstead(f, o, unavailable, tell); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		default:
			s.kernel, headers = ebpf, groups&kernel.Net != 0
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
			w.Add("interfaces", "their addresses and changes are not recorded", err.Error())
			return s, nil
		}
		s.list = append(s.list, record.Interfaces(s.watcher))
	}
	return s, nil
}

// openInstead opens what stands in for kernel events by eBPF. Packets are captured, since tracefs does not tell their headers,
// by which they are matched.
func (s *recordSources) openInstead(f *recordFlags, o kernel.Options, missing error, tell func(string)) error {
	captured, too := "", ""
	if o.Groups&kernel.Net != 0 && f.packets == nil {
		refused, err := s.openPackets(f)
		if err != nil {
			return err
		}
		defer s.tellOfPackets(refused, tell)
		if s.packets != nil {
			captured, too = "; packets are captured instead", ", and packets are captured"
		}
	}
	if s.packets != nil {
		o.Groups &^= kernel.Net
	}
	if o.Groups == 0 {
		tell(missing.Error() + captured)
		return nil
	}
	said := new(trace.Warnings) // of what is not used nothing need be said
	ftrace, err := tracefs.Open(o, said)
	if err != nil {
		tell(missing.Error())
		tell(err.Error() + captured)
		return nil
	}
	s.kernel, s.told = ftrace, said
	tell(missing.Error() + "; tracefs is used instead" + too)
	return nil
}

// openPackets opens the capture of packets, unless that is refused. An error is the fault of those who asked.
func (s *recordSources) openPackets(f *recordFlags) (refused, err error) {
	o := packet.Options{NetNS: f.netns, Snaplen: f.snaplen, Filter: f.filter}
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

// tellOfPackets tells why there are none, if capturing was refused.
func (s *recordSources) tellOfPackets(refused error, tell func(string)) {
	switch {
	case refused == nil:
	case s.kernel != nil:
		tell(refused.Error() + "; none are captured")
	default:
		tell(refused.Error() + "; only what programs emit is recorded")
	}
}

// interfaceNames are those of this machine's network interfaces.
func interfaceNames() (names []string) {
	all, _ := net.Interfaces() // it is only for completions and hints
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

// follow returns what records the doings of a command, nil where nothing does.
func (s *recordSources) follow() func(pid int) error {
	if s.kernel == nil {
		return nil
	}
	return s.kernel.Follow
}

// left returns a line on the processes that a command has left running, "" for none. As with perf and trace-cmd, and unlike with
// strace -f, the command's end is that of the recording: a daemon that it starts would keep it up for ever.
func (s *recordSources) left(command string) string {
	if s.kernel == nil {
		return ""
	}
	pids, err := s.kernel.Following()
	if err != nil {
		s.warnings.Add("kernel events", "whether the command has left processes running is not known", err.Error())
		return ""
	}
	const most = 5
	which := ""
	for i, pid := range pids {
		if i == most {
			which += ", ..."
			break
		}
		which += fmt.Sprintf(", %d", pid)
	}
	switch len(pids) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 process that %s has left running (%s) is recorded no longer", command, which[2:])
	}
	return fmt.Sprintf("%d processes that %s has left running (%s) are recorded no longer", len(pids), command, which[2:])
}

func (s *recordSources) close() {
	if s.kernel != nil {
		s.kernel.Close()
		s.kernel = nil
		if s.told != nil {
			for _, line := range s.told.Lines() {
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
