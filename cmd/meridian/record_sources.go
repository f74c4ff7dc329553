package main

import (
	"errors"

	"meridian/record"
	"meridian/record/kernel"
	"meridian/record/netstate"
	"meridian/trace"
)

// recordSources is what is recorded beside programs.
type recordSources struct {
	list    []record.Source
	kernel  *kernel.Recorder
	watcher *netstate.Watcher
}

// openSources opens what the flags ask for. What this machine does not allow is said and left out.
func (f *recordFlags) openSources(command bool, w *trace.Warnings) (*recordSources, error) {
	s := &recordSources{}
	groups, err := kernel.ParseGroups(f.kernel)
	if err != nil {
		return nil, wrong("--kernel: %v", err)
	}
	if groups == 0 {
		if f.netns != "" {
			return nil, wrong("--netns says whose packets --kernel net records; give that too")
		}
		return s, nil
	}
	o := kernel.Options{Groups: groups, OnlyFollowed: command}
	if f.netns != "" {
		if o.NetNS, err = netstate.Inode(f.netns); err != nil {
			return nil, err
		}
	}
	s.kernel, err = kernel.Open(o, w)
	var unavailable *kernel.Unavailable
	if errors.As(err, &unavailable) {
		w.Add("kernel events", "not recorded", unavailable.Error())
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	source, err := record.Kernel(s.kernel)
	if err != nil {
		s.close()
		return nil, err
	}
	s.list = append(s.list, source)
	if groups&kernel.Net != 0 {
		s.watcher, err = netstate.Open(netstate.Options{NetNS: f.netns})
		if err != nil {
			w.Add("interfaces", "their addresses and changes are not recorded", err.Error())
			return s, nil
		}
		s.list = append(s.list, record.Interfaces(s.watcher))
	}
	return s, nil
}

// follow records what a command does.
func (s *recordSources) follow(pid int) error {
	if s.kernel == nil {
		return nil // there are none
	}
	return s.kernel.Follow(pid)
}

func (s *recordSources) close() {
	if s.kernel != nil {
		s.kernel.Close()
		s.kernel = nil
	}
	if s.watcher != nil {
		s.watcher.Close()
		s.watcher = nil
	}
}
